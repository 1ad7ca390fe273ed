"""Go's constants as text: numbers, quoted strings and characters, read and written (package strconv)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tornado_proxy.templates.golang.text import go_string, is_print

MAX_INT = 2**63 - 1
MIN_INT = -(2**63)
MAX_UINT = 2**64 - 1

# strconv.underscoreOK: an underscore stands between digits, or between a base's prefix and a digit.
_INTEGER = re.compile(
    r"(?P<sign>[+-]?)(?:0[xX](?P<hex>(?:_?[0-9a-fA-F])+)|0[bB](?P<bin>(?:_?[01])+)"
    r"|0(?:[oO]_?|_?)(?P<oct>[0-7](?:_?[0-7])*)|(?P<dec>0|[1-9](?:_?[0-9])*))"
)
_MOST_DIGITS = 64
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_DIGITS = r"[0-9](?:_?[0-9])*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_DIGITS = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}")
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_COMPLEX = re.compile(r"(?P<real>.+?(?<![eEpP]))(?P<imaginary>[+-].*)i")
_ZERO_DECIMALS = re.compile(r"\.0+\Z")


class NumberError(ValueError):
    """A text that is not a number of the kind asked for; `clamped` is what Go returns beside its error."""

    def __init__(self, message: str, clamped: int = 0) -> None:
        super().__init__(message)
        self.clamped = clamped


def wrap_int(number: int) -> int:
    """The 64 bits of a sum or a product, as a Go int holds them."""
    return ((number - MIN_INT) & MAX_UINT) + MIN_INT


def float_to_int(number: float) -> int:
    """int64(f) as amd64 does it: what does not fit, or is not a number, is the least int."""
    if math.isfinite(number) and MIN_INT <= number <= MAX_INT:
        return min(int(number), MAX_INT) if number < 2.0**63 else MIN_INT
    return MIN_INT


def parse_int(text: str, base: int = 0) -> int:
    """strconv.ParseInt in base 0, 8 or 10, with 64 bits; raises `NumberError`."""
    number = _parse_based(text) if base == 0 else _parse_plain(text, base)
    if not MIN_INT <= number <= MAX_INT:
        raise NumberError(f"`{text}` is out of range", MAX_INT if number > 0 else MIN_INT)
    return number


def _parse_based(text: str) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise NumberError(f"invalid integer `{text}`")
    group = str(match.lastgroup)
    digits = match[group].replace("_", "").lstrip("0") or "0"
    # Python reads no endless decimal; a longer text than this is out of range in any base.
    number = int(digits, _BASES[group]) if len(digits) <= _MOST_DIGITS else MAX_UINT + 1
    return -number if match["sign"] == "-" else number


def _parse_plain(text: str, base: int) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    allowed = "0123456789"[:base]
    if not digits or digits.strip(allowed):
        raise NumberError(f"invalid integer `{text}`")
    digits = digits.lstrip("0") or "0"
    number = int(digits, base) if len(digits) <= _MOST_DIGITS else MAX_UINT + 1
    return -number if text[0] == "-" else number


def parse_float(text: str) -> float:
    """strconv.ParseFloat with 64 bits; raises `NumberError`, for what is too large as well."""
    if _DECIMAL.fullmatch(text):
        number = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        number = _parse_hexadecimal(text)
    elif _SPECIAL.fullmatch(text):
        return float(text)
    else:
        raise NumberError(f"invalid number `{text}`")
    if math.isinf(number):
        raise NumberError(f"`{text}` is out of range")
    return number


def _parse_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text.replace("_", ""))
    except OverflowError:
        return math.inf


def trim_zero_decimals(text: str) -> str:
    """The text without a closing `.0`, `.00` and so on: what the package cast reads as an integer."""
    return _ZERO_DECIMALS.sub("", text)


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric constant under each type that can hold its value; None where a type cannot."""

    text: str
    integer: int | None = None
    unsigned: int | None = None
    floating: float | None = None
    complex: complex | None = None

    @property
    def looks_floating(self) -> bool:
        """Whether its spelling makes it a float64: it has a point or an exponent, and is not a hexadecimal integer."""
        if self.text[0] == "'" or (self.text[:2].lower() == "0x" and "p" not in self.text.lower()):
            return False
        return any(char in self.text for char in ".eEpP")


def character(text: str, code: int) -> Number:
    """The constant of a character literal."""
    return Number(text, code, code, float(code))


def number(text: str) -> Number:
    """The constant of a numeric literal, as text/template/parse reads it; raises `NumberError`."""
    if text[-1] == "i":
        return _imaginary(text)
    try:
        value = _parse_based(text)
    except NumberError:
        return _floating(text)
    if not MIN_INT <= value <= MAX_UINT:
        raise NumberError(f"`{text}` overflows an integer")
    integer = value if value <= MAX_INT else None
    # strconv.ParseUint knows no sign; zero is unsigned whatever its sign.
    unsigned = value if value >= 0 and (value == 0 or text[0] not in "+-") else None
    if integer is None and unsigned is None:
        raise NumberError(f"`{text}` overflows an integer")
    return Number(text, integer, unsigned, float(value))


def _floating(text: str) -> Number:
    value = parse_float(text)
    if not any(char in text for char in ".eEpP"):
        raise NumberError(f"`{text}` overflows an integer")
    return Number(text, *_integers(value), value)


def _integers(value: float) -> tuple[int | None, int | None]:
    """The value as int64 and as uint64, where converting there and back leaves it equal."""
    whole = math.isfinite(value) and value == math.floor(value)
    signed = int(value) if whole and -(2.0**63) <= value < 2.0**63 else None
    unsigned = int(value) if whole and 0 <= value < 2.0**64 else None
    return signed, unsigned


def _imaginary(text: str) -> Number:
    if match := _COMPLEX.fullmatch(text):
        value = complex(parse_float(match["real"]), parse_float(match["imaginary"]))
    else:
        value = complex(0, parse_float(text[:-1]))
    if value.imag:
        return Number(text, complex=value)
    return Number(text, *_integers(value.real), value.real, value)


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
                raise QuotingError(f"`\\{escape['quote']}` is not an escape between {mark}", position + 1)
            pieces.append(escape)
            position = escape.end()
            continue
        if inside[position] == "\\":
            raise QuotingError(f"`{inside[position : position + 2]}` is not an escape in Go", position + 1)
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
        raise QuotingError(f"`{piece[0]}` is not a character", piece.start() + 1)
    return chr(code).encode()
