"""The position automaton of an expression (Glushkov's construction), and the language of valid keys that it matches.

Each place in the expression that reads a character is a *position*; a set of positions is an integer with a bit for
each. Which positions may follow each other can depend on the assertions between them, so there is a table of
transitions for each combination of assertions, made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import and_, or_
from typing import NamedTuple, assert_never

from gotemplate.limits import DEEPEST_GROUPS, MOST_POSITIONS
from gotemplate.regexp import alphabet, syntax
from gotemplate.regexp.alphabet import ASSERTION_BITS, EDGE, GAP_ASSERTIONS, Unsupported, most_readable
from gotemplate.regexp.classes import Ranges
from gotemplate.regexp.parser import parse


class Fragment(NamedTuple):
    """A part of an automaton: whether it matches the empty text, and its first and last positions."""

    nullable: bool
    first: int
    last: int

    def matches_after(self, held: int) -> bool:
        """Whether a match of it ends in the gap after one of some positions."""
        return self.nullable or held & self.last != 0

    def shifted(self, shift: int) -> Fragment:
        """Returns it for positions that are counted from a higher one."""
        return Fragment(self.nullable, self.first << shift, self.last << shift)


_EMPTY = Fragment(True, 0, 0)
NEVER = Fragment(False, 0, 0)


def either(one: Fragment, other: Fragment) -> Fragment:
    """Returns two alternatives."""
    return Fragment(one.nullable or other.nullable, one.first | other.first, one.last | other.last)


class Transitions(NamedTuple):
    """The transitions of an automaton across a gap: the whole expression, and which positions follow each other."""

    whole: Fragment
    follow: list[int]


class Automaton:
    """The positions of an expression and their transitions; raises `Unsupported`."""

    def __init__(self, tree: syntax.Node) -> None:
        self.tree = tree
        kinds = (each.kind for each in syntax.walk(tree) if isinstance(each, syntax.Assertion))
        self.assertions = reduce(or_, (ASSERTION_BITS[kind] for kind in kinds), 0)
        builder = _TableBuilder(0)
        self._tables = {0: builder.table(tree)}
        self.sets = tuple(builder.sets)  # the characters that each position reads

    @cached_property
    def literal_prefix(self) -> str:
        """The text with which all matching keys begin, or `""`. Position N of the automaton reads character N."""
        return syntax.literal_edge(self.tree, syntax.STARTS, folds=False)

    @cached_property
    def positions_by_set(self) -> Mapping[Ranges, int]:
        """The positions by the set of characters that they read."""
        positions: dict[Ranges, int] = {}
        for position, each in enumerate(self.sets):
            positions[each] = positions.get(each, 0) | 1 << position
        return positions

    def table(self, assertions: int) -> Transitions:
        """Returns the transitions across a gap where some assertions hold."""
        seen = assertions & self.assertions
        if seen not in self._tables:
            self._tables[seen] = _TableBuilder(seen).table(self.tree)
        return self._tables[seen]

    @cached_property
    def may_start_later(self) -> bool:
        """Whether a match may begin after the first character of a key."""
        return any(table.whole.first or table.whole.nullable for table in (*self._inner_tables, *self._final_tables))

    @cached_property
    def certain(self) -> int:
        """The positions after which the expression matches, whatever follows."""
        last = reduce(and_, (table.whole.last for table in self._final_tables))
        complete = reduce(and_, (table.whole.last for table in self._inner_tables), last)
        for position in bits(last & ~complete):
            loops = all(each.follow[position] >> position & 1 for each in self._inner_tables)
            complete |= (loops and self.sets[position] == alphabet.KEY_CHARACTERS) << position
        return complete

    @cached_property
    def _inner_tables(self) -> list[Transitions]:
        """The transitions across gaps between two characters."""
        return [self.table(GAP_ASSERTIONS[before][after]) for before in self._sides for after in self._sides]

    @cached_property
    def _final_tables(self) -> list[Transitions]:
        """The transitions across gaps at the end of a key."""
        return [self.table(GAP_ASSERTIONS[before][EDGE]) for before in self._sides]

    @property
    def _sides(self) -> tuple[int, ...]:
        """The kinds of characters that it distinguishes beside a gap."""
        words = (alphabet.WORD_CHARACTER,) if self.assertions & alphabet.WORD_BOUNDARIES else ()
        return (alphabet.OTHER_CHARACTER, *words)


def bits(held: int) -> Iterator[int]:
    """Yields the positions in a set of positions."""
    while held:
        lowest = held & -held
        yield lowest.bit_length() - 1
        held ^= lowest


class _TableBuilder:
    """Builds the transitions for one combination of assertions; positions are in the order of the text."""

    def __init__(self, assertions: int) -> None:
        self.assertions = assertions
        self.sets: list[Ranges] = []
        self.follow: list[int] = []

    def table(self, tree: syntax.Node) -> Transitions:
        return Transitions(self.fragment(tree), self.follow)

    def fragment(self, node: syntax.Node) -> Fragment:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case syntax.Text():
                return self.positions([alphabet.allowed_cases(each, folded=node.folded) for each in node.characters])
            case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
                return self.positions([alphabet.allowed_characters(node)])
            case syntax.Sequence():
                return self.concatenation([self.fragment(part) for part in node.pieces])
            case syntax.Group():
                return self.fragment(node.body)
            case syntax.Repeat():
                return self.repetition(node)
            case syntax.Alternation():
                return reduce(either, map(self.fragment, node.branches), NEVER)
            case syntax.Assertion():
                return _EMPTY if self.assertions & ASSERTION_BITS[node.kind] else NEVER
            case syntax.FlagChange():
                return _EMPTY
            case _:
                assert_never(node)

    def positions(self, sets: list[Ranges]) -> Fragment:
        start, end = len(self.follow), len(self.follow) + len(sets)
        if end > MOST_POSITIONS:
            raise Unsupported(f"the expression has more than {MOST_POSITIONS} places that read a character")
        self.sets += sets
        self.follow += [1 << each for each in range(start + 1, end)]
        self.follow.append(0)
        return Fragment(False, 1 << start, 1 << end - 1)

    def concatenation(self, fragments: list[Fragment]) -> Fragment:
        """Returns the fragments in a row; joined from the right, where the last positions are fewer."""
        return reduce(lambda following, each: self.pair(each, following), reversed(fragments), _EMPTY)

    def pair(self, one: Fragment, other: Fragment) -> Fragment:
        self.link(one.last, other.first)
        return Fragment(
            one.nullable and other.nullable,
            one.first | other.first if one.nullable else one.first,
            one.last | other.last if other.nullable else other.last,
        )

    def repetition(self, node: syntax.Repeat) -> Fragment:
        """Returns copies of the body; the last one loops if there is no upper bound."""
        size = len(self.follow)
        times = max(node.least, 1) if node.most is None else node.most
        copies = [self.fragment(node.body)] if times else []
        if copies and len(self.follow) == size:  # it matches only the empty text
            return Fragment(copies[0].nullable or not node.least, 0, 0)
        copies += [self.fragment(node.body) for _ in range(times - 1)]
        if node.most is None:
            self.link(copies[-1].last, copies[-1].first)
        optional = _EMPTY
        for each in reversed(copies[node.least :]):
            optional = self.pair(each, optional)._replace(nullable=True)
        return self.concatenation([*copies[: node.least], optional])

    def link(self, last: int, first: int) -> None:
        """Lets each position of `first` follow each position of `last`."""
        for position in bits(last):
            self.follow[position] |= first


@dataclass(frozen=True)  # no slots: what most answers do not need is made when first asked for
class Language:
    """The valid keys that an expression matches; `objection` is why nothing is proved of one without a `tree`."""

    text: str
    tree: syntax.Node | None = field(compare=False, repr=False)
    objection: str = field(default="", compare=False, repr=False)

    @property
    def automaton(self) -> Automaton:
        """The automaton of the expression; raises `Unsupported`."""
        if isinstance(self._automaton_or_reason, str):
            raise Unsupported(self._automaton_or_reason)
        return self._automaton_or_reason

    @cached_property
    def _automaton_or_reason(self) -> Automaton | str:
        if self.tree is None:
            return self.objection
        try:
            return Automaton(self.tree)
        except Unsupported as error:
            return str(error)

    @cached_property
    def guess(self) -> str | None:
        """A short valid key that probably matches, made from the tree; None if the tree suggests none."""
        return guess(self.tree) if self.tree else None


def language(text: str) -> Language:
    """Returns the language of an expression, without a tree if Go refuses the text."""
    try:
        tree = parse(text).tree
    except syntax.PatternError as error:
        return Language(text, None, str(error))
    if syntax.fold(tree, lambda node, below: max(below, default=0) + isinstance(node, syntax.Group)) > DEEPEST_GROUPS:
        return Language(text, None, f"more than {DEEPEST_GROUPS} groups within each other")
    return Language(text, tree)


def guess(tree: syntax.Node) -> str | None:
    """Returns a short valid key that an expression may match; None if its tree suggests none."""
    text = _text(tree)
    if text is None:
        return None
    key = text if text.startswith("/") else f"/{text}"
    return key if alphabet.is_valid_key(key) else None


def _text(node: syntax.Node) -> str | None:  # noqa: PLR0911 - one case for each kind of node
    """Returns a short text that a node matches, without regard to assertions; None if no key can contain one."""
    match node:
        case syntax.Text():
            characters = [alphabet.allowed_cases(each, folded=node.folded) for each in node.characters]
            return _joined([most_readable(each) for each in characters])
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
            return most_readable(alphabet.allowed_characters(node))
        case syntax.Sequence():
            return _joined([_text(part) for part in node.pieces])
        case syntax.Group():
            return _text(node.body)
        case syntax.Repeat():
            text = _text(node.body) if node.least else ""
            return text and text * node.least
        case syntax.Alternation():
            texts = [_text(branch) for branch in node.branches]
            return next((each for each in texts if each is not None), None)
        case syntax.Assertion() | syntax.FlagChange():
            return ""
        case _:
            assert_never(node)


def _joined(texts: list[str | None]) -> str | None:
    return None if None in texts else "".join(each or "" for each in texts)
