"""The position automaton of an expression (Glushkov's construction).

Each place in the expression that reads a character is a *position*; a set of positions is an integer with a bit for
each. Which positions may follow each other can depend on the assertions between them, so there is a table of
transitions for each combination of assertions, made when it is first needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property, reduce
from operator import and_, or_
from typing import NamedTuple, assert_never

from tornado_proxy.golang.regexp import alphabet, syntax
from tornado_proxy.golang.regexp.alphabet import ASSERTION_BITS, EDGE, GAP_ASSERTIONS, Unsupported, gaps
from tornado_proxy.golang.regexp.classes import Ranges, contains

MOST_POSITIONS = 2000  # the most positions of one expression: enough for the 1,000 repetitions that RE2 allows


class Atom(NamedTuple):
    """A part of the outermost sequence, with groups opened; `end` is the offset after it and its closing `)`."""

    node: syntax.Node
    end: int

    @property
    def assertions(self) -> int:
        """The assertions in it."""
        nodes = syntax.walk(self.node)
        return reduce(or_, (ASSERTION_BITS[each.kind] for each in nodes if isinstance(each, syntax.Assertion)), 0)

    def split(self) -> Iterator[Atom]:
        """Yields its characters as atoms of their own if it is a text, and itself otherwise."""
        if not isinstance(self.node, syntax.Text):
            yield self
            return
        *before, last = self.node.split()
        yield from (Atom(each, each.extent.end) for each in before)
        yield Atom(last, self.end)


class Prefix(NamedTuple):
    """A prefix of the outermost sequence: whether it matches the empty text, and the last positions of its matches."""

    nullable: bool
    last: int

    def matches_after(self, held: int) -> bool:
        """Whether a match of it ends in the gap after one of some positions."""
        return self.nullable or held & self.last != 0


class Transitions(NamedTuple):
    """The transitions of an automaton across a gap; which positions come first, and which follow each other."""

    first: int
    follow: list[int]
    prefixes: tuple[Prefix, ...]  # the empty one, and one that ends after each atom

    def following(self, held: int) -> int:
        """Returns the positions that may read the next character after those in `held`."""
        positions = self.first
        for position in bits(held):
            positions |= self.follow[position]
        return positions


class Automaton:
    """The positions of an expression and their transitions; raises `Unsupported`."""

    def __init__(self, atoms: tuple[Atom, ...]) -> None:
        self.atoms = atoms
        self.assertions = reduce(or_, (each.assertions for each in atoms), 0)
        self._readers: dict[str, int] = {}
        builder = _TableBuilder(0)
        self._tables = {0: builder.table(atoms)}
        self.sets = tuple(builder.sets)  # the characters that each position reads

    @cached_property
    def literal_prefix(self) -> str:
        """The text with which all matching keys begin, or `""`. Position N of the automaton reads character N."""
        prefix = []
        anchored = False
        for node, _ in self.atoms:
            match node:
                case syntax.FlagChange():
                    continue
                case syntax.Assertion(kind=syntax.AssertionKind.TEXT_START | syntax.AssertionKind.LINE_START) if (
                    not anchored
                ):
                    anchored = True
                case syntax.Text(folded=False) if anchored:
                    prefix.append(node.characters)
                case _:
                    break
        return "".join(prefix)

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
            self._tables[seen] = _TableBuilder(seen).table(self.atoms)
        return self._tables[seen]

    def read(self, text: str) -> tuple[int, bool]:
        """Returns the positions after the start of a key that fits `literal_prefix`, and whether a match is certain."""
        start = min(len(text), len(self.literal_prefix))
        held = 1 << start >> 1
        complete = held & self.certain != 0
        for assertions, character in gaps(text, start):
            if character and not complete:
                table = self.table(assertions)
                complete = table.prefixes[-1].matches_after(held)
                held = table.following(held) & self.positions_reading(character)
                complete |= held & self.certain != 0
        return held, complete

    @cached_property
    def may_start_later(self) -> bool:
        """Whether a match may begin after the first character of a key."""
        return any(table.first or table.prefixes[-1].nullable for table in (*self._inner_tables, *self._final_tables))

    @cached_property
    def certain(self) -> int:
        """The positions after which the expression matches, whatever follows."""
        last = reduce(and_, (table.prefixes[-1].last for table in self._final_tables))
        complete = reduce(and_, (table.prefixes[-1].last for table in self._inner_tables), last)
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

    def positions_reading(self, character: str) -> int:
        """Returns the positions that read a character."""
        readers = self._readers.get(character)
        if readers is None:
            code = ord(character)
            readers = sum(positions for each, positions in self.positions_by_set.items() if contains(each, code))
            self._readers[character] = readers
        return readers


def atoms(node: syntax.Node, end: int | None = None) -> Iterator[Atom]:
    """Yields the pieces of an expression's outermost sequence, with nested sequences and groups opened."""
    match node:
        case syntax.Sequence(members) if members:
            for part in members[:-1]:
                yield from atoms(part)
            yield from atoms(members[-1], end)
        case syntax.Group():
            yield from atoms(node.body, end or node.extent.end)
        case _:
            yield Atom(node, end or node.extent.end)


