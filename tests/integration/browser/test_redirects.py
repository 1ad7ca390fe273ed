"""Addresses that moved: a browser and curl follow them to the page."""

from collections.abc import Iterator

import pytest
import real_s3
from programs import output_of
from running import Proxy, start_proxy

pytestmark = pytest.mark.integration

_CONFIGURATION = """
rules: [site.rules]
targets:
  site:
    mount: {{path: [/docs/]}}
    bucket: {{name: {name}, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""
_RULES = """
target site {
    redirect 301 `^/old/(?P<page>.*)$` -> "/new/$page"
    redirect     `^/part$`             -> "/new/a b.html?from=part#second"
    redirects "moved.txt"
    gone         `^/2009/`
}
"""
_PAGE = "<title>The page</title><h1 id=second>Here</h1>"


@pytest.fixture(scope="module")
def proxy(tmp_path_factory) -> Iterator[Proxy]:
    """A service below `/docs/`, with a page and with addresses that moved to it."""
    folder = tmp_path_factory.mktemp("redirects")
    (folder / "site.rules").write_text(_RULES)
    (folder / "moved.txt").write_text("/caf%C3%A9  /new/a%20b.html  308\n/twice  /old/a%20b.html\n")
    with real_s3.moto_bucket("redirects") as bucket:
        bucket.put("new/a b.html", _PAGE.encode(), ContentType="text/html")
        with start_proxy(folder, _CONFIGURATION.format(name=bucket.name, endpoint=bucket.endpoint)) as proxy:
            yield proxy


@pytest.mark.parametrize(
    ("moved", "address"),
    [
        ("old/a%20b.html", "new/a%20b.html"),
        ("old/a%20b.html?x=1&y=%C3%A9", "new/a%20b.html?x=1&y=%C3%A9"),
        ("part", "new/a%20b.html?from=part#second"),
        ("caf%C3%A9", "new/a%20b.html"),
        ("twice?x=1", "new/a%20b.html?x=1"),
    ],
)
def test_a_browser_and_curl_follow_an_address_that_moved(browser, proxy, moved, address):
    """Both arrive at the page, with query and fragment."""
    browser.get(f"{proxy.url}/docs/{moved}")
    assert (browser.title, browser.current_url) == ("The page", f"{proxy.url}/docs/{address}")
    printed = output_of("curl", "-sL", "-w", "%{http_code} %{url_effective}", f"{proxy.url}/docs/{moved}")
    assert printed == f"{_PAGE}200 {proxy.url}/docs/{address}"


def test_what_is_gone_has_a_page_that_says_so(browser, proxy):
    browser.get(f"{proxy.url}/docs/2009/a.html")
    assert browser.title.startswith("410 Gone")
    assert proxy.request("HEAD", "/docs/2009/a.html").status == 410
