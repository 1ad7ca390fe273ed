"""The facts of a request: read once at the edge, pure ever after."""

from __future__ import annotations

from dataclasses import dataclass

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
