"""Plain templates: `$name`, `${name}`, `$1` and `$$`, exactly as Go's Regexp.Expand reads them.

The longest run of letters, digits and underscores is the name; one of digits only is a number. A group that does not
exist or took no part is empty. A `$` that begins none of these stands for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.template import TargetKeyRewriteData, group_number

Reference = tuple[str, int, int]


@dataclass(frozen=True, slots=True)
class PlainTemplate:
    """A plain template, taken apart once: the text before the first reference, then each reference and what follows.

    A reference by name is looked up at each match: where a name stands twice, the match decides which group it is.
    """

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    _opening: str = field(compare=False, repr=False)
    _holes: tuple[tuple[str | int, str], ...] = field(compare=False, repr=False)

    @property
    def reads_user(self) -> bool:
        """Never: a plain template knows groups only."""
        return False

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:  # noqa: ARG002 - the protocol's signature
        """The text with the groups of one match in it, untrimmed."""
        return self.expand(captures)

    def expand(self, captures: Captures) -> str:
        """The same for those who have a match and no request."""
        groups, count = captures.groups, len(captures.groups)
        pieces = [self._opening]
        for reference, following in self._holes:
            number = reference if isinstance(reference, int) else captures.names.get(reference, count)
            pieces.append((groups[number] or "") if number < count else "")
            pieces.append(following)
        return "".join(pieces)


def compile_template(
    text: str,
    names: Mapping[str, int],  # noqa: ARG001 - the same signature in every dialect
    group_count: int,  # noqa: ARG001 - the same
) -> PlainTemplate:
    """The template of a text; every text is one, and names of groups that do not exist are empty."""
    references = []
    literals = [""]
    for part in _scan(text):
        if isinstance(part, str):
            literals[-1] += part
        else:
            references.append(part)
            literals.append("")
    numbers = (group_number(name) for name, _, _ in references)
    groups = (name if number is None else number for (name, _, _), number in zip(references, numbers, strict=True))
    holes = zip(groups, literals[1:], strict=True)
    return PlainTemplate(text, tuple(references), literals[0], tuple(holes))


def _scan(text: str) -> Iterator[str | Reference]:
    """Literal text, and references with their places."""
    position = 0
    while (dollar := text.find("$", position)) >= 0:
        yield text[position:dollar]
        if text.startswith("$", dollar + 1):
            yield "$"
            position = dollar + 2
        elif (reference := _reference(text, dollar)) is None:
            yield "$"
            position = dollar + 1
        else:
            yield reference
            position = reference[2]
    yield text[position:]


def _reference(text: str, dollar: int) -> Reference | None:
    """The reference that begins at a dollar sign, if one does."""
    braced = text.startswith("{", dollar + 1)
    start = end = dollar + 1 + braced
    while end < len(text) and _is_name_character(text[end]):
        end += 1
    if end == start or (braced and not text.startswith("}", end)):
        return None
    return text[start:end], dollar, end + braced


def _is_name_character(character: str) -> bool:
    """Whether Go has it for a letter or a digit, as far as Python's Unicode goes, or it is an underscore."""
    return character.isalpha() or character.isdecimal() or character == "_"
