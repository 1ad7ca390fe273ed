"""Go's quoted strings and characters, written and read (package strconv)."""

from __future__ import annotations

import re

from tornado_proxy.templates.golang.text import go_string, is_print

_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"}
_SHORT_READ = {escape[1]: char.encode() for char, escape in _SHORT.items()} | {"\\": b"\\"}

_ESCAPE = re.compile(
    r"""\\(?:(?P<short>[abfnrtv\\])
          |(?P<quote>['"])
          |x(?P<byte>[0-9a-fA-F]{2})
          |(?P<octal>[0-3][0-7]{2})
          |u(?P<rune>[0-9a-fA-F]{4})
          |U(?P<wide>[0-9a-fA-F]{8}))""",
    re.VERBOSE,
)


class QuotingError(ValueError):
    """A text that strconv.Unquote refuses; `offset` is where in it the fault lies."""

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
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if is_print(rune) and not (ascii_only and code >= 0x80):
        return rune
    if rune in _SHORT:
        return _SHORT[rune]
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def can_backquote(string: bytes) -> bool:
    """strconv.CanBackquote: whether the string can stand between backticks on one line."""
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
    if "\\" not in inside:
        return go_string(inside)
    return b"".join(_unescaped(piece, '"') for piece in _pieces(inside, '"'))


def unquote_char(literal: str) -> int:
    """The code point of a character literal, quotes included."""
    inside = literal[1:-1]
    pieces = list(_pieces(inside, "'"))
    if len(pieces) != 1 or (isinstance(pieces[0], str) and len(pieces[0]) != 1):
        raise QuotingError("a character constant holds one character", 1)
    piece = pieces[0]
    if isinstance(piece, str):
        return ord(piece)
    if piece["byte"] or piece["octal"]:
        return int(piece["byte"] or piece["octal"], 16 if piece["byte"] else 8)
    return ord(_unescaped(piece, "'").decode())


def _pieces(inside: str, mark: str) -> list[str | re.Match[str]]:
    """The plain stretches and the escapes of what stands between quotes."""
    pieces: list[str | re.Match[str]] = []
    position = 0
    while position < len(inside):
        escape = _ESCAPE.match(inside, position)
        if escape is not None:
            if escape["quote"] not in (None, mark):
                raise QuotingError(f"`\\{escape['quote']}` is no escape between {mark}", position + 1)
            pieces.append(escape)
            position = escape.end()
            continue
        if inside[position] == "\\":
            raise QuotingError(f"`{inside[position : position + 2]}` is no escape that Go knows", position + 1)
        end = inside.find("\\", position)
        end = len(inside) if end < 0 else end
        pieces.append(inside[position:end])
        position = end
    return pieces


def _unescaped(piece: str | re.Match[str], mark: str) -> bytes:
    if isinstance(piece, str):
        return go_string(piece)
    if piece["short"]:
        return _SHORT_READ[piece["short"]]
    if piece["quote"]:
        return mark.encode()
    if piece["byte"]:
        return bytes((int(piece["byte"], 16),))
    if piece["octal"]:
        return bytes((int(piece["octal"], 8),))
    code = int(piece["rune"] or piece["wide"], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise QuotingError(f"`{piece[0]}` is no character", piece.start() + 1)
    return chr(code).encode()
