"""The facts of a request: read once at the edge, pure ever after."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

from tornado_proxy.routing.keys import RequestPath


@dataclass(frozen=True, slots=True)
class Facts:
    """What a request says: its path decoded, its host without port and in lower case, all else as sent."""

    method: str
    path: RequestPath
    host: str = ""
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""

    @property
    def is_directory(self) -> bool:
        """Whether a directory is asked for: the path ends in `/`."""
        return self.path.endswith("/")


def query_pairs(raw_query: str) -> tuple[tuple[str, str], ...]:
    """The names and values of a query, decoded, in order; `+` is a space here, and bytes that are no UTF-8 are U+FFFD.

    Each character of `raw_query` is one byte of the request line (latin-1), as in `parse_request_path`.
    """
    pairs = parse_qsl(raw_query, keep_blank_values=True, encoding="latin-1")
    return tuple((_text(name), _text(value)) for name, value in pairs)


def _text(sent: str) -> str:
    return sent.encode("latin-1").decode(errors="replace")
