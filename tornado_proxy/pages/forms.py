"""The forms of an answer, and how a client chooses one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tornado_proxy.routing.errors import UnknownFormat
from tornado_proxy.semantics.fields import negotiate


class Form(Enum):
    """A form of answers; the value is its name for `?format=`."""

    HTML = "html"
    JSON = "json"
    TEXT = "text"

    @property
    def media_type(self) -> str:
        """The type and subtype that an Accept header names it by."""
        return _MEDIA_TYPES[self]

    @property
    def content_type(self) -> str:
        """The value of Content-Type; JSON is UTF-8 by definition (RFC 8259 11) and takes no charset."""
        return self.media_type if self is Form.JSON else f"{self.media_type}; charset=utf-8"


_MEDIA_TYPES = {Form.HTML: "text/html", Form.JSON: "application/json", Form.TEXT: "text/plain"}


def choose(
    offers: Sequence[Form],
    accept: str | None,
    override: str | None = None,
    *,
    is_strict: bool = False,
    others: Sequence[str] = (),
) -> Form:
    """Returns the form that a client prefers, of equals the first; `override` is `?format=`.

    Raises `UnknownFormat` for an unknown override if `is_strict`; the error names the offers and `others`.
    """
    named = next((form for form in offers if form.value == override), None)
    if is_strict and override and named is None:
        raise UnknownFormat(override, (*(form.value for form in offers), *others))
    by_type = {form.media_type: form for form in offers}
    return named or by_type[negotiate(accept, tuple(by_type))]
