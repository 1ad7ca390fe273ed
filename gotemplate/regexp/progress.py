"""How much of a source matches a key: the longest leading part of the source that RE2 finds in the key."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from gotemplate.regexp import program as programs
from gotemplate.regexp import syntax
from gotemplate.regexp.matching import encoded
from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Atom, Extent


class Progress(msgspec.Struct, frozen=True):
    """The longest prefix of a source that matches a key.

    `part` is its extent in the source's text. It ends between two pieces of the outermost sequence; groups are opened,
    so a group's `)` may be missing. For an alternation it is a part of the branch that gets furthest. `reached` is the
    offset in the key after the last match of it. `failing` is the extent of the next part, which matches nothing there;
    None if the whole source matches.
    """

    part: Extent
    reached: int
    failing: Extent | None


def longest_matching_part(source: str, key: str) -> Progress:
    """Returns how much of a source matches a key; RE2 accepts the source."""
    tree = node = parse(source).tree
    while isinstance(node, syntax.Group):
        node = node.body
    branches = node.branches if isinstance(node, syntax.Alternation) else (tree,)
    progress = [_progress(branch, encoded(key)) for branch in branches]
    return max(progress, key=lambda each: (each.failing is None, each.reached, each.part.end - each.part.start))


_ANYTHING = syntax.Repeat(syntax.AnyCharacter(True, Extent(0, 0)), 0, None, False, Extent(0, 0))


def _progress(branch: syntax.Node, key: bytes) -> Progress:
    atoms = [each for atom in syntax.atoms(branch) for each in atom.split()]
    # A key in which a part is found has all its leading parts, too.
    lengths = range(1, len(atoms) + 1)
    done = bisect_left(lengths, 1, key=lambda length: _last_end(atoms[:length], key) is None)
    start = branch.extent.start
    part = Extent(start, atoms[done - 1].end if done else start)
    reached = _last_end(atoms[:done], key) if done else 0
    return Progress(part, len(key[:reached].decode()), atoms[done].node.extent if done < len(atoms) else None)


def _last_end(atoms: Sequence[Atom], key: bytes) -> int | None:
    """Returns where the last match of atoms in a row ends in a key; None without a match."""
    # The longest match of anything and these ends where the last match of these does.
    groups = (syntax.Group(atom.node, None, None, atom.node.extent) for atom in atoms)  # one may be an alternation
    tree = syntax.Sequence((_ANYTHING, *groups), Extent(0, 0))
    match = programs.compile_program(programs.print_program(tree).encode(), longest=True).search(key)
    end: int | None = match and match.end()
    return end
