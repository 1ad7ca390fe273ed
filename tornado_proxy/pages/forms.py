"""How an answer is written, and how a client chooses."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from tornado_proxy.routing.errors import UnknownFormat
from tornado_proxy.semantics.fields import negotiate


class Form(Enum):
    """A way to write an answer; the value is what `?format=` calls it."""

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


def choose(offers: Sequence[Form], accept: str | None, override: str | None = None, *, is_strict: bool = False) -> Form:
    """The form that a client likes best, the first offer where it likes several; `override` is `?format=`.

    Raises `UnknownFormat` for an override that is not offered, if that `is_strict`.
    """
    named = next((form for form in offers if form.value == override), None)
    if is_strict and override and named is None:
        raise UnknownFormat(f"there is no format `{override}`")
    by_type = {form.media_type: form for form in offers}
    return named or by_type[negotiate(accept, tuple(by_type))]
