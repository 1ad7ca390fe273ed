"""The position automata of expressions (Glushkov's construction), over an alphabet of the characters of valid keys.

A valid key begins with `/`, and has no dot segments and no control characters. A *symbol* stands for all characters
that the expressions of a proof treat alike. Assertions look at the *gaps* between characters. All of these are plain
integers, because they are parts of search states, and members of an `Enum` are slow to hash.

Each place in the expression that reads a character is a *position*; a set of positions is an integer with a bit for
each. Which positions may follow each other can depend on the assertions between them, so there is a table of
transitions for each combination of assertions, made when it is first needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, reduce
from itertools import accumulate, pairwise
from operator import and_, itemgetter, or_, xor
from string import ascii_lowercase, ascii_uppercase, digits
from typing import NamedTuple, assert_never

from gotemplate.limits import DEEPEST_GROUPS, LONGEST_KEY, MOST_POSITIONS, STEPS_PER_LIST, STEPS_PER_QUESTION
from gotemplate.regexp import classes, syntax
from gotemplate.regexp.classes import WORD, Ranges, contains, difference, listed
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import AnyOf, AssertionKind


class Unproved(Exception):
    """A question without an answer; the text gives the reason, without a full stop."""


class Unsupported(Unproved):
    """An expression, or a part of one, cannot be treated exactly."""


class Exhausted(Unproved):
    """A budget is used up."""


class OnlyOverlong(Unproved):
    """All answers are longer than keys: no client asks for one, but a program may make one, so nothing is proved."""


class Budget:
    """A number of steps that are left to spend; a step takes a few microseconds."""

    def __init__(self, steps: int = STEPS_PER_QUESTION, whole: Budget | None = None) -> None:
        self.left = steps
        self._whole = whole

    def spend(self, steps: int) -> None:
        """Takes steps from this budget and its parent; raises `Exhausted` if too few are left."""
        self.left -= steps
        if self.left < 0:
            raise Exhausted("the proof would take too long")
        if self._whole is not None:
            self._whole.spend(steps)

    def portion(self, most: int = STEPS_PER_LIST) -> Budget:
        """Returns a budget for one of many questions, which also spends from this one."""
        return Budget(min(most, self.left), self)


FORBIDDEN_CHARACTERS: Ranges = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF))
"""Control characters and surrogates, which no key may contain."""

KEY_CHARACTERS = classes.complement(FORBIDDEN_CHARACTERS)  # the characters that a key may contain

SLASH, DOT, OTHER, FORBIDDEN = range(4)  # the roles of characters in a path

START, SEGMENT_START, ONE_DOT, TWO_DOTS, IN_SEGMENT, DEAD = range(6)
"""The states of an automaton that accepts valid paths: before the leading slash, at the start of a segment, after
`.` or `..` at the start of one, elsewhere in a segment, and the dead state of invalid paths."""

PATH_TRANSITIONS = (
    (SEGMENT_START, DEAD, DEAD, DEAD),
    (SEGMENT_START, ONE_DOT, IN_SEGMENT, DEAD),
    (DEAD, TWO_DOTS, IN_SEGMENT, DEAD),
    (DEAD, IN_SEGMENT, IN_SEGMENT, DEAD),
    (SEGMENT_START, IN_SEGMENT, IN_SEGMENT, DEAD),
    (DEAD, DEAD, DEAD, DEAD),
)
"""The next state, by state and by the role of the next character."""

# What makes a key invalid, found in one search.
_INVALID = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|/\.\.?(?:/|$)")
_PATH_ROLES = {"/": SLASH, ".": DOT}

FINAL_STATES = frozenset({SEGMENT_START, IN_SEGMENT})  # the states in which a valid key may end


@lru_cache(maxsize=4096)
def path_role(character: str) -> int:
    """Returns the role of a character in a path."""
    if character in _PATH_ROLES:
        return _PATH_ROLES[character]
    return FORBIDDEN if contains(FORBIDDEN_CHARACTERS, ord(character)) else OTHER


def is_valid_key(text: str) -> bool:
    """Whether a text is a valid key."""
    return text.startswith("/") and not _INVALID.search(text) and len(text.encode()) <= LONGEST_KEY


@lru_cache(maxsize=4096)
def allowed_characters(node: AnyOf) -> Ranges:
    """Returns the characters that a node matches and a key may contain."""
    return difference(classes.characters(node), FORBIDDEN_CHARACTERS)


@lru_cache(maxsize=4096)
def allowed_cases(character: str, *, folded: bool) -> Ranges:
    """Returns the characters that a literal character matches and a key may contain."""
    return difference(classes.cases(character, folded=folded), FORBIDDEN_CHARACTERS)


EDGE, OTHER_CHARACTER, WORD_CHARACTER = range(3)
r"""The sides of a gap: the end of the text, a character that `\w` does not match, or one that it matches."""

_START, _END, _BOUNDARY, _NO_BOUNDARY = 1, 2, 4, 8
ASSERTION_BITS = {
    AssertionKind.TEXT_START: _START,
    AssertionKind.LINE_START: _START,  # a key has no line ends, so it is one line
    AssertionKind.TEXT_END: _END,
    AssertionKind.LINE_END: _END,
    AssertionKind.WORD_BOUNDARY: _BOUNDARY,
    AssertionKind.NO_WORD_BOUNDARY: _NO_BOUNDARY,
}
"""A bit for each assertion; a set of assertions is an integer."""
WORD_BOUNDARIES = _BOUNDARY | _NO_BOUNDARY
r"""The assertions that depend on whether characters match `\w`."""

GAP_ASSERTIONS = (
    (_START | _NO_BOUNDARY | _END, _START | _NO_BOUNDARY, _START | _BOUNDARY),
    (_NO_BOUNDARY | _END, _NO_BOUNDARY, _BOUNDARY),
    (_BOUNDARY | _END, _BOUNDARY, _NO_BOUNDARY),
)
"""The assertions that hold in a gap, by the sides before and after it."""


@lru_cache(maxsize=4096)
def side(character: str) -> int:
    """Returns the side of a gap that a character forms."""
    return WORD_CHARACTER if contains(WORD, ord(character)) else OTHER_CHARACTER


# The characters that read best in examples, best first; the others follow by code point.
_READABLE = ascii_lowercase + digits + ascii_uppercase + "-_/.~+,=@:!$&'()*;% #?[]{}|^`\"<>\\"
_UNRANKED = len(_READABLE)
_RANKS = [_READABLE.index(each) if each in _READABLE else _UNRANKED + ord(each) for each in map(chr, range(128))]
_BASE = (KEY_CHARACTERS, listed("/"), listed("."))


class KeySymbol(NamedTuple):
    """All characters in the same sets, a bit of `readers` for each; `character` reads best, `size` is in bytes."""

    character: str
    readers: int
    size: int
    path_role: int
    side: int


@lru_cache(maxsize=4096)
def most_readable(ranges: Ranges) -> str | None:
    """Returns the character of a set that reads best in an example; None if the set is empty."""
    return _character_at(min(_rank(first, last) for first, last in ranges)) if ranges else None


@lru_cache(maxsize=1024)
def symbols(sets: tuple[Ranges, ...], *, words: bool) -> tuple[KeySymbol, ...]:
    r"""Returns the symbols of some sets, readable ones first; `words` distinguishes the characters of `\w`."""
    # The code points at which some sets begin or end, each with a bit for every such set.
    changes: dict[int, int] = {0: 0}
    for index, each in enumerate([*sets, *_BASE, *((WORD,) if words else ())]):
        for first, last in each:
            changes[first] = changes.get(first, 0) ^ 1 << index
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << index
    borders = sorted(changes)
    members = accumulate((changes[border] for border in borders), xor)
    real = 1 << len(sets)
    best: dict[int, int] = {}  # by sets: the rank of their most readable character
    readable: list[KeySymbol] = []
    for (border, following), signature in zip(pairwise(borders), members, strict=False):
        if signature & real:
            rank = _rank(border, following - 1)
            best[signature] = min(rank, best.get(signature, rank))
    for signature, rank in sorted(best.items(), key=itemgetter(1)):
        character = _character_at(rank)
        beside = side(character) if words else OTHER_CHARACTER
        readers, size = signature & (real - 1), len(character.encode())
        readable.append(KeySymbol(character, readers, size, path_role(character), beside))
    return tuple(readable)


def _rank(first: int, last: int) -> int:
    """Returns the rank of the most readable character in a range."""
    return min(_RANKS[first : last + 1], default=_UNRANKED + first)


def _character_at(rank: int) -> str:
    return _READABLE[rank] if rank < _UNRANKED else chr(rank - _UNRANKED)


class Fragment(NamedTuple):
    """A part of an automaton: whether it matches the empty text, and its first and last positions."""

    nullable: bool
    first: int
    last: int

    def matches_after(self, held: int) -> bool:
        """Whether a match of it ends in the gap after one of some positions."""
        return self.nullable or held & self.last != 0


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
            complete |= (loops and self.sets[position] == KEY_CHARACTERS) << position
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
        words = (WORD_CHARACTER,) if self.assertions & WORD_BOUNDARIES else ()
        return (OTHER_CHARACTER, *words)


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
                return self.positions([allowed_cases(each, folded=node.folded) for each in node.characters])
            case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
                return self.positions([allowed_characters(node)])
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
    return key if is_valid_key(key) else None


def _text(node: syntax.Node) -> str | None:  # noqa: PLR0911 - one case for each kind of node
    """Returns a short text that a node matches, without regard to assertions; None if no key can contain one."""
    match node:
        case syntax.Text():
            characters = [allowed_cases(each, folded=node.folded) for each in node.characters]
            return _joined([most_readable(each) for each in characters])
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
            return most_readable(allowed_characters(node))
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
