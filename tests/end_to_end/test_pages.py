"""Pages of one's own in a running service: served, changed while it runs, and kept where an edit is bad."""

from __future__ import annotations

import re
import time

from running import start_proxy

CONFIGURATION = """
server: {port: 0}
internalServer: {port: 0}
templates:
  helpers: [pages/helpers.tpl]
  notFoundError: {path: pages/missing.tpl, headers: {X-Page: '{{ template "name" . }}'}}
targets:
  site:
    mount: {path: [/files]}
    bucket: {name: some-bucket, s3Endpoint: "http://127.0.0.1:1", credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}
"""


def _eventually(proxy, body):
    end = time.monotonic() + 30
    while (answer := proxy.request("GET", "/a")).body != body and time.monotonic() < end:
        time.sleep(0.1)
    return answer


def test_a_page_is_served_and_changed_while_the_service_runs(tmp_path):
    """An edit of a template is put in force; one that does not compile changes nothing."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "helpers.tpl").write_text('{{ define "name" }}mine{{ end }}')
    page = tmp_path / "pages" / "missing.tpl"
    page.write_text("{{ .Error }}: {{ .Request.URL.Path | html }}")
    with start_proxy(tmp_path, CONFIGURATION) as proxy:
        answer = proxy.request("GET", "/a%3Cb")
        assert (answer.status, answer.body) == (404, b"There is nothing at this address: /a&lt;b")
        assert (answer.headers["x-page"], answer.headers["content-type"]) == ("mine", "text/html; charset=utf-8")
        page.write_text("{{ no such }}")
        time.sleep(1)
        assert proxy.request("GET", "/a").body == b"There is nothing at this address: /a"
        page.write_text("other")
        assert _eventually(proxy, b"other").body == b"other"


THEMED = """
server: {port: 0}
internalServer: {port: 0}
authProviders: {oidc: {id: {issuerUrl: "http://127.0.0.1:1/", clientID: us, clientSecret: {value: a-long-secret-of-ours}}}}
pages: {title: The library, css: brand.css}
targets:
  site:
    mount: {path: [/files]}
    bucket: {name: some-bucket, s3Endpoint: "http://127.0.0.1:1", credentials: {accessKey: {env: ACCESS}, secretKey: {env: SECRET}}}
"""
HTML = {"Accept": "text/html"}


def test_pages_outside_of_targets_wear_the_theme_of_all(tmp_path):
    """A login that failed, a path of no target, and a target without a theme of its own; an edit changes them."""
    (tmp_path / "brand.css").write_text("a{}")
    with start_proxy(tmp_path, THEMED) as proxy:
        for path, status in (("/auth/id/callback?code=a&state=b", 400), ("/nowhere", 404), ("/files/a.txt", 502)):
            answer = proxy.request("GET", path, headers=HTML)
            assert (answer.status, "The library" in answer.text) == (status, True), path
        sheet = re.search(r'href="(/[^"]*theme[^"]*[.]css)"', proxy.request("GET", "/nowhere", headers=HTML).text)[1]
        assert proxy.request("GET", sheet).body == b"a{}"
        (tmp_path / "proxy.yaml").write_text(THEMED.replace("The library", "The archive"))
        end = time.monotonic() + 30
        while "The archive" not in proxy.request("GET", "/nowhere", headers=HTML).text:
            assert time.monotonic() < end
            time.sleep(0.1)
