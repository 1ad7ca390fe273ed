"""The program that RE2 reads for an expression, printed from the tree so that RE2 finds what Go finds, and compiled.

The tree holds flags in its nodes, so the program sets flags only where they matter. RE2 differs from Go in three ways,
which the printer makes up for. Its Unicode is older, so it would fold fewer cases. It matches more than Go if the body
of a repetition may match nothing, unless the body contains something that is true everywhere. It also counts copies
that are repeated zero times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, assert_never

import re2

from gotemplate.limits import LARGEST_PROGRAM
from gotemplate.regexp import syntax
from gotemplate.regexp.classes import OTHER_CASE, bracketed, cases, characters, spelled

MEMORY = (8 << 10, 8 << 20, 64 << 20)
"""Limits of memory in bytes for one program; the next one is tried if a limit is too low.

With the first, RE2 keeps neither tables nor states beside a program, which take up to 12 KiB of a short one and make
its groups no faster to find.
"""


class ProgramRefused(Exception):
    """RE2 cannot compile a program; the text is RE2's message."""


class ProgramTooLarge(ProgramRefused):
    """A program is longer, or RE2 needs more memory for it, than the limits allow."""


def options(memory: int, *, longest: bool = False) -> Any:
    """Returns options for RE2: a limit of memory in bytes, and no output on standard error."""
    chosen = re2.Options()
    chosen.log_errors = False
    chosen.max_mem = memory
    chosen.longest_match = longest
    return chosen


def compile_program(program: bytes, memory: Sequence[int] = MEMORY, *, longest: bool = False) -> Any:
    """Returns a program in compiled form, for the first match in Go or the longest one; raises `ProgramRefused`."""
    for most in memory:
        try:
            made = re2.compile(program, options(most, longest=longest))
        except re2.error as error:
            message = error.args[0].decode(errors="replace")
            if "too large" not in message:
                raise ProgramRefused(message) from None
        else:
            re2.purge()  # the binding caches the last 128 programs of any size, even of texts that nobody uses any more
            return made
    raise ProgramTooLarge(message)


def ahead_of(program: bytes) -> bytes:
    """Returns the program whose first group is the text before the leftmost match that begins between characters."""
    return b"((?s:.)*?)(?:%b)" % program


def leftmost(compiled: Any, ahead: Any, text: bytes, start: int = 0) -> Any:
    r"""Returns the leftmost match that does not begin within a character, where only RE2 finds a `\B`, not Go."""
    match = compiled.search(text, start)
    if match is None or not is_within(text, match.start()):
        return match
    before = ahead.match(text, start)  # to search again behind each character would take quadratic time
    return before and compiled.match(text, before.end(1))


def is_within(text: bytes, offset: int) -> bool:
    """Whether an offset is inside a character, that is, before a byte of the form 10xxxxxx."""
    return offset < len(text) and text[offset] & 0xC0 == 0x80


_SPECIAL = re.compile("[\\\\.+*?()|\\[\\]{}^$\x00-\x1f\x7f\ud800-\udfff]")
_COUNTS = {(0, None): "*", (1, None): "+", (0, 1): "?"}
_SOMEWHERE = r"(?:\b|\B)"


class _Printed(NamedTuple):
    """The program of a node, whether it may match an empty text, and the number of its capturing groups."""

    program: str
    nullable: bool = False
    groups: int = 0


def print_program(tree: syntax.Node) -> str:
    """Returns the program of a tree; raises `ProgramTooLarge` before it is longer than `LARGEST_PROGRAM`."""
    length = 0

    def printed(node: syntax.Node, below: list[_Printed]) -> _Printed:
        nonlocal length
        made = _printed(node, below)
        length += 0 if below else len(made.program)
        if length > LARGEST_PROGRAM:
            raise ProgramTooLarge(f"its program takes more than {LARGEST_PROGRAM >> 20} MiB")
        return made

    return syntax.fold(tree, printed).program


def _printed(node: syntax.Node, below: list[_Printed]) -> _Printed:  # noqa: PLR0911 - one case for each kind of node
    match node:
        case syntax.Text():
            return _Printed(_literal(node))
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
            return _Printed(_class(node))
        case syntax.Assertion():
            return _Printed(node.kind.value, nullable=True)
        case syntax.Group():
            body, captures = below[0], node.number is not None
            return _Printed(f"({'' if captures else '?:'}{body.program})", body.nullable, body.groups + captures)
        case syntax.Repeat():
            return _repeated(node, below[0])
        case syntax.Sequence():
            return _joined("", below, nullable=all(each.nullable for each in below))
        case syntax.Alternation():
            return _joined("|", below, nullable=any(each.nullable for each in below))
        case syntax.FlagChange():
            return _Printed("", nullable=True)
        case _:
            assert_never(node)


def _joined(separator: str, below: list[_Printed], *, nullable: bool) -> _Printed:
    program = separator.join([each.program for each in below])
    return _Printed(program, nullable, sum([each.groups for each in below]))


def _literal(node: syntax.Text) -> str:
    if not node.folded:
        return _SPECIAL.sub(_by_number, node.characters)
    program = "".join(
        bracketed(cases(each, folded=True)) if ord(each) in OTHER_CASE else _SPECIAL.sub(_by_number, each)
        for each in node.characters
    )
    return f"(?i:{program})"


def _by_number(character: re.Match[str]) -> str:
    return f"\\x{{{ord(character[0]):x}}}"


def _class(node: syntax.AnyOf) -> str:
    """Returns a class in RE2's syntax; as code points if RE2 knows other members."""
    match node:
        case syntax.AnyCharacter():
            return "(?s:.)" if node.newline else "."
        case syntax.BracketClass() if all(map(_is_known_alike, node.members)):
            return f"[{'^' * node.negated}{''.join(map(_member, node.members))}]"
        case syntax.NamedClass() if _is_known_alike(node):
            return _member(node)
        case _:
            return bracketed(characters(node))


def _is_known_alike(member: syntax.Member) -> bool:
    """Whether RE2 and Go agree on the characters of a member."""
    return not member.folded and not (isinstance(member, syntax.NamedClass) and member.name.startswith(r"\p"))


def _member(member: syntax.Member) -> str:
    if isinstance(member, syntax.CharacterRange):
        return spelled([(ord(member.first), ord(member.last))])
    if not member.negated:
        return member.name
    return member.name.upper() if member.name.startswith("\\") else member.name.replace("[:", "[:^")


def _repeated(node: syntax.Repeat, body: _Printed) -> _Printed:
    least, most = node.least, node.most
    if most == 0:  # only the numbers of its groups matter
        return _Printed(f"(?:{'()' * body.groups}){{0}}", True, body.groups)
    operand = body.program
    is_plain_group = isinstance(node.body, syntax.Group) and node.body.number is None
    if body.nullable and most != 1 and (is_plain_group or isinstance(node.body, syntax.Repeat)):
        operand = f"(?:{operand}{_SOMEWHERE})"
    elif isinstance(node.body, syntax.Repeat):
        operand = f"(?:{operand})"
    bounds = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    operator = _COUNTS.get((least, most), bounds)
    nullable = least == 0 or body.nullable
    return _Printed(f"{operand}{operator}{'?' * node.lazy}", nullable, body.groups)
