"""Go's strings: their bytes, their runes with kind and case, and their form as literals in Go source.

The functions are in Go's packages unicode, unicode/utf8, strings and strconv. Everywhere in this package a `bytes`
is a Go string. A `str` contains runes, one code point each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from itertools import accumulate

GO_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
"""The characters of Go's unicode.IsSpace: Unicode's White_Space. Python's `strip` also removes U+001C to U+001F."""

# The code points of `surrogateescape` for bytes that are not UTF-8: to Go, such a byte is one U+FFFD.
_INVALID = re.compile("[\ud800-\udfff]")

_SPACES = frozenset(GO_SPACES)


def runes(string: bytes) -> str:
    """Decodes a Go string to its runes; each byte that is not UTF-8 is one U+FFFD."""
    try:
        return string.decode()
    except UnicodeDecodeError:
        return _INVALID.sub("\ufffd", string.decode("utf-8", "surrogateescape"))


def go_string(text: str) -> bytes:
    """Encodes a text as a Go string; a lone surrogate becomes U+FFFD, as in Go's conversions of runes to strings."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _INVALID.sub("\ufffd", text).encode()


def rune_starts(string: bytes) -> list[int]:
    """Returns the offset of each rune, in bytes."""
    if string.isascii():
        return list(range(len(string)))
    sizes = (len(rune.encode("utf-8", "surrogateescape")) for rune in string.decode("utf-8", "surrogateescape"))
    *starts, _ = accumulate(sizes, initial=0)
    return starts


def is_space(rune: str) -> bool:
    """unicode.IsSpace."""
    return rune in _SPACES


def trim_space(string: bytes) -> bytes:
    """strings.TrimSpace: removes white space at both ends; other bytes stay unchanged, UTF-8 or not."""
    if string.isascii():
        return string.strip(b"\t\n\v\f\r ")
    return string.decode("utf-8", "surrogateescape").strip(GO_SPACES).encode("utf-8", "surrogateescape")


def _of_category(prefix: str) -> Callable[[str], bool]:
    return lambda rune: unicodedata.category(rune).startswith(prefix)


# unicode.IsLetter, and so on; a digit may be of any script.
is_letter, is_digit, is_upper, is_lower, is_title = map(_of_category, ("L", "Nd", "Lu", "Ll", "Lt"))


def is_print(rune: str) -> bool:
    """strconv.IsPrint: letters, marks, numbers, punctuation, symbols and the ASCII space."""
    return rune == " " or unicodedata.category(rune)[0] in "LMNPS"


def upper(rune: str) -> str:
    """unicode.ToUpper: returns one rune for one, even if Python returns two or three."""
    large = rune.upper()
    return large if len(large) == 1 else title(rune)


def lower(rune: str) -> str:
    """unicode.ToLower: returns one rune for one."""
    small = rune.lower()
    return small if len(small) == 1 else small[0]


def title(rune: str) -> str:
    """unicode.ToTitle: returns one rune for one."""
    titled = rune.title()
    return titled if len(titled) == 1 else rune


def to_upper(string: bytes) -> bytes:
    """strings.ToUpper."""
    return string.upper() if string.isascii() else "".join(map(upper, runes(string))).encode()


def to_lower(string: bytes) -> bytes:
    """strings.ToLower."""
    return string.lower() if string.isascii() else "".join(map(lower, runes(string))).encode()


_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_SHORT_READ = {escape[1]: char.encode() for char, escape in _SHORT.items()} | {"\\": b"\\"}

_PIECE = re.compile(
    r"""(?P<text>[^\\]+)
      |\\(?:(?P<short>[abfnrtv\\])
          |(?P<quote>['"])
          |x(?P<byte>[0-9a-fA-F]{2})
          |(?P<octal>[0-3][0-7]{2})
          |u(?P<rune>[0-9a-fA-F]{4})
          |U(?P<wide>[0-9a-fA-F]{8}))
      |(?P<wrong>\\.?)""",
    re.VERBOSE | re.DOTALL,
)


class QuotingError(ValueError):
    """A text that strconv.Unquote refuses; `offset` is the place of the fault in it."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


def quote(string: bytes, *, ascii_only: bool = False) -> bytes:
    """strconv.Quote, or strconv.QuoteToASCII."""
    decoded = string.decode("utf-8", "surrogateescape")
    return ('"' + "".join(_escaped(rune, '"', ascii_only=ascii_only) for rune in decoded) + '"').encode()


def quote_rune(rune: str, *, ascii_only: bool = False) -> bytes:
    """strconv.QuoteRune, or strconv.QuoteRuneToASCII."""
    return ("'" + _escaped(rune, "'", ascii_only=ascii_only) + "'").encode()


def _escaped(rune: str, mark: str, *, ascii_only: bool) -> str:
    if rune in (mark, "\\"):
        return "\\" + rune
    code = ord(rune)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if is_print(rune) and not (ascii_only and code >= 0x80):
        return rune
    if rune in _SHORT:
        return _SHORT[rune]
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def can_backquote(string: bytes) -> bool:
    """strconv.CanBackquote: whether the string can be written between backticks on one line."""
    try:
        decoded = string.decode()
    except UnicodeDecodeError:
        return False
    return not any(rune in "`\x7f\ufeff" or (rune < " " and rune != "\t") for rune in decoded)


def unquote(literal: str) -> bytes:
    """strconv.Unquote of a literal whose quotes match: interpreted, or raw between backticks."""
    inside = literal[1:-1]
    if literal[0] == "`":
        return go_string(inside.replace("\r", ""))
    return b"".join(_unescaped(piece, '"') for piece in _PIECE.finditer(inside))


def unquote_char(literal: str) -> int:
    """Returns the code point of a character literal, which includes its quotes."""
    pieces = list(_PIECE.finditer(literal[1:-1]))
    if len(pieces) != 1 or len(pieces[0]["text"] or "'") != 1:
        raise QuotingError("a character constant has one character", 1)
    character = _unescaped(pieces[0], "'")
    # An escape of a byte gives the code point of the same value, even if the byte is not UTF-8.
    return character[0] if len(character) == 1 else ord(character.decode())


def _unescaped(piece: re.Match[str], mark: str) -> bytes:
    kind = str(piece.lastgroup)
    text = piece[kind]
    match kind:
        case "text":
            return go_string(text)
        case "short":
            return _SHORT_READ[text]
        case "byte" | "octal":
            return bytes((int(text, 16 if kind == "byte" else 8),))
        case "quote" if text == mark:
            return mark.encode()
        case "rune" | "wide" if (code := int(text, 16)) <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code).encode()
    raise QuotingError(f"invalid escape `{piece[0]}`", piece.start() + 1)
