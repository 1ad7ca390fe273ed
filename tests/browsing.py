"""A browser as far as signing in needs one: it keeps cookies, and follows redirects of a running server."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from running import Proxy, Response

HTML = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}


@dataclass
class Browser:
    """`proxy` answers for every name; `url` is the last address, `cookies` are those of `proxy`."""

    proxy: Proxy
    host: str = "files.example"
    cookies: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    url: str = ""

    def ask(self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None):
        """One request with the cookies; redirects are not followed."""
        sent = {"Host": self.host, **HTML, **(headers or {})}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPConnection(*self.proxy.address, timeout=30)
        with closing(connection):
            connection.request(method, path, body=body, headers=sent)
            answer = connection.getresponse()
            self._keep(answer.headers.get_all("Set-Cookie") or [])
            return Response(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())

    def open(self, path: str) -> Response:
        """A page, with all redirects followed, those to the issuer too."""
        self.url = f"http://{self.host}{path}"
        for _ in range(10):
            parts = urlsplit(self.url)
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            answer = self.ask(target) if parts.netloc == self.host else _fetch(parts.netloc, target)
            if answer.status not in (302, 303, 307):
                return answer
            self.url = urljoin(self.url, answer.headers["location"])
        raise AssertionError(f"too many redirects, the last to {self.url}")

    def _keep(self, lines: list[str]) -> None:
        self.lines += lines
        for line in lines:
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value


def _fetch(netloc: str, target: str) -> Response:
    connection = http.client.HTTPConnection(netloc, timeout=30)
    with closing(connection):
        connection.request("GET", target)
        answer = connection.getresponse()
        return Response(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())
