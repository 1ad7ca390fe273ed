"""What is sent to a client, as a value; only `reply` writes."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.gateway.failures import Headers, Refusal
from tornado_proxy.pages.render import Rendering
from tornado_proxy.storage.store import Opened


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer whose body is at hand; the headers are complete, Content-Length included where there is to be one."""

    status: int
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Streamed:
    """An answer whose body is an object's; whoever sends it closes the object."""

    status: int
    headers: Headers
    opened: Opened


Answer = Whole | Streamed

Outcome = Answer | Refusal
"""What a request comes to: an answer to what it asked, or an error, whose page is made last."""


def page(status: int, rendering: Rendering, headers: Headers = ()) -> Whole:
    """The answer that is a page."""
    length = ("Content-Length", str(len(rendering.body)))
    return Whole(status, (*rendering.headers, *headers, length), rendering.body)
