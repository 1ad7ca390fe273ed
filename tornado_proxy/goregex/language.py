"""The language of a source: the real keys in which it is found, a guess at one, and how far into it a key gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import assert_never

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.alphabet import Budget, Unsupported, everyday, gaps, is_real, readable, readable_cases
from tornado_proxy.goregex.automaton import Atom, Automaton, atoms
from tornado_proxy.goregex.parser import parse

DEEPEST = 60
"""Groups within groups; beyond, the recursion over a tree would come near Python's own limit."""


@dataclass(frozen=True)  # no slots: what most answers do not need is made when first asked for
class Language:
    """The real keys in which an expression is found.

    Nothing can be proved of one without a `tree`; its `objection` says why.
    """

    text: str
    tree: syntax.Node | None = field(compare=False, repr=False)
    objection: str = field(default="", compare=False, repr=False)

    @property
    def automaton(self) -> Automaton:
        """What finds its keys; raises `Unsupported`."""
        if isinstance(self._made, str):
            raise Unsupported(self._made)
        return self._made

    @cached_property
    def _made(self) -> Automaton | str:
        """The automaton, or why there is none."""
        if self.tree is None:
            return self.objection
        try:
            return Automaton(self.atoms)
        except Unsupported as error:
            return str(error)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The parts of its expression's outermost sequence; none without a tree."""
        return tuple(atoms(self.tree)) if self.tree else ()

    @cached_property
    def guess(self) -> str | None:
        """A short real key that it probably has, read off the tree; None where the tree suggests none."""
        return guess(self.tree) if self.tree else None

    def finds(self, key: str, budget: Budget | None = None) -> bool:
        """Whether its expression is found in a key, real or not, that begins with `/`.

        Raises `Unsupported`, and `Exhausted` where it has a budget and that is used up.
        """
        made = self.automaton
        if not key.startswith(made.opening):
            return False
        start = len(made.opening)
        held = 1 << start >> 1
        for holding, character in gaps(key, start):
            table = made.table(holding)
            if table.stages[-1].ended(held):
                return True
            if budget:
                budget.spend(1 + held.bit_count() // 8)
            if character:
                held = table.heading(held) & made.readers(character)
        return False


def language(text: str) -> Language:
    """The language of an expression; nothing can be proved of it where Go refuses the text."""
    try:
        tree = parse(text).tree
    except syntax.PatternError as error:
        return Language(text, None, str(error))
    # A text with few parentheses cannot be deep.
    if text.count("(") > DEEPEST and syntax.fold(tree, _group_depth) > DEEPEST:
        return Language(text, None, f"more than {DEEPEST} groups within each other")
    return Language(text, tree)


def _group_depth(node: syntax.Node, below: list[int]) -> int:
    return max(below, default=0) + isinstance(node, syntax.Group)


def guess(tree: syntax.Node) -> str | None:
    """A short real key in which an expression may be found; None where its tree suggests none."""
    text = _text(tree)
    if text is None:
        return None
    key = text if text.startswith("/") else f"/{text}"
    return key if is_real(key) else None


def _text(node: syntax.Node) -> str | None:  # noqa: PLR0911 - one case for each kind of node
    """The shortest text that a node reads, assertions aside; None where it reads none that a key can hold."""
    match node:
        case syntax.Text():
            return _joined([_likely_case(each, folded=node.folded) for each in node.characters])
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.PerlClass() | syntax.UnicodeClass():
            return _likely(node)
        case syntax.Sequence():
            return _joined([_text(part) for part in node.parts])
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


@lru_cache(maxsize=4096)
def _likely(node: syntax.AnyOf) -> str | None:
    """The most everyday character that a node reads, of those that a key may hold."""
    return everyday(readable(node))


@lru_cache(maxsize=4096)
def _likely_case(character: str, *, folded: bool) -> str | None:
    """The same of a character that stands for itself."""
    return everyday(readable_cases(character, folded=folded))


@dataclass(frozen=True, slots=True)
class Progress:
    """The longest leading part of a source that is found in a key.

    `part` is its extent in the source's text; it ends between two parts of the outermost sequence, in which groups are
    opened, so that a group's end may be missing. Of a source that is an alternation it is part of the branch that gets
    furthest. `reached` is where in the key the last match of it ends, and `failing` the extent of what finds nothing to
    go on with; None where the whole source is found.
    """

    part: syntax.Extent
    reached: int
    failing: syntax.Extent | None


def longest_matching_part(of: Language, key: str) -> Progress | None:
    """How far into a source a key gets; None where the source cannot be treated exactly."""
    try:
        found = [_progress(branch, key, start) for branch, start in _branches(of)]
    except Unsupported:
        return None
    return max(found, key=lambda each: (each.failing is None, each.reached, each.part.end - each.part.start))


def _branches(of: Language) -> list[tuple[Automaton, int]]:
    """The branches of a source that is an alternation, or else the source itself, with where their texts begin."""
    if of.tree is None:
        raise Unsupported(of.objection)
    tree = node = of.tree
    while isinstance(node, syntax.Group):
        node = node.body
    if isinstance(node, syntax.Alternation):
        return [(_by_character(branch), branch.extent.start) for branch in node.branches]
    return [(_by_character(tree), 0)]


def _by_character(node: syntax.Node) -> Automaton:
    """The automaton of an expression in which each character of a text is an atom."""
    return Automaton(tuple(each for atom in atoms(node) for each in atom.apart()))


def _progress(of: Automaton, key: str, start: int) -> Progress:
    """How far into an expression a key gets, where its text begins at `start`."""
    held, done, reached = 0, 0, 0
    for place, (holding, character) in enumerate(gaps(key)):
        table = of.table(holding)
        # A match of a part holds matches of all its leading parts, which end no later: none is ever skipped.
        while done < len(of.atoms) and table.stages[done + 1].ended(held):
            done += 1
        if done and table.stages[done].ended(held):
            reached = place
        if character:
            held = table.heading(held) & of.readers(character)
    end = of.atoms[done - 1].end if done else start
    failing = of.atoms[done].node.extent if done < len(of.atoms) else None
    return Progress(syntax.Extent(start, end), reached, failing)
