"""Base64 and base32, padded; what cannot be decoded gives Go's message in place of a text (sprig's strings.go)."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import STRING, Function, function

_BASE64_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
_BASE32_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAD = ord("=")


def _without_line_ends(text: bytes) -> bytes:
    return text.translate(None, b"\r\n")


def _after_line_ends(text: bytes, position: int) -> int:
    return len(text) - len(text[position:].lstrip(b"\r\n"))


def _b64dec(text: bytes) -> bytes:
    at = len(text) - len(text.lstrip(_BASE64_CHARS))
    digits = _without_line_ends(text[:at])
    fault = _base64_fault(text, at, len(digits) % 4)
    if fault is not None:
        return b"illegal base64 data at input byte %d" % fault
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))


def _base64_fault(text: bytes, at: int, over: int) -> int | None:
    """The offset that Go complains of; the digits end at `at`, and are so many over a multiple of four."""
    if at == len(text):
        return at - over if over else None
    if text[at] != _PAD or over < 2:
        return at
    at = _after_line_ends(text, at + 1)
    if over == 2:
        if at == len(text):
            return at
        if text[at] != _PAD:
            return at - 1
        at = _after_line_ends(text, at + 1)
    return at if at < len(text) else None


def _b32dec(text: bytes) -> bytes:
    text = _without_line_ends(text)
    digits = text[: len(text) - len(text.lstrip(_BASE32_CHARS))]
    fault = _base32_fault(text, len(digits), len(digits) % 8)
    if fault is not None:
        return b"illegal base32 data at input byte %d" % fault
    return base64.b32decode(digits + b"=" * (-len(digits) % 8))


def _base32_fault(text: bytes, at: int, over: int) -> int | None:
    """The same for base32, whose groups are of eight; line ends are gone before it counts."""
    rest = text[at + 1 :]
    if at == len(text):
        return at - over if over else None
    if text[at] != _PAD or over < 2 or len(rest) >= 8:
        return at
    if len(rest) + over < 7:
        return len(text)
    wrong = rest[: 7 - over].lstrip(b"=")
    if wrong:
        return at + 7 - over - len(wrong)
    return at if over in (3, 6) else None


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "b32dec": function(_b32dec, STRING),
        "b32enc": function(base64.b32encode, STRING),
        "b64dec": function(_b64dec, STRING),
        "b64enc": function(base64.b64encode, STRING),
    }
)
