"""Texts with references to the groups of a match: `$name`, `${name}`, `$1` and `$$` (Go's Regexp.Expand)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Self

from gotemplate.regexp.matching import Captures

Reference = tuple[str, int, int]  # a group that a template names, with its start and end (code points) in the text


_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")


@dataclass(frozen=True, slots=True)
class Expansion:
    """A text with references: its `opening` before the first one, and each with the text after it."""

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    opening: str = field(compare=False, repr=False)
    holes: tuple[tuple[str | int, str], ...] = field(compare=False, repr=False)

    @classmethod
    def read(cls, text: str) -> Self:
        """Reads any text: what is no reference is written as it is."""
        references: list[Reference] = []
        literals, position = [""], 0
        for reference in _REFERENCE.finditer(text):
            literals[-1] += text[position : reference.start()]
            position = reference.end()
            word = reference[1] or reference[2] or ""
            # Python's `\w` has more kinds of numbers than Go's names.
            name = "".join(takewhile(lambda char: char.isalpha() or char.isdecimal() or char == "_", word))
            if reference[0] == "$$":
                literals[-1] += "$"
            elif not name or (reference[2] and name != word):
                literals[-1] += reference[0]
            else:
                position -= len(word) - len(name)
                references.append((name, reference.start(), position))
                literals.append("")
        literals[-1] += text[position:]
        numbers = [(group_number(name), name) for name, _, _ in references]
        groups = [name if number is None else number for number, name in numbers]
        return cls(text, tuple(references), literals[0], tuple(zip(groups, literals[1:], strict=True)))

    def expand(self, captures: Captures, _data: object = None) -> str:
        """Returns the text with the groups of a match, untrimmed; a group that took no part is empty."""
        groups, count = captures.groups, len(captures.groups)
        pieces = [self.opening]
        for reference, following in self.holes:
            # A name may stand for several groups; the match decides which one has it.
            number = reference if isinstance(reference, int) else captures.names.get(reference, count)
            pieces.append((groups[number] or "") if number < count else "")
            pieces.append(following)
        return "".join(pieces)


_LONGEST_NUMBER = 9  # digits; to Go, more of them are a name


def group_number(reference: str) -> int | None:
    """Returns the number of a reference in digits without leading zeros; None if it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > _LONGEST_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None
