"""Go's strings and numbers as text: runes with kind and case, literals in Go source, floats in every form.

The functions are in Go's packages unicode, unicode/utf8, strings and strconv. Everywhere in this package a `bytes`
is a Go string. A `str` contains runes, one code point each.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from itertools import accumulate

import msgspec

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


MAX_INT = 2**63 - 1
MIN_INT = -(2**63)
MAX_UINT = 2**64 - 1

# By base; in base 0, the prefix decides, and an underscore is allowed between digits, or between a prefix and a digit
# (strconv.underscoreOK).
_INTEGERS = {
    0: re.compile(
        r"(?P<sign>[+-]?)(?:0[xX](?P<hex>(?:_?[0-9a-fA-F])+)|0[bB](?P<bin>(?:_?[01])+)"
        r"|0(?:[oO]_?|_?)(?P<oct>[0-7](?:_?[0-7])*)|(?P<dec>0|[1-9](?:_?[0-9])*))"
    ),
    8: re.compile(r"(?P<sign>[+-]?)(?P<oct>[0-7]+)"),
    10: re.compile(r"(?P<sign>[+-]?)(?P<dec>[0-9]+)"),
}
_MOST_DIGITS = 64
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
_DIGITS = r"[0-9](?:_?[0-9])*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEX_DIGITS = r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_HEXADECIMAL = re.compile(rf"[+-]?0[xX](?:_?{_HEX_DIGITS}(?:\.(?:{_HEX_DIGITS})?)?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}")
_SPECIAL = re.compile(r"[+-]?(?:inf|infinity)|nan", re.IGNORECASE)
_COMPLEX = re.compile(r"(?P<real>.+?(?<![eEpP]))(?P<imaginary>[+-].*)i")


class NumberError(ValueError):
    """A text that is not a number of the expected kind; `clamped` is what Go returns beside its error."""

    def __init__(self, message: str, clamped: int = 0) -> None:
        super().__init__(message)
        self.clamped = clamped


def wrap_int(number: int) -> int:
    """Reduces the result of a sum or a product to 64 bits, like a Go int."""
    return ((number - MIN_INT) & MAX_UINT) + MIN_INT


def float_to_int(number: float) -> int:
    """Converts a float like int64(f) on amd64: to the least int if it is NaN or out of range."""
    return int(number) if -(2.0**63) <= number < 2.0**63 else MIN_INT


def parse_int(text: str, base: int = 0) -> int:
    """Parses an integer like strconv.ParseInt in base 0, 8 or 10 with 64 bits; raises `NumberError`."""
    number = _parse_unbounded(text, base)
    if not MIN_INT <= number <= MAX_INT:
        raise NumberError(f"`{text}` is out of range", MAX_INT if number > 0 else MIN_INT)
    return number


def _parse_unbounded(text: str, base: int = 0) -> int:
    match = _INTEGERS[base].fullmatch(text)
    if match is None:
        raise NumberError(f"invalid integer `{text}`")
    group = str(match.lastgroup)
    digits = match[group].replace("_", "").lstrip("0") or "0"
    # Python refuses to parse very long decimals; a text longer than this is out of range in any base.
    number = int(digits, _BASES[group]) if len(digits) <= _MOST_DIGITS else MAX_UINT + 1
    return -number if match["sign"] == "-" else number


def parse_float(text: str) -> float:
    """Parses a float like strconv.ParseFloat with 64 bits; raises `NumberError`, also for one that is too large."""
    if _DECIMAL.fullmatch(text):
        number = float(text.replace("_", ""))
    elif _HEXADECIMAL.fullmatch(text):
        try:
            number = float.fromhex(text.replace("_", ""))
        except OverflowError:
            number = math.inf
    elif _SPECIAL.fullmatch(text):
        return float(text)
    else:
        raise NumberError(f"invalid number `{text}`")
    if math.isinf(number):
        raise NumberError(f"`{text}` is out of range")
    return number


class Number(msgspec.Struct, frozen=True):
    """The value of a numeric constant in each type that can represent it, and None for the other types."""

    text: str
    integer: int | None = None
    floating: float | None = None
    complex: complex | None = None

    @property
    def looks_floating(self) -> bool:
        """Whether the spelling makes the constant a float64: a point or an exponent, but no hexadecimal integer."""
        if self.text[0] == "'" or (self.text[:2].lower() == "0x" and "p" not in self.text.lower()):
            return False
        return any(char in self.text for char in ".eEpP")


def number(text: str) -> Number:
    """Parses a numeric literal like text/template/parse; raises `NumberError`."""
    if text[-1] == "i":
        match = _COMPLEX.fullmatch(text)
        real, imaginary = (match["real"], match["imaginary"]) if match else ("0", text[:-1])
        value = complex(parse_float(real), parse_float(imaginary))
        return Number(text, complex=value) if value.imag else Number(text, _whole(value.real), value.real, value)
    try:
        value = _parse_unbounded(text)
    except NumberError:
        floating = parse_float(text)
        if not any(char in text for char in ".eEpP"):
            raise NumberError(f"`{text}` overflows an integer") from None
        return Number(text, _whole(floating), floating)
    # A uint64 is a valid constant too, although no parameter accepts it; strconv.ParseUint refuses a sign.
    if not MIN_INT <= value <= (MAX_INT if text[0] in "+-" else MAX_UINT):
        raise NumberError(f"`{text}` overflows an integer")
    return Number(text, value if value <= MAX_INT else None, float(value))


def _whole(value: float) -> int | None:
    """Returns the value as an int64, or None if it is not equal after the conversion there and back."""
    return int(value) if value.is_integer() and -(2.0**63) <= value < 2.0**63 else None


_LEAST_EXPONENT = -1074  # of the last bit of a number
_MANTISSA_BITS = 52
# The range of exponents of the numbers that the shortest %g writes without an exponent.
_LEAST_PLAIN, _MOST_PLAIN = -4, 6
SHORTEST = -1  # the precision for the fewest digits that are parsed as the same number again


def format_float(value: float, verb: str, precision: int = SHORTEST) -> str:
    """Formats a number in one of Go's forms: b, e, E, f, g, G, x or X."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign = "-" if math.copysign(1, value) < 0 else ""
    return sign + _unsigned(abs(value), verb, precision)


