"""Random literals of Go templates: numbers, characters, strings, and texts in the formats that functions parse."""

import random
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LETTERS = "abcxyzABCXYZ"
_CHARACTERS = _LETTERS + "0129 _-./,:;<>&'\"\\$%{}()[]*+?|^~@#!=\t\n\r\x00\x7f"
_STRANGE = "éßİıŉǅΣςſKÅ日本\u00a0\u2028\u3000\ufeff\ufffd\u0301\u200d😀\U0010ffff\u1e9eﬁ\u0130ΐ੩Ⅷⓐ\u0345"
_BYTES = [b"\xff", b"\xc3", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\x80"]
_WORDS = [
    "foo", "Bar", "BAZ", "HTTPServer", "x2", "42", "a", "B", "aB", "Ab", "iPhone", "éa", "ÉA", "ß", "日本", "a1B2", "I",
    "XMLHttp", "userID", "v1.2", "the", "and", "O'Neil", "don't", "e.g.", "z", "ǆ", "0x1F", "TestID2Go",
]  # fmt: skip
_BETWEEN = [" ", "_", "-", ".", "/", "  ", "", "__", "--", " - ", "\t", ",", ":", "&", "'", "\n", "_-", " _"]
_ESCAPED = [
    *(r"\n", r"\t", r"\\", r"\"", r"\a", r"\v", r"\x41", r"\xff", r"\101", r"\377", r"\400", r"\u00e9", r"\U0001F600"),
    *(r"\ud800", r"\U00110000", r"\x4", r"\u12", r"\8", r"\'", r"\q", r"\0", r"\000", r"\/", r"\e", r"\`"),
]
_PATH_PARTS = ["a", "b.txt", ".", "..", "", "c d", "é", ".hidden", "x.tar.gz", "...", "a.", "~", "*", "\\", "c:"]
_EXPRESSION_PARTS = [
    *("a", "b", "[a-z]", "[^a]", ".", r"\d", r"\w+", r"\s*", "(a|b)", "(?P<n>a)", "(a)?", "x*", "a+?", "^", "$", r"\b"),
    *("(?i)", "a{1,2}", "[[:alpha:]]", r"\pL", "é", "/", "|", "()", r"\.", "(?:ab)", r"\B", "(?s).", "(?m)^", "(", "["),
]
_REPLACEMENT_PARTS = [
    "$1", "$0", "${1}", "$n", "${n}", "$$", "$", "x", "-", "é", "$2", "${", "$1x", "\\1", "{", "$9", " ",
]  # fmt: skip
_LAYOUT_PARTS = [
    *("2006", "06", "01", "1", "Jan", "January", "02", "2", "_2", "002", "__2", "15", "03", "3", "04", "4", "05", "5"),
    *("Mon", "Monday", "PM", "pm", "MST", "-0700", "-07:00", "-07", "Z0700", "Z07:00", "Z07", ".000", ",000", ".999"),
    *("-070000", "Z07:00:00", ".000000000", ",999999999", "2006-01-02", "15:04:05", "T", "x", "é", "0", "7", "MonX"),
]
_LAYOUT_BETWEEN = ["-", " ", ":", "/", "", "", "T", ", ", "."]
_UNITS = ["h", "m", "s", "ms", "us", "µs", "μs", "ns", "d", "", "H"]
_OPERATORS = ["", "=", "==", "!=", ">", "<", ">=", "=>", "<=", "=<", "~", "~>", "^", "> ", ">=v", "^ "]
_JSON_SCALARS = [
    *("null", "true", "false", "0", "-1", "1.5", "1e3", "-0", "1E400", "01", "1.", ".5", "12345678901234567890", "nul"),
    *('""', '"a"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud800"', '"<&>"', '"\\n"', '"a b"', '"\\x"', "'a'", "é", '"é"'),
    *('"\\/"', '"\t"', "NaN", "-", "+1", "1e-7", "123456789.125", '"\\u2028"', "[", "]", "{", "}", '"\\u0000"'),
]
_SCHEMES = ["http:", "https:", "HTTP:", "mailto:", "a+b:", "1a:", ":", "", "", "file:", "x-y.z:"]
_AUTHORITIES = [
    "//h", "//h:80", "//u@h", "//u:p@h:8", "//u:@h", "//@h", "//", "", "", "//[::1]", "//[::1]:80", "//[fe80::1%25x]",
    "//h:", "//h:x", "//a%20b", "//a b", "//é.com", "//u%40:p%3A@h", "//h%zz", "//[::1", "//h_h", "//a:b:c", "//h]",
]  # fmt: skip
_URL_PATHS = [
    "", "/", "/a/b", "a/b", "/a%2Fb", "/a b", "/é", "/%41", "/a;b=c", "/%", "/a:b", "a:b", "*", "//x", "/[x]", "/+",
]  # fmt: skip
_QUERIES = ["", "", "?", "?a=1", "?a=1&b=2&a=3", "?a b", "?%zz", "?a;b", "?é", "??", "?a=%20+", "?\x7f"]
_FRAGMENTS = ["", "", "", "#", "#f", "#a b", "#a%20b", "#é", "#a#b", "#%zz", "#!", "#(x)*"]
_SUFFIXES = ["", "", "", "i", "e3", "E-2", "e+1", "e", "p4", "P-1", ".", ".5", "_", "x", "e400", "p", ".e1", "_0", "ei"]


def _is_unassigned(number: str) -> bool:
    """Whether a number is a code point that Python's Unicode tables do not assign; Go's may assign it."""
    try:
        code = abs(int(number.replace("_", ""), 0))
    except ValueError:
        return False
    return code <= sys.maxunicode and unicodedata.category(chr(code)) == "Cn"


@dataclass
class Values:
    """A generator of literals."""

    random: random.Random

    def literal(self, kind: str) -> str:
        """A literal for an argument of a kind, which is a letter of the signatures in `template_parts`."""
        make = _MAKERS.get(kind)
        return self.quoted(make(self)) if make else self.number()

    def can_make(self, kind: str) -> bool:
        """Whether literals of a kind can be made."""
        return kind in _MAKERS or kind in "FI"

    def _one(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def _often(self, chance: float) -> bool:
        return self.random.random() < chance

    def _some(self, choices: Sequence[str], low: int, high: int) -> str:
        return "".join(self.random.choices(choices, k=self.random.randint(low, high)))

    def quoted(self, text: bytes) -> str:
        """A text as a raw string, or as an interpreted string with some characters escaped."""
        decoded = text.decode("utf-8", "surrogateescape")
        if decoded.isprintable() and "`" not in decoded and self._often(0.2):
            return f"`{decoded}`"
        return '"' + "".join(map(self._escaped, decoded)) + '"'

    def _escaped(self, char: str) -> str:
        code = ord(char)
        if 0xDC80 <= code <= 0xDCFF:
            return f"\\x{code - 0xDC00:02x}"
        if char in '"\\':
            return "\\" + char
        if char.isprintable() and char != "\ufeff" and not self._often(0.02):
            return char
        return f"\\U{code:08x}" if code > 0xFFFF else f"\\u{code:04x}"

    def text(self) -> bytes:
        """Any text, sometimes with invalid UTF-8."""
        pieces: list[bytes] = []
        for _ in range(self.random.randint(0, 8)):
            choice = self.random.random()
            if choice < 0.03:
                pieces.append(self._one(_BYTES))
            else:
                pieces.append(self._one(_STRANGE if choice < 0.2 else _CHARACTERS).encode())
        return b"".join(pieces)

    def words(self) -> bytes:
        """Words in any case, with separators of all kinds between them."""
        count = self.random.randint(1, 4)
        return "".join(self._one(_WORDS) + self._one(_BETWEEN) for _ in range(count)).strip(self._one(" _x")).encode()

    def string(self) -> bytes:
        """An argument for a function of strings."""
        return bytes(self._one([self.text, self.words, self.words, self.path, self.digits])())

    def digits(self) -> bytes:
        """A text with a number, or nearly one."""
        sign = self._one(["", "", "-", "+", " ", "--"])
        return (sign + self.number() + self._one(["", "", " ", "x"])).encode()

    def separator(self) -> bytes:
        """A separator to split or trim texts."""
        return self._some([*_CHARACTERS, *_WORDS, *_BETWEEN], 0, 2).encode()

    def path(self) -> bytes:
        """A path."""
        parts = [self._one(_PATH_PARTS) for _ in range(self.random.randint(0, 5))]
        return (self._one(["", "/", "//", "./"]) + self._one("////:").join(parts) + self._one(["", "/"])).encode()

    def expression(self) -> bytes:
        """A regular expression."""
        return self._some(_EXPRESSION_PARTS, 0, 4).encode()

    def replacement(self) -> bytes:
        """A replacement of a match."""
        return self._some(_REPLACEMENT_PARTS, 0, 4).encode()

    def layout(self) -> bytes:
        """A layout of a time."""
        count = self.random.randint(0, 5)
        return "".join(self._one(_LAYOUT_PARTS) + self._one(_LAYOUT_BETWEEN) for _ in range(count)).encode()

    def duration(self) -> bytes:
        """A duration."""
        parts = [self._one(["1", "0", "90", "1.5", ".5", "1.", "", "007", "2.25", "100000"]) for _ in range(2)]
        units = [self._one(_UNITS) for _ in range(2)]
        sign = self._one(["", "", "-", "+"])
        return (sign + "".join(map("".join, zip(parts, units, strict=True)))[: self._one([4, 9])]).encode()

    def version(self) -> bytes:
        """A version."""
        return self._version(["0", "1", "2", "3", "10", "01", "x"] if self._often(0.1) else ["0", "1", "2", "10"])

    def _version(self, numbers: Sequence[str]) -> bytes:
        count = self._one([1, 2, 3, 3, 3, 3, 4] if self._often(0.3) else [3])
        text = ".".join(self._one(numbers) for _ in range(count))
        label = self._one(["", "", "", "-a", "-1", "-rc.1", "-alpha.10", "-alpha.9", "-01", "-", "-a-b", "-0a", "-é"])
        return (self._one(["", "", "v", "V"]) + text + label + self._one(["", "", "+b1", "+", "+1.x-y"])).encode()

    def constraint(self) -> bytes:
        """A constraint on versions."""
        parts: list[str] = []
        for _ in range(self.random.randint(1, 3)):
            version = self._version(["0", "1", "2", "10", "x", "*", "X"]).decode()
            if self._often(0.1):
                version += self._one([" - ", "-", " -"]) + self.version().decode()
            parts += [self._one(_OPERATORS) + version, self._one([", ", " || ", " ", ",", "||"])]
        return "".join(parts[:-1]).encode()

    def json(self) -> bytes:
        """A JSON text, or nearly one."""
        text = self._json(2)
        return (text[: self.random.randint(0, len(text))] if self._often(0.05) else text).encode()

    def _json(self, depth: int) -> str:
        choice = self.random.random() if depth else 0
        space = self._one(["", "", " ", "\n"])
        if choice < 0.4:
            return space + self._one(_JSON_SCALARS)
        inner = [self._json(depth - 1) for _ in range(self.random.randint(0, 3))]
        if choice < 0.7:
            return f"[{','.join(inner)}{space}]"
        names = [self._one(['"a"', '"b"', '"A"', '"é"', '""', '"a"', '"b c"', "a"]) for _ in inner]
        return "{" + ", ".join(f"{name}:{value}" for name, value in zip(names, inner, strict=True)) + "}"

    def url(self) -> bytes:
        """A URL, or nearly one."""
        parts = (_SCHEMES, _AUTHORITIES, _URL_PATHS, _QUERIES, _FRAGMENTS)
        return "".join(self._one(part) for part in parts).encode()

    def number(self) -> str:
        """A number in one of Go's forms, or nearly one; never a code point that only a newer Unicode assigns."""
        return next(number for number in iter(self._number, None) if not _is_unassigned(number))

    def _number(self) -> str:
        choice = self.random.random()
        if choice < 0.35:
            return str(self._one([1, -1]) * self.random.randint(0, self._one([1, 10, 300, 70000, 1 << 33, 1 << 64])))
        if choice < 0.6:
            return self._decimal()
        forms = [("0x", "19aF_"), ("0X", "0fE"), ("0b", "01_"), ("0o", "017_"), ("0", "0178_"), ("", "019_")]
        prefix, digits = self._one(forms)
        sign = self._one(["", "", "", "-", "+"])
        fraction = self._one(["", ".", ".8"] if self._often(0.2) else [""])
        return f"{sign}{prefix}{self._some(digits, 1, 4)}{fraction}{self._one(_SUFFIXES)}"

    def _decimal(self) -> str:
        number = self.random.choice([-1, 1]) * self.random.random() * 10 ** self.random.randint(-9, 23)
        places = self.random.randint(1, 17)
        form = self._one([f"{number:.{places}g}", f"{number:.{places}f}", f"{number:.{places}e}", repr(number)])
        return form if self._often(0.8) else form.upper()

    def character(self) -> str:
        """A character constant, or nearly one."""
        kind = self._one([_ESCAPED, _CHARACTERS, _STRANGE, ["", "ab", "'", "\\'"]])
        return f"'{self._one(kind)}'"

    def escaped(self) -> str:
        """A string of escapes, some of them invalid."""
        return '"' + self._some([*_ESCAPED[:13], "a", "é"] if self._often(0.8) else _ESCAPED, 0, 4) + '"'


_MAKERS: Mapping[str, Callable[[Values], bytes]] = {
    "C": Values.constraint, "D": Values.duration, "E": Values.separator, "H": Values.url, "N": Values.json,
    "O": Values.path, "P": Values.replacement, "Q": Values.words, "R": Values.expression, "S": Values.string,
    "V": Values.version, "X": Values.layout, "Y": Values.layout,
}  # fmt: skip
