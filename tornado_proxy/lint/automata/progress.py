"""How far into a source a key gets: what `explain` tells of a rewrite that did not match."""

from __future__ import annotations

from dataclasses import dataclass

from tornado_proxy.lint.automata.automaton import Automaton, atoms
from tornado_proxy.lint.automata.errors import Unsupported
from tornado_proxy.lint.automata.gaps import gaps
from tornado_proxy.lint.automata.language import Language
from tornado_proxy.lint.automata.parser import parse
from tornado_proxy.lint.automata.syntax import Alternation, Extent, Group, Node


@dataclass(frozen=True, slots=True)
class Progress:
    """The longest leading part of a source that is found in a key.

    `part` is its extent in the source's text; it ends between two parts of the outermost sequence, in which groups are
    opened, so that a group's end may be missing. Of a source that is an alternation it is part of the branch that gets
    furthest. `reached` is where in the key the last match of it ends, and `failing` the extent of what finds nothing to
    go on with; None where the whole source is found.
    """

    part: Extent
    reached: int
    failing: Extent | None


def longest_matching_part(of: Language, key: str) -> Progress | None:
    """How far into a source a key gets; None where the source cannot be treated exactly."""
    try:
        found = [_progress(branch, key, start) for branch, start in _branches(of)]
    except Unsupported:
        return None
    return max(found, key=lambda each: (each.failing is None, each.reached, each.part.end - each.part.start))


def _branches(of: Language) -> list[tuple[Automaton, int]]:
    """The branches of a source that is an alternation, or else the source itself, with where their texts begin."""
    tree = node = of.tree or parse(of.text)
    while isinstance(node, Group):
        node = node.body
    if isinstance(node, Alternation):
        return [(_by_character(branch), branch.extent.start) for branch in node.branches]
    return [(_by_character(tree), 0)]


def _by_character(node: Node) -> Automaton:
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
    return Progress(Extent(start, end), reached, failing)
