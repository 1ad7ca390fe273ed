"""A request and its user as values, and the base of errors that a request is answered with; any other is a defect."""

from __future__ import annotations

import errno
from typing import ClassVar, Literal, NewType, get_args

import msgspec

from tornado_proxy.semantics.forwarded import ClientCertificate

RequestPath = NewType("RequestPath", str)
"""What the client asked for, percent-decoded exactly once; routing, access, rules and logs read this value."""

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


class Request(msgspec.Struct, frozen=True):
    """A request with a decoded path and a host in lower case without port; everything else is as sent.

    `headers` and `query` keep order and repetition.
    """

    method: str = "GET"
    host: str = ""
    path: RequestPath = RequestPath("/")
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""
    protocol: str = "HTTP/1.1"
    authority: str = ""  # the host with its port, as the client wrote it
    from_trusted_proxy: bool = False  # whether the connection comes from one of `server.trustedProxies`
    certificate: ClientCertificate | None = None  # of the client; never of a trusted proxy
    public_path: str = ""  # what proxies have taken off the path, such as `/files`

    def public(self, path: str) -> RequestPath:
        """Returns the path by which the client finds a request path."""
        return RequestPath(self.public_path + path)

    @property
    def parameters(self) -> dict[str, str]:
        """The query; of several values of one name the first counts."""
        return dict(reversed(self.query))


_OF_SHORTAGES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class StatusError(Exception):
    """An error that a client is answered with: its `status`, and a `public_message` if the status says too little."""

    status: ClassVar[int]
    public_message: str | None = None

    @property
    def by_client(self) -> bool:
        """Whether the client caused it (RFC 9110 15.5)."""
        return self.status < 500


def shortage(error: BaseException | None) -> str | None:
    """Returns the system's message if an error comes from a lack of descriptors or memory, else None."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, OSError) and error.errno in _OF_SHORTAGES:
            return error.strerror
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