def _unsigned(value: float, verb: str, precision: int) -> str:
    match verb:
        case "b":
            exponent = max(math.frexp(value)[1] - _MANTISSA_BITS - 1, _LEAST_EXPONENT) if value else _LEAST_EXPONENT
            return f"{int(math.ldexp(value, -exponent))}p{exponent:+d}"
        case "x" | "X":
            part, power = math.frexp(value)
            if 0 <= precision < _MANTISSA_BITS // 4:
                # Exact, as the factors are powers of two; ties go to even.
                part, carry = math.frexp(round(2 * part * 16**precision) / (2 * 16**precision))
                power += carry
            digits, _, fraction = (2 * part).hex().partition("p")[0].partition(".")
            fraction = fraction.rstrip("0") if precision < 0 else fraction.ljust(precision, "0")[:precision]
            text = f"{digits}{'.' if fraction else ''}{fraction}p{power - 1 if value else 0:+03d}"
            return text.upper() if verb == "X" else text
        case "E" | "G":
            return _unsigned(value, verb.lower(), precision).upper()
    if precision >= 0:
        return f"{value:.{precision}{verb}}"
    number = Decimal(repr(value)).normalize()  # the fewest digits that are parsed as the same number again
    if verb == "e" or (verb == "g" and not _LEAST_PLAIN <= number.adjusted() < _MOST_PLAIN):
        digits, _, tens = f"{number:e}".partition("e")
        return f"{digits}e{int(tens):+03d}"
    return f"{number:f}"


def with_zeros(number: str, verb: str, precision: int) -> str:
    """Adds what the flag `#` demands to a number: the point in any case, and for %g the zeros that it omits."""
    head = re.split("[pP]" if verb in "xX" else "[eEpP]", number)[0]
    digits = (6 if precision == SHORTEST else precision) if verb in "gGx" else 0
    significant = "0" if head == "0" else head.replace(".", "").lstrip("0")
    point = "" if "." in head else "."
    return head + point + "0" * max(digits - len(significant), 0) + number[len(head) :]
