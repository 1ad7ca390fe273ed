"""What can be wrong with a request as HTTP carries it, beyond what `routing.errors` knows of its path.

RequestError (routing.errors)
├── MalformedMessage   the head breaks HTTP's grammar: request line, header, Host, framing     → 400
├── HeadTooLarge       request line and headers are more than the limit                        → 431
├── NotAForm           an upload's body is no multipart form                                   → 415
├── MalformedForm      the form is broken, cut short, or has not exactly one field `file`      → 400
├── FormTooLarge       what a form holds besides its file is more than the limit               → 413
├── BodyTimeout        no byte of the body came for too long                                   → 408
└── Departed           the client went away, or takes nothing any more: nobody to answer       → 499
"""

from __future__ import annotations

from typing import ClassVar

from tornado_proxy.routing.errors import RequestError


class MalformedMessage(RequestError):
    """A head that breaks the grammar of HTTP (RFC 9112), or a body whose framing does."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""

    status: ClassVar[int] = 431


class NotAForm(RequestError):
    """An upload whose body is not `multipart/form-data`."""

    status: ClassVar[int] = 415


class MalformedForm(RequestError):
    """A form that breaks its grammar (RFC 7578), ends before its closing boundary, or has not exactly one `file`."""


class FormTooLarge(RequestError):
    """A form that holds more than is allowed besides its file: other fields, headers, a preamble or an epilogue."""

    status: ClassVar[int] = 413


class BodyTimeout(RequestError):
    """A client that stopped sending its body."""

    status: ClassVar[int] = 408


class Departed(RequestError):
    """A client that closed the connection, broke the framing of its body, or stopped taking the answer.

    Nobody sees the status; it is what operators know from nginx.
    """

    status: ClassVar[int] = 499
