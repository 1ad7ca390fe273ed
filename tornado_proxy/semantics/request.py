"""A request and its user as values: what templates, policies and pages can know of them."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

Method = Literal["GET", "HEAD", "PUT", "DELETE"]

METHODS: tuple[Method, ...] = get_args(Method)  # the methods that act on objects, in the order of an Allow header
READING = METHODS[:2]
WRITING = METHODS[2:]


class User(msgspec.Struct, frozen=True):
    """The signed-in user; `kind` is the way: BASIC, HEADER or OIDC, as in s3-proxy's templates, or CERTIFICATE."""

    username: str
    kind: str = "BASIC"
    email: str = ""
    groups: tuple[str, ...] = ()
    name: str = ""
    given_name: str = ""
    family_name: str = ""
    email_verified: bool = False

    @property
    def identifier(self) -> str:
        """The name, or else the email address."""
        return self.username or self.email


def groups_of(header: str) -> tuple[str, ...]:
    """Returns the groups in a header of a proxy, which separates them by commas."""
    return tuple(group for each in header.split(",") if (group := each.strip()))


class RequestData(msgspec.Struct, frozen=True):
    """The request; `path` is decoded, `headers` and `query` keep order and repetition."""

    method: str = "GET"
    host: str = ""
    path: str = "/"
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""
    protocol: str = "HTTP/1.1"
