"""A plan: what to try, in order. An attempt that finds nothing hands over to the next; the last always answers."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.routing.keys import ObjectKey


@dataclass(frozen=True, slots=True)
class Serve:
    """Answer with the object; hand over if there is none. `index` tells an index document from a file asked for."""

    key: ObjectKey
    index: bool = False


@dataclass(frozen=True, slots=True)
class Browse:
    """Answer with a listing of a directory; hand over if nothing is there, unless it is the mount's root."""

    prefix: ObjectKey
    root: bool = False


@dataclass(frozen=True, slots=True)
class Receive:
    """Store the upload under a key; `location` is its request path, percent-encoded."""

    key: ObjectKey
    location: str
    replace: bool = False
    max_size: int | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the object."""

    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Sign:
    """Send the client to a signed URL of the object, valid for `expires` seconds; hand over if there is none."""

    key: ObjectKey
    expires: int


@dataclass(frozen=True, slots=True)
class Redirect:
    """Send the client to `location`, a path with its query; hand over if nothing lies below `below`, None: never."""

    location: str
    below: ObjectKey | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with an error; `reason` is for the log and explain, never for the client."""

    status: int
    reason: str
    allow: tuple[str, ...] = ()


Attempt = Serve | Browse | Receive | Remove | Sign | Redirect | Refuse

Plan = tuple[Attempt, ...]
"""Attempts in order; the last is one that always answers. Empty only for an upload whose file is yet to be named."""
