"""A minimal browser for sign-in tests: it keeps cookies and follows the redirects of a running server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from running import Proxy, Response, exchange

HTML = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}


@dataclass
class Browser:
    """A browser whose requests for `host` go to `proxy`; `url` is the address of the last page, `cookies` are those of `proxy`.

    On the way, `public_path` is taken off the paths.
    """

    proxy: Proxy
    host: str = "files.example"
    cookies: dict[str, str] = field(default_factory=dict)
    set_cookie_headers: list[str] = field(default_factory=list)
    url: str = ""
    public_path: str = ""

    def request(
        self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None, body: bytes | None = None
    ):
        """Sends a request with the cookies, and does not follow a redirect."""
        all_headers = {"Host": self.host, **HTML, **(headers or {})}
        if self.cookies:
            all_headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self.public_path:
            assert path.startswith(f"{self.public_path}/"), path
            path, all_headers["X-Forwarded-Prefix"] = path.removeprefix(self.public_path), self.public_path
        answer = exchange(self.proxy.address, method, path, body, all_headers)
        self._keep(answer.set_cookies)
        return answer

    def open(self, path: str) -> Response:
        """Opens a page and follows all redirects, also to the issuer."""
        self.url = f"http://{self.host}{path}"
        for _ in range(10):
            parts = urlsplit(self.url)
            target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            elsewhere = parts.hostname or "", parts.port or 80
            answer = self.request(target) if parts.netloc == self.host else exchange(elsewhere, "GET", target)
            if answer.status not in (302, 303, 307):
                return answer
            self.url = urljoin(self.url, answer.headers["location"])
        raise AssertionError(f"too many redirects, the last to {self.url}")

    def _keep(self, set_cookie_headers: Sequence[str]) -> None:
        self.set_cookie_headers += set_cookie_headers
        for line in set_cookie_headers:
            name, _, value = line.partition(";")[0].partition("=")
            if "Max-Age=0" in line:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value
