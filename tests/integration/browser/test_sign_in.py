"""Sign-in in a browser at an independent issuer, npm's `oidc-provider`."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import real_s3
from administering import eventually
from programs import PARTS, part
from running import Proxy, free_port, start_proxy
from screens import choose, click, shown, texts

pytestmark = pytest.mark.integration

_PACKAGE = PARTS / "oidc-provider"
_NODE = shutil.which("node", path=f"{_PACKAGE}/node_modules/.bin{os.pathsep}{os.environ['PATH']}")
_CLIENT, _SECRET = "files", "the secret of the client"
_CONFIGURATION = """
server: {{listenAddr: 127.0.0.1, port: {port}}}
authProviders:
  oidc:
    id: {{issuerUrl: "http://localhost:{issuer}", clientID: {client}, clientSecret: {{value: {secret}}}}}
    wrong: {{issuerUrl: "http://127.0.0.1:{issuer}", clientID: {client}, clientSecret: {{value: {secret}}}, cookieName: w}}
targets:
  site:
    bucket: {{name: {bucket.name}, s3Endpoint: "{bucket.endpoint}", region: us-east-1}}
    resources:
      - {{path: /wrong/**, provider: wrong}}
      - {{path: /**, methods: [GET, PUT, DELETE], provider: id, oidc: {{authorizationAccesses: [{{group: editors}}]}}}}
    actions: {{PUT: {{enabled: true}}, DELETE: {{enabled: true}}}}
"""


@dataclass
class _Issuer:
    """The issuer; it forgets its users when it is restarted."""

    port: int
    site: str
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        script = Path(__file__).with_name("issuer.mjs")
        command = [str(_NODE), str(script), str(self.port), _CLIENT, _SECRET, self.site]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen(command, cwd=_PACKAGE, **streams)
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
    """The ports of the service and of the issuer."""
    part("oidc-provider/node_modules", "oidc")
    return free_port(), free_port()


@pytest.fixture(scope="module")
def proxy(ports, tmp_path_factory) -> Iterator[Proxy]:
    """A service in front of an S3."""
    port, issuer = ports
    with real_s3.moto_bucket("sign-in") as bucket:
        for key in ("deep/a b.txt", "a.txt", "wrong/a.txt"):
            bucket.put(key, f"this is {key}".encode(), ContentType="text/plain")
        text = _CONFIGURATION.format(port=port, issuer=issuer, client=_CLIENT, secret=_SECRET, bucket=bucket)
        with start_proxy(tmp_path_factory.mktemp("proxy"), text) as started:
            yield started


@pytest.fixture(scope="module")
def site(ports) -> str:
    """The URL of the service."""
    return f"http://127.0.0.1:{ports[0]}"


@pytest.fixture(scope="module")
def issuer(ports, site) -> Iterator[_Issuer]:
    """A running issuer."""
    started = _Issuer(ports[1], site)
    started.start()
    yield started
    started.stop()


@pytest.fixture
def browser_without_cookies(browser, proxy):
    """The browser without cookies."""
    browser.execute_cdp_cmd("Network.clearBrowserCookies", {})
    return browser


def _click(browser, selector):
    """Clicks an element of the page that is shown or comes next."""
    eventually(lambda: browser.find_elements("css selector", selector))[0].click()


def _log_in(browser, name="ann"):
    """Signs in on the issuer's pages: name and password, then consent."""
    browser.find_element("name", "login").send_keys(name)
    browser.find_element("name", "password").send_keys("any")
    for _ in range(2):
        address = browser.current_url
        _click(browser, "button[type=submit]")
        # Both pages have such a button. The old one cannot be asked whether it is gone: the driver fails while it goes.
        eventually(lambda: browser.current_url != address)  # noqa: B023 - called before the next one is found


def _open(browser, address):
    """Opens a page and signs in if necessary."""
    browser.get(address)
    if browser.find_elements("name", "login"):
        _log_in(browser)
    eventually(lambda: browser.current_url == address)
    eventually(lambda: browser.execute_script("return document.readyState") == "complete")


def _session(browser):
    return next((cookie["value"] for cookie in browser.get_cookies() if cookie["name"] == "oidc"), None)


def test_the_requested_page_is_shown_after_the_login(browser_without_cookies, issuer, site):
    _open(browser_without_cookies, f"{site}/deep/a%20b.txt?x=1")
    assert shown(browser_without_cookies) == "this is deep/a b.txt"
    assert browser_without_cookies.current_url == f"{site}/deep/a%20b.txt?x=1"


def test_an_expired_session_is_renewed(browser_without_cookies, issuer, site):
    """An expired session is renewed without a login, because the issuer still knows the user."""
    _open(browser_without_cookies, f"{site}/a.txt")
    before = _session(browser_without_cookies)
    time.sleep(9)  # the tokens of the issuer expire after eight seconds
    browser_without_cookies.get(f"{site}/a.txt")
    assert shown(browser_without_cookies) == "this is a.txt"
    assert _session(browser_without_cookies) not in (None, before)


def test_changes_wait_for_another_session(browser_without_cookies, issuer, site, tmp_path):
    """What a page whose session has ended uploads or deletes goes on once the reader has signed in, in another tab."""
    browser = browser_without_cookies
    _open(browser, f"{site}/deep/")
    browser.delete_cookie("oidc")
    files = [tmp_path / name for name in ("first.txt", "second.txt")]
    for each in files:
        each.write_text("new")
    choose(browser, *files)
    _sign_in_again(browser)
    eventually(lambda: texts(browser, ".transfers .message") == ["done", "done"])
    eventually(lambda: browser.find_elements("css selector", "button[aria-label='Delete first.txt']"))[0].click()
    browser.delete_cookie("oidc")
    click(browser, "Delete")
    _sign_in_again(browser)
    eventually(lambda: "first.txt" not in texts(browser, ".listing bdi"))


def _sign_in_again(browser):
    """Signs in in another tab, as the page asks, and goes on in this one."""
    eventually(lambda: texts(browser, "dialog h2") == ["Your session has ended"])
    here = browser.current_window_handle
    browser.find_element("css selector", "dialog a").click()
    browser.switch_to.window(next(each for each in browser.window_handles if each != here))
    eventually(lambda: _session(browser))
    browser.close()
    browser.switch_to.window(here)
    click(browser, "Go on")


def test_a_logout_ends_the_session_at_the_issuer_too(browser_without_cookies, issuer, site):
    _open(browser_without_cookies, f"{site}/a.txt")
    browser_without_cookies.get(f"{site}/auth/id/logout")
    _click(browser_without_cookies, "form[method=post] button")
    eventually(lambda: urlsplit(browser_without_cookies.current_url).hostname == "localhost")
    _click(browser_without_cookies, "button[name=logout]")
    # The browser returns to the service, which sends it to the issuer; the session there has ended.
    eventually(lambda: browser_without_cookies.find_elements("name", "login"))
    browser_without_cookies.get(f"{site}/a.txt")
    assert browser_without_cookies.find_elements("name", "login")


def test_a_callback_with_a_used_state_is_not_a_dead_end(browser_without_cookies, issuer, site):
    """A callback with a state that was used leads a reader who is signed in to the start page."""
    _open(browser_without_cookies, f"{site}/a.txt")
    browser_without_cookies.get(f"{site}/auth/id/callback?code=used&state=used")
    assert browser_without_cookies.current_url == f"{site}/"


def test_an_issuer_with_another_name_is_refused(browser_without_cookies, issuer, site):
    browser_without_cookies.get(f"{site}/wrong/a.txt")
    assert "502" in shown(browser_without_cookies)


def test_new_keys_are_fetched(browser_without_cookies, issuer, site):
    """New keys of a restarted issuer are fetched, and sessions outlive its absence."""
    _open(browser_without_cookies, f"{site}/a.txt")
    issuer.stop()
    browser_without_cookies.get(f"{site}/deep/a%20b.txt")
    assert shown(browser_without_cookies) == "this is deep/a b.txt"
    browser_without_cookies.execute_cdp_cmd("Network.clearBrowserCookies", {})
    time.sleep(10)  # the keys are fetched again after ten seconds at the earliest
    issuer.start()
    _open(browser_without_cookies, f"{site}/a.txt")
    assert shown(browser_without_cookies) == "this is a.txt"
