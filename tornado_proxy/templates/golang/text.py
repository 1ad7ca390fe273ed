"""Go's strings are bytes: their runes, what kind a rune is, and its case (packages unicode and unicode/utf8).

Everywhere in this package a `bytes` is a Go string. A `str` holds runes, one code point each.
"""

from __future__ import annotations

import re
import unicodedata

from tornado_proxy.templates.template import GO_SPACES

# What `surrogateescape` makes of a byte that is not UTF-8: Go sees such a byte as one U+FFFD.
_INVALID = re.compile("[\ud800-\udfff]")

_SPACES = frozenset(GO_SPACES)


def runes(string: bytes) -> str:
    """The runes of a Go string; each byte that is not UTF-8 is one U+FFFD."""
    try:
        return string.decode()
    except UnicodeDecodeError:
        return _INVALID.sub("\ufffd", string.decode("utf-8", "surrogateescape"))


def go_string(text: str) -> bytes:
    """The Go string of a text; a lone surrogate is U+FFFD, as wherever Go makes a string of runes."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _INVALID.sub("\ufffd", text).encode()


def rune_starts(string: bytes) -> list[int]:
    """The offset of each rune, in bytes."""
    if string.isascii():
        return list(range(len(string)))
    decoded = string.decode("utf-8", "surrogateescape")
    starts, offset = [], 0
    for rune in decoded:
        starts.append(offset)
        offset += len(rune.encode("utf-8", "surrogateescape"))
    return starts


def is_space(rune: str) -> bool:
    """Whether unicode.IsSpace holds."""
    return rune in _SPACES


def trim_space(string: bytes) -> bytes:
    """strings.TrimSpace: without white space at both ends; other bytes stay as they are, UTF-8 or not."""
    if string.isascii():
        return string.strip(b"\t\n\v\f\r ")
    return string.decode("utf-8", "surrogateescape").strip(GO_SPACES).encode("utf-8", "surrogateescape")


def is_letter(rune: str) -> bool:
    """Whether unicode.IsLetter holds."""
    return unicodedata.category(rune)[0] == "L"


def is_digit(rune: str) -> bool:
    """Whether unicode.IsDigit holds: a decimal digit of any script."""
    return unicodedata.category(rune) == "Nd"


def is_number(rune: str) -> bool:
    """Whether unicode.IsNumber holds."""
    return unicodedata.category(rune)[0] == "N"


def is_punct(rune: str) -> bool:
    """Whether unicode.IsPunct holds."""
    return unicodedata.category(rune)[0] == "P"


def is_upper(rune: str) -> bool:
    """Whether unicode.IsUpper holds."""
    return unicodedata.category(rune) == "Lu"


def is_lower(rune: str) -> bool:
    """Whether unicode.IsLower holds."""
    return unicodedata.category(rune) == "Ll"


def is_title(rune: str) -> bool:
    """Whether unicode.IsTitle holds."""
    return unicodedata.category(rune) == "Lt"


def is_print(rune: str) -> bool:
    """Whether strconv.IsPrint holds: letters, marks, numbers, punctuation, symbols and the ASCII space."""
    return rune == " " or unicodedata.category(rune)[0] in "LMNPS"


def upper(rune: str) -> str:
    """unicode.ToUpper: one rune for one, where Python would write two or three."""
    large = rune.upper()
    if len(large) == 1:
        return large
    titled = rune.title()
    return titled if len(titled) == 1 else rune


def lower(rune: str) -> str:
    """unicode.ToLower: one rune for one."""
    small = rune.lower()
    return small if len(small) == 1 else small[0]


def title(rune: str) -> str:
    """unicode.ToTitle: one rune for one."""
    titled = rune.title()
    return titled if len(titled) == 1 else rune


def to_upper(string: bytes) -> bytes:
    """strings.ToUpper."""
    return string.upper() if string.isascii() else "".join(map(upper, runes(string))).encode()


def to_lower(string: bytes) -> bytes:
    """strings.ToLower."""
    return string.lower() if string.isascii() else "".join(map(lower, runes(string))).encode()
