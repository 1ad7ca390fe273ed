"""Signing in with a real browser, at an issuer that nobody here wrote: npm's `oidc-provider`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from running import Bucket, Proxy, free_port, start_proxy

pytestmark = pytest.mark.integration

_PACKAGE = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"), "oidc-provider")
_CLIENT, _SECRET = "files", "the secret of the client"
_CONFIGURATION = """
server: {{listenAddr: 127.0.0.1, port: {port}}}
internalServer: {{port: 0}}
authProviders:
  oidc:
    id: {{issuerUrl: "http://localhost:{issuer}", clientID: {client}, clientSecret: {{value: {secret}}}}}
    wrong: {{issuerUrl: "http://127.0.0.1:{issuer}", clientID: {client}, clientSecret: {{value: {secret}}}, cookieName: w}}
targets:
  site:
    bucket:
      name: {bucket.name}
      s3Endpoint: {bucket.endpoint}
      region: us-east-1
      credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}
    resources:
      - {{path: /wrong/**, provider: wrong}}
      - {{path: /**, provider: id, oidc: {{authorizationAccesses: [{{group: editors}}]}}}}
"""


@dataclass
class _Issuer:
    """The issuer, which knows nobody when it has been started anew."""

    port: int
    site: str
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        script = Path(__file__).with_name("issuer.mjs")
        command = ["node", str(script), str(self.port), _CLIENT, _SECRET, self.site]
        self.process = subprocess.Popen(
            command, cwd=_PACKAGE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout
        for line in self.process.stdout:
            if "listening" in line:
                return
        raise AssertionError("the issuer did not start")

    def stop(self) -> None:
        assert self.process
        assert self.process.stdout
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def ports() -> tuple[int, int]:
    """Of the service and of the issuer."""
    if not (_PACKAGE / "node_modules").exists() or shutil.which("node") is None:
        pytest.skip("there is no `oidc-provider`; `tests/integration/install oidc` installs it")
    return free_port(), free_port()


@pytest.fixture(scope="module")
def proxy(ports, tmp_path_factory) -> Iterator[Proxy]:
    """A service with an S3 behind it."""
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow to import

    port, issuer = ports
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    bucket = Bucket.create("http://{}:{}".format(*server.get_host_and_port()), "sign-in")
    for key in ("deep/a b.txt", "a.txt", "wrong/a.txt"):
        bucket.put(key, f"this is {key}".encode(), ContentType="text/plain")
    text = _CONFIGURATION.format(port=port, issuer=issuer, client=_CLIENT, secret=_SECRET, bucket=bucket)
    with start_proxy(tmp_path_factory.mktemp("proxy"), text) as found:
        yield found
    bucket.client.close()
    server.stop()


@pytest.fixture(scope="module")
def site(ports) -> str:
    """Where the browser finds the service."""
    return f"http://127.0.0.1:{ports[0]}"


@pytest.fixture(scope="module")
def issuer(ports, site) -> Iterator[_Issuer]:
    """A running issuer."""
    found = _Issuer(ports[1], site)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def fresh(browser, proxy):
    """The browser without cookies."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return browser


def _text(browser):
    return browser.find_element("css selector", "body").text


def _log_in(browser, name="ann"):
    """The issuer's own pages: name and password, then its question for consent."""
    browser.find_element("name", "login").send_keys(name)
    browser.find_element("name", "password").send_keys("any")
    for _ in range(2):
        button = browser.find_element("css selector", "button[type=submit]")
        button.click()
        # Its page stays for a moment, and the next one has such a button too.
        _eventually(lambda: not _is_there(button))  # noqa: B023 - asked before the next one is found


def _is_there(element):
    selenium = pytest.importorskip("selenium.common.exceptions")
    try:
        return element.is_enabled()
    except selenium.StaleElementReferenceException:
        return False


def _open(browser, address):
    """A page that is shown after a login."""
    browser.get(address)
    if browser.find_elements("name", "login"):
        _log_in(browser)
    _eventually(lambda: browser.current_url == address)


def _eventually(holds, seconds=10):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def _session(browser):
    return next((each["value"] for each in browser.get_cookies() if each["name"] == "oidc"), None)


def test_the_page_that_was_asked_for_is_shown_after_the_login(fresh, issuer, site):
    """A deep link, with its query."""
    _open(fresh, f"{site}/deep/a%20b.txt?x=1")
    assert _text(fresh) == "this is deep/a b.txt"
    assert fresh.current_url == f"{site}/deep/a%20b.txt?x=1"


def test_a_session_that_has_expired_is_begun_anew(fresh, issuer, site):
    """The issuer still knows the user, so that nobody is asked."""
    _open(fresh, f"{site}/a.txt")
    before = _session(fresh)
    time.sleep(9)
    fresh.get(f"{site}/a.txt")
    assert _text(fresh) == "this is a.txt"
    assert _session(fresh) not in (None, before)


def test_a_cookie_that_was_changed_is_worth_nothing(fresh, issuer, site):
    """The browser is sent to the issuer again."""
    _open(fresh, f"{site}/a.txt")
    changed = _session(fresh)[:-8] + "AAAAAAAA"
    fresh.delete_cookie("oidc")
    fresh.add_cookie({"name": "oidc", "value": changed, "path": "/"})
    fresh.get(f"{site}/a.txt")
    assert _text(fresh) == "this is a.txt"
    assert _session(fresh) != changed


def test_a_logout_ends_the_session_at_the_issuer_too(fresh, issuer, site):
    """The next page asks for a name again."""
    _open(fresh, f"{site}/a.txt")
    fresh.get(f"{site}/auth/id/logout")
    assert urlsplit(fresh.current_url).hostname == "localhost"
    fresh.find_element("css selector", "button[name=logout]").click()
    # Back at the service, which sends the browser to the issuer, who does not know it any more.
    _eventually(lambda: fresh.find_elements("name", "login"))
    fresh.get(f"{site}/a.txt")
    assert fresh.find_elements("name", "login")


def test_a_callback_that_is_sent_again_is_refused(fresh, issuer, site):
    """Its state was used."""
    _open(fresh, f"{site}/a.txt")
    fresh.get(f"{site}/auth/id/callback?code=used&state=used")
    assert "400" in _text(fresh)


def test_an_issuer_that_calls_itself_otherwise_is_not_asked(fresh, issuer, site):
    """Its metadata names another."""
    fresh.get(f"{site}/wrong/a.txt")
    assert "502" in _text(fresh)


def test_new_keys_are_found(fresh, issuer, site):
    """An issuer that comes back with other keys is asked for them; until then, who is signed in goes on."""
    _open(fresh, f"{site}/a.txt")
    issuer.stop()
    fresh.get(f"{site}/deep/a%20b.txt")
    assert _text(fresh) == "this is deep/a b.txt"
    fresh.execute_cdp_cmd("Network.clearBrowserCookies", {})
    time.sleep(10)  # the keys are asked for again after ten seconds at the earliest
    issuer.start()
    _open(fresh, f"{site}/a.txt")
    assert _text(fresh) == "this is a.txt"
