"""Custom pages and themes of a running service: served, reloaded, and kept after a bad edit."""

import re

import pytest
from administering import Admin, eventually
from running import start_proxy

CONFIGURATION = """
server: {port: 0}
internalServer: {port: 0}
authProviders: {oidc: {id: {issuerUrl: "http://127.0.0.1:1/", clientID: us, clientSecret: {value: a-long-secret-of-ours}}}}
pages: {title: The library, css: brand.css, templates: brand}
templates:
  helpers: [pages/helpers.tpl]
  notFoundError: {path: pages/missing.tpl, headers: {X-Page: '{{ template "name" . }}'}}
targets:
  site:
    mount: {path: [/files]}
    bucket: {name: some-bucket, s3Endpoint: "http://127.0.0.1:1"}
"""
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The folder of the service's files, with its pages."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "pages").mkdir()
    (folder / "pages" / "helpers.tpl").write_text('{{ define "name" }}mine{{ end }}')
    (folder / "pages" / "missing.tpl").write_text("{{ .Error }}: {{ .Request.URL.Path }}")
    (folder / "brand.css").write_text("a{}")
    (folder / "brand").mkdir()
    return folder


@pytest.fixture(scope="module")
def proxy(folder):
    """A service with a custom page, and a theme for all others."""
    with start_proxy(folder, CONFIGURATION) as started:
        yield started


def test_a_custom_page_is_reloaded(proxy, folder):
    """An edit of a template is put in force; an edit that does not compile changes nothing."""
    page = folder / "pages" / "missing.tpl"
    answer = proxy.request("GET", "/a%26")
    assert (answer.status, answer.body) == (404, b"There is nothing at this address: /a&amp;")
    assert (answer.headers["x-page"], answer.headers["content-type"]) == ("mine", "text/html; charset=utf-8")
    page.write_text("{{ no such }}")
    Admin.of(proxy).wait_for_status(lambda status: status["lastFailedAttempt"] is not None)
    assert proxy.request("GET", "/a").body == b"There is nothing at this address: /a"
    page.write_text("other")
    eventually(lambda: proxy.request("GET", "/a").body == b"other")


def test_pages_outside_of_targets_have_the_global_theme(proxy, folder):
    """A failed login and pages without a target or a theme show the global theme, which an edit changes."""
    for path, status in (("/auth/id/callback?code=a&state=b", 400), ("/%zz", 400), ("/files/a.txt", 502)):
        answer = proxy.request("GET", path, headers=HTML)
        assert (answer.status, "The library" in answer.text) == (status, True), path
    page = proxy.request("GET", "/%zz", headers=HTML).text
    assert proxy.request("GET", re.search(r'href="(/[^"]*theme[^"]*[.]css)"', page)[1]).body == b"a{}"
    (folder / "proxy.yaml").write_text(CONFIGURATION.replace("The library", "The archive"))
    eventually(lambda: "The archive" in proxy.request("GET", "/%zz", headers=HTML).text)
    (folder / "brand" / "failure.html").write_text("shut: {{ status }}")
    # Before files are looked at without a notification, which takes five seconds.
    eventually(lambda: proxy.request("GET", "/%zz", headers=HTML).text == "shut: 400", 4)
