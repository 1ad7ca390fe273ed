"""Expressions, texts and templates made at random: most of them valid, many of them strange."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Characters that Unicode 16 and 17 brought, or gave another case or category.
_NEW_CHARACTERS = "ƛ\ua7dc\u0295\U00010d50\U00010d70\u1c89\u1c8a"
_CHARACTERS = "abABkKsS01 /._-éÉ\u212aſ中ǅ\n\t\x00\x7f\u2028ßẞΐ\u1fd3ﬅﬆ\U0001e900\ufffdΩµμ\u0345ι"
_COMMON = "abABkKsS01 /._"
_PLACES = ["^", "$", r"\A", r"\z", r"\b", r"\B", "."]
_CLASSES = [
    *(r"\d", r"\D", r"\w", r"\W", r"\s", r"\S", r"\pL", r"\PL", r"\pN", r"\pZ", r"\pP", r"\PC", r"\pm"),
    *(r"\p{Greek}", r"\p{greek}", r"\P{Lu}", r"\p{^Ll}", r"\p{Letter}", r"\p{upper case letter}", r"\p{Cn}"),
    *(r"\p{LC}", r"\p{any}", r"\p{ASCII}", r"\p{Assigned}", r"\P{Mn}", r"\p{Latin}", r"\p{Upper}", r"\p{^}"),
]
_NEW_CLASSES = [r"\p{Old_Italic}", r"\p{old italic}", r"\p{Garay}"]
_ESCAPES = [
    *(r"\x41", r"\x{e9}", r"\x{10ffff}", r"\x{fffd}", r"\x{d800}", r"\012", r"\0", r"\101", r"\7", r"\377", r"\777"),
    *(r"\n", r"\t", r"\.", r"\/", r"\_", r"\-", "\\ ", r"\\", r"\*", r"\Qa.b\E", r"\Q\E", r"\QK*", r"\C", r"\Z", r"\é"),
    *(r"\1", r"\e", r"\x{110000}", "{", "}", "]", "{,2}", "{2", "-", "&", "#", ","),
]
_POSIX = [
    "[:alpha:]",
    "[:^alpha:]",
    "[:word:]",
    "[:^space:]",
    "[:ascii:]",
    "[:foo:]",
    "[:lower:]",
    "[:^upper:]",
    "[:punct:]",
]
_IN_CLASSES = ["-", "[", "^", "&&", "--", "|", ":", ".", "*", "(", r"\]", r"\-", r"\^", r"\x{e9}-\x{10d60}", r"\b"]
_REPETITIONS = [
    *("*", "+", "?", "*?", "+?", "??", "{2}", "{0}", "{1,2}", "{0,1}", "{2,}", "{0,}", "{0,0}", "{2,3}?"),
    *("{0}?", "{1}", "{3,2}", "{1001}", "{1000}", "{40}", "{26}", "{01}", "++", "*+", "**", "{2}{3}"),
]
_GROUPS = [
    *("(", "(", "(?:", "(?P<n>", "(?<n>", "(?P<m_1>", "(?P<1>", "(?i:", "(?s:", "(?m:", "(?U:", "(?-i:", "(?im:"),
    *("(?=", "(?!", "(?<=", "(?<!", "(?>", "(?P=n)", "(?<é>", "(?P<n.1>", "(?#", "(?x:", "(?-:", "(?i-:", "(?i-i:"),
]
_FLAGS = ["(?i)", "(?s)", "(?m)", "(?U)", "(?-i)", "(?i-s)", "(?)", "(?ii)", "(?-)", "(?x)", "(?sm)"]
_REFERENCES = [
    *("$1", "$0", "${1}", "$n", "${n}", "$n_", "$$", "$", "${1", "$1x", "${m_1}", "$2", "${n.1}", "$01", "${01}"),
    *("$9999999999", "{", "}", "${}", "$é", "$\u0663", "$_", "x", "é", " "),
]


@dataclass
class Generator:
    """Generated cases; `new` is whether Unicode 17 is known, `recorded` are expressions to change at random."""

    random: random.Random
    new: bool
    recorded: Sequence[str]
    characters: str = field(init=False)
    atoms: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.characters = _CHARACTERS + (_NEW_CHARACTERS if self.new else "")
        self.atoms = [*self.characters, *_PLACES, *_CLASSES, *_ESCAPES, *(_NEW_CLASSES if self.new else [])]

    def cases(self, count: int) -> Iterator[tuple[str, bytes, str]]:
        """So many expressions, each with a text and a template."""
        for _ in range(count):
            yield self._any_expression()[:300], self._text(), self._template()

    def _any_expression(self) -> str:
        choice = self.random.random()
        if choice < 0.6:
            return self._expression()
        recorded = self.random.choice(self.recorded)
        return self._changed(recorded) if choice < 0.95 else recorded

    def _expression(self, depth: int = 0) -> str:
        parts = []
        for _ in range(self.random.randint(0 if depth else 1, 4)):
            parts.append(self._operand(depth))
            if self.random.random() < 0.3:
                parts.append(self._usual(_REPETITIONS, 14))
        return "".join(parts)

    def _operand(self, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.45:
            return self.random.choice(_COMMON if choice < 0.22 else self.atoms)
        if choice < 0.6:
            return self._class()
        if choice < 0.82 and depth < 4:
            return self._usual(_GROUPS, 13) + self._expression(depth + 1) + (")" if self.random.random() < 0.98 else "")
        if choice < 0.88:
            return self._usual(_FLAGS, 8)
        return "|" if choice < 0.95 else self.random.choice(self.atoms)

    def _usual(self, choices: Sequence[str], usual: int) -> str:
        """One of the first, mostly; the others are mostly mistakes."""
        return self.random.choice(choices if self.random.random() < 0.3 else choices[:usual])

    def _class(self) -> str:
        items = [self._class_item() for _ in range(self.random.randint(1, 4))]
        negation = "^" if self.random.random() < 0.3 else ""
        return f"[{negation}{''.join(items)}" + ("]" if self.random.random() < 0.95 else "")

    def _class_item(self) -> str:
        choice = self.random.random()
        if choice < 0.4:
            return self.random.choice(self.characters)
        if choice < 0.6:
            low, high = sorted(self.random.choices(self.characters, k=2))
            return f"{low}-{high}" if self.random.random() < 0.9 else f"{high}-{low}"
        return self.random.choice([_POSIX, _CLASSES, _CLASSES, _IN_CLASSES][int((choice - 0.6) * 10)])

    def _changed(self, expression: str) -> str:
        characters = list(expression)
        for _ in range(self.random.randint(1, 3)):
            place = self.random.randrange(len(characters) + 1)
            if self.random.random() < 0.4:
                del characters[place : place + 1]
            else:
                characters[place:place] = self.random.choice(
                    [*"()[]{}*+?|^$.\\-:<>P=!,0123iabsmU", *self.atoms, *_REPETITIONS, *_FLAGS]
                )
        return "".join(characters)

    def _text(self) -> bytes:
        text = "".join(self.random.choices(_COMMON + self.characters, k=self.random.randint(0, 7))).encode()
        if self.random.random() < 0.95:
            return text
        return bytes(self.random.choices([*text, 0xFF, 0x80, 0xE2, 0xED, 0xA0], k=len(text) + 1))

    def _template(self) -> str:
        return "".join(self.random.choices(_REFERENCES, k=self.random.randint(0, 4)))