def bits(held: int) -> Iterator[int]:
    """Yields the positions in a set of positions."""
    while held:
        lowest = held & -held
        yield lowest.bit_length() - 1
        held ^= lowest


class _Fragment(NamedTuple):
    """A part of an automaton: whether it matches the empty text, and its first and last positions."""

    nullable: bool
    first: int
    last: int


_EMPTY = _Fragment(True, 0, 0)
_NEVER = _Fragment(False, 0, 0)


class _TableBuilder:
    """Builds the transitions for one combination of assertions; positions are in the order of the text."""

    def __init__(self, assertions: int) -> None:
        self.assertions = assertions
        self.sets: list[Ranges] = []
        self.follow: list[int] = []

    def table(self, atoms: tuple[Atom, ...]) -> Transitions:
        fragments = [self.fragment(each.node) for each in atoms]
        whole = self.concatenation(fragments)
        prefixes = [Prefix(True, 0)]
        for nullable, _, last in fragments:
            before = prefixes[-1]
            prefixes.append(Prefix(before.nullable and nullable, last | before.last if nullable else last))
        return Transitions(whole.first, self.follow, tuple(prefixes))

    def fragment(self, node: syntax.Node) -> _Fragment:  # noqa: PLR0911 - one case for each kind of node
        match node:
            case syntax.Text():
                return self.positions([alphabet.allowed_cases(each, folded=node.folded) for each in node.characters])
            case syntax.BracketClass() | syntax.AnyCharacter() | syntax.PerlClass() | syntax.UnicodeClass():
                return self.positions([alphabet.allowed_characters(node)])
            case syntax.Sequence():
                return self.concatenation([self.fragment(part) for part in node.pieces])
            case syntax.Group():
                return self.fragment(node.body)
            case syntax.Repeat():
                return self.repetition(node)
            case syntax.Alternation():
                return self.alternation([self.fragment(branch) for branch in node.branches])
            case syntax.Assertion():
                return _EMPTY if self.assertions & ASSERTION_BITS[node.kind] else _NEVER
            case syntax.FlagChange():
                return _EMPTY
            case _:
                assert_never(node)

    def positions(self, sets: list[Ranges]) -> _Fragment:
        start, end = len(self.follow), len(self.follow) + len(sets)
        if end > MOST_POSITIONS:
            raise Unsupported(f"the expression has more than {MOST_POSITIONS} places that read a character")
        self.sets += sets
        self.follow += [1 << each for each in range(start + 1, end)]
        self.follow.append(0)
        return _Fragment(False, 1 << start, 1 << end - 1)

    def concatenation(self, fragments: list[_Fragment]) -> _Fragment:
        """Returns the fragments in a row; joined from the right, where the last positions are fewer."""
        return reduce(lambda following, each: self.pair(each, following), reversed(fragments), _EMPTY)

    def pair(self, one: _Fragment, other: _Fragment) -> _Fragment:
        self.link(one.last, other.first)
        return _Fragment(
            one.nullable and other.nullable,
            one.first | other.first if one.nullable else one.first,
            one.last | other.last if other.nullable else other.last,
        )

    def alternation(self, fragments: list[_Fragment]) -> _Fragment:
        nullable, first, last = False, 0, 0
        for each in fragments:
            nullable, first, last = nullable or each.nullable, first | each.first, last | each.last
        return _Fragment(nullable, first, last)

    def repetition(self, node: syntax.Repeat) -> _Fragment:
        """Returns copies of the body; the last one loops if there is no upper bound."""
        size = len(self.follow)
        times = max(node.least, 1) if node.most is None else node.most
        copies = [self.fragment(node.body)] if times else []
        if copies and len(self.follow) == size:  # it matches only the empty text
            return _Fragment(copies[0].nullable or not node.least, 0, 0)
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
