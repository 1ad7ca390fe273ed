"""The errors of requests as HTTP messages; `routing.errors` has the statuses, and the errors of paths.

RequestError (routing.errors)
├── MalformedMessage   the head breaks HTTP's grammar: request line, header, Host, framing
├── HeadTooLarge       request line and headers are more than the limit
├── NotAForm           an upload's body is not a multipart form
├── NotAFile           the body of an upload to a file path is a form, or is encoded
├── PartialPut         a PUT carries a part of a file only
├── DigestMismatch     a body is not what Content-MD5 or Content-Digest announce
├── ArchiveTooLarge    a directory that is asked for as one file holds too much
├── CrossOrigin        a page of another origin would change something
├── TypeNotAllowed     an upload of a type that the target does not take
├── MalformedForm      the form is broken, cut short, or has not exactly one field `file`
├── FormTooLarge       what a form holds besides its file is more than the limit
├── BodyTimeout        no byte of the body came for too long
└── ClientDisconnected the client closed the connection, or takes nothing any more

PageFailed           a custom page cannot be made
"""

from __future__ import annotations

from tornado_proxy.routing.errors import RequestError


class MalformedMessage(RequestError):
    """A head that breaks the grammar of HTTP (RFC 9112), or a body whose framing does."""


class HeadTooLarge(RequestError):
    """Request line and headers together are longer than the limit (RFC 6585 5)."""


class NotAForm(RequestError):
    """An upload whose body is not `multipart/form-data`."""


class NotAFile(RequestError):
    """An upload to a file path whose body is a form, or has a content coding."""


class PartialPut(RequestError):
    """A PUT that carries a part of a file only (RFC 9110 14.5)."""


class DigestMismatch(RequestError):
    """A body that is not what Content-MD5 or Content-Digest announce, or a digest that cannot be read."""


class ArchiveTooLarge(RequestError):
    """A directory with more files or bytes than an archive may hold."""


class CrossOrigin(RequestError):
    """A PUT or DELETE that a browser sends for a page of another origin, with the authority of its user."""


class TypeNotAllowed(RequestError):
    """An upload of a type that is not one of the target's `allowedTypes`."""


class MalformedForm(RequestError):
    """A form that breaks its grammar (RFC 7578), ends before its closing boundary, or has not exactly one `file`."""


class FormTooLarge(RequestError):
    """A form that holds more than is allowed besides its file: other fields, headers, a preamble or an epilogue."""


class BodyTimeout(RequestError):
    """A client that stopped sending its body."""


class ClientDisconnected(RequestError):
    """A client that closed the connection, or stopped taking the answer."""


class PageFailed(Exception):
    """A custom page that cannot be made; the text is for the log."""
