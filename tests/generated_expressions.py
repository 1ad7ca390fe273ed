"""Random regular expressions, texts and templates, mostly valid and often unusual."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

# Characters that are new in Unicode 16 and 17, or have another case or category there.
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
    "[:alpha:]", "[:^alpha:]", "[:word:]", "[:^space:]", "[:ascii:]", "[:foo:]", "[:lower:]", "[:^upper:]",
    "[:punct:]",
]  # fmt: skip
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


# The parts of expressions with few letters, which match in many ways.
_SMALL_ATOMS = [
    "a", "b", "A", ".", "[ab]", "[^a]", "", "^", "$", r"\b", r"\B", r"\A", r"\z", r"\w", r"\W", "é", "É", "k", "s",
    "\n", r"\Qab\E", r"\Qa", r"[[:^lower:]]", r"\pL", r"\PL", r"[\PLa]", "[^\\W]", "[a-zé-ü]", "ſ", "\u212a", "[^k]",
    "[^S-ſ]",
]  # fmt: skip
_SMALL_REPETITIONS = ["*", "+", "?", "*?", "+?", "??", "{0,}", "{1,2}", "{2}", "{0,1}?", "{2,}", "{0}", "{1,}?"]
_SMALL_GROUPS = ["(", "(?:", "(?P<n>", "(?<n>", "(?i:", "(?m:", "(?s:", "(?U:", "(?-i:", "(?im-s:", "(?P<m>"]
_SMALL_TEXT = "abAB\n éÉkKsS\u212aſ1_.a"


@dataclass
class Generator:
    """A generator of cases.

    `new` is whether Go knows Unicode 17; `recorded` are expressions to change at random, and `classes` the names of
    Unicode's classes.
    """

    random: random.Random
    new: bool
    recorded: Sequence[str]
    classes: Sequence[str]
    characters: str = field(init=False)
    atoms: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.characters = _CHARACTERS + (_NEW_CHARACTERS if self.new else "")
        self.atoms = [*self.characters, *_PLACES, *_CLASSES, *_ESCAPES, *(_NEW_CLASSES if self.new else [])]

    def cases(self, count: int) -> Iterator[tuple[str, bytes, str]]:
        """Yields `count` expressions, each with a text and a template."""
        for _ in range(count):
            choice = self.random.random()
            if choice < 0.25:
                yield self._small(), self._small_text(), self._template()
            elif choice < 0.35:
                yield self._of_classes(), self._any_character(), self._template()
            else:
                expression = self._any_expression()[:300]
                text = self._text() if choice < 0.75 else self._text_like(expression)
                yield expression, text, self._template()

    def _small(self, depth: int = 3) -> str:
        """An expression with few letters and many operators."""
        choice = self.random.random()
        if depth == 0 or choice < 0.25:
            return self.random.choice(_SMALL_ATOMS)
        if choice < 0.45:
            return self._small(depth - 1) + self._small(depth - 1)
        if choice < 0.6:
            return f"{self._small(depth - 1)}|{self._small(depth - 1)}"
        if choice < 0.65:
            return self.random.choice(_FLAGS[:7]) + self._small(depth - 1)
        group = self.random.choice(_SMALL_GROUPS) + self._small(depth - 1) + ")"
        return group + (self.random.choice(_SMALL_REPETITIONS) if choice < 0.85 else "")

    def _small_text(self) -> bytes:
        return "".join(self.random.choices(_SMALL_TEXT, k=self.random.randint(0, 9))).encode()

    def _of_classes(self) -> str:
        """Unicode's classes in all spellings, alone and in brackets."""
        parts = [self._property() for _ in range(self.random.randint(1, 3))]
        if self.random.random() < 0.5:
            parts = [f"[{self.random.choice(['', '^'])}{''.join(parts)}{self.random.choice(['', 'a', 'k-s', '-'])}]"]
        flag = self.random.choice(["", "(?i)", "(?s)", "(?U)"])
        opening, closing = self.random.choice([("", ""), ("(", ")"), ("^(?:", ")+"), ("", "*"), ("(?P<n>", ")?")])
        return flag + opening + "".join(parts) + closing

    def _property(self) -> str:
        name = self.random.choice(self.classes)
        spelling = self.random.choice([name, name.lower(), name.upper(), name.replace("_", " "), name.replace("_", "")])
        caret = "^" if self.random.random() < 0.1 else ""
        return f"\\{self.random.choice('pP')}{{{caret}{name if self.random.random() < 0.6 else spelling}}}"

    def _any_character(self) -> bytes:
        """A text of characters from any script."""
        codes = [self.random.choice([0x80, 0x500, 0x3000, 0x11000, 0x20000]) for _ in range(self.random.randint(1, 4))]
        drawn = [self.random.randrange(code) for code in codes]
        return "".join(chr(code) for code in drawn if not 0xD800 <= code < 0xE000).encode()

    def _text_like(self, expression: str) -> bytes:
        """A text of the expression's characters, in upper or lower case."""
        text = "".join(self.random.choices(expression + "a\n", k=self.random.randint(0, 9)))
        return self.random.choice([text, text, text.upper(), text.lower(), text.swapcase()]).encode()

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
        """Mostly one of the first `usual` choices, as most others are mistakes."""
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
