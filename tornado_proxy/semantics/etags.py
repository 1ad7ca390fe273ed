"""Entity tags (RFC 9110 8.8.3), kept as they are written: `"a"` is strong, `W/"a"` is weak."""

from __future__ import annotations

import re

# entity-tag = [ weak ] opaque-tag; an opaque-tag holds no control characters, spaces or quotes.
_ETAG = r'(?:W/)?"[\x21\x23-\x7e\x80-\U0010ffff]*"'
_ONE = re.compile(_ETAG)
_LIST = re.compile(rf"[ \t,]*(?:{_ETAG}[ \t]*(?:,[ \t,]*|$))*")

ANY = "*"
"""What stands in a condition for whatever there is."""


def parse_etags(text: str) -> tuple[str, ...]:
    """The entity tags of If-Match or If-None-Match, or `("*",)`; empty where the field has no members.

    A field that is ill-formed is kept whole as its one member, which is no entity tag and therefore matches none:
    a condition that cannot be understood must not be taken for one that is absent.
    """
    text = text.strip(" \t")
    if text == ANY:
        return (ANY,)
    if _LIST.fullmatch(text):
        return tuple(_ONE.findall(text))
    return (text,)


def is_etag(text: str) -> bool:
    """Whether a text is one entity tag."""
    return _ONE.fullmatch(text) is not None


def is_weak(etag: str) -> bool:
    """Whether an entity tag says that it tells representations apart by meaning only, not by bytes."""
    return etag.startswith("W/")


def opaque(etag: str) -> str:
    """The entity tag without its weakness."""
    return etag.removeprefix("W/")


def strong_match(one: str, other: str) -> bool:
    """Whether two are the same and neither is weak (RFC 9110 8.8.3.2)."""
    return one == other and is_etag(one) and not is_weak(one)


def weak_match(one: str, other: str) -> bool:
    """Whether two have the same opaque tag (RFC 9110 8.8.3.2)."""
    return opaque(one) == opaque(other) and is_etag(one)
