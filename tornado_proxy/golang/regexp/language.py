"""The language of a source: the valid keys that it matches, a guess at one, and partial matches."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import assert_never

import msgspec

from tornado_proxy.golang.regexp import alphabet, syntax
from tornado_proxy.golang.regexp.alphabet import Budget, Unsupported, gaps, most_readable
from tornado_proxy.golang.regexp.automaton import Atom, Automaton, atoms
from tornado_proxy.golang.regexp.parser import parse

DEEPEST = 60  # the deepest nesting of groups; beyond it, recursion over the tree would come near Python's limit


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
            return Automaton(self.atoms)
        except Unsupported as error:
            return str(error)

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """The pieces of the outermost sequence; empty without a tree."""
        return tuple(atoms(self.tree)) if self.tree else ()

    @cached_property
    def guess(self) -> str | None:
        """A short valid key that probably matches, made from the tree; None if the tree suggests none."""
        return guess(self.tree) if self.tree else None

    def finds(self, key: str, budget: Budget | None = None) -> bool:
        """Whether it matches a key that begins with `/`, even an invalid one; raises `Unsupported`, and `Exhausted`."""
        automaton = self.automaton
        if not key.startswith(automaton.literal_prefix):
            return False
        start = len(automaton.literal_prefix)
        held = 1 << start >> 1
        for holding, character in gaps(key, start):
            table = automaton.table(holding)
            if table.prefixes[-1].matches_after(held):
                return True
            if budget:
                budget.spend(1 + held.bit_count() // 8)
            if character:
                held = table.following(held) & automaton.positions_reading(character)
        return False


def language(text: str) -> Language:
    """Returns the language of an expression, without a tree if Go refuses the text."""
    try:
        tree = parse(text).tree
    except syntax.PatternError as error:
        return Language(text, None, str(error))
    # A text with few parentheses cannot be deep.
    if text.count("(") > DEEPEST and _group_depth(tree) > DEEPEST:
        return Language(text, None, f"more than {DEEPEST} groups within each other")
    return Language(text, tree)


def _group_depth(tree: syntax.Node) -> int:
    return syntax.fold(tree, lambda node, below: max(below, default=0) + isinstance(node, syntax.Group))


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
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.PerlClass() | syntax.UnicodeClass():
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


class Progress(msgspec.Struct, frozen=True):
    """The longest prefix of a source that matches a key.

    `part` is its extent in the source's text. It ends between two pieces of the outermost sequence; groups are opened,
    so a group's `)` may be missing. For an alternation it is a part of the branch that gets furthest. `reached` is the
    offset in the key after the last match of it. `failing` is the extent of the next part, which matches nothing there;
    None if the whole source matches.
    """

    part: syntax.Extent
    reached: int
    failing: syntax.Extent | None


def longest_matching_part(source: Language, key: str) -> Progress | None:
    """Returns how much of a source matches a key; None if the source cannot be treated exactly."""
    try:
        progress = [_progress(branch, key, start) for branch, start in _branches(source)]
    except Unsupported:
        return None
    return max(progress, key=lambda each: (each.failing is None, each.reached, each.part.end - each.part.start))


def _branches(source: Language) -> list[tuple[Automaton, int]]:
    """Returns the automata of the branches of an alternation, or of the source itself, and where their texts begin."""
    if source.tree is None:
        raise Unsupported(source.objection)
    tree = node = source.tree
    while isinstance(node, syntax.Group):
        node = node.body
    if isinstance(node, syntax.Alternation):
        return [(_by_character(branch), branch.extent.start) for branch in node.branches]
    return [(_by_character(tree), 0)]


def _by_character(node: syntax.Node) -> Automaton:
    """Returns the automaton of an expression in which each character of a text is an atom."""
    return Automaton(tuple(each for atom in atoms(node) for each in atom.split()))


def _progress(automaton: Automaton, key: str, start: int) -> Progress:
    """Returns how much of an expression matches a key; its text begins at `start`."""
    held, done, reached = 0, 0, 0
    for place, (holding, character) in enumerate(gaps(key)):
        table = automaton.table(holding)
        # A match of a part holds matches of all its leading pieces, which end no later: none is ever skipped.
        while done < len(automaton.atoms) and table.prefixes[done + 1].matches_after(held):
            done += 1
        if done and table.prefixes[done].matches_after(held):
            reached = place
        if character:
            held = table.following(held) & automaton.positions_reading(character)
    end = automaton.atoms[done - 1].end if done else start
    failing = automaton.atoms[done].node.extent if done < len(automaton.atoms) else None
    return Progress(syntax.Extent(start, end), reached, failing)
