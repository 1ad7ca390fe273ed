"""Hover texts, with expressions in words; definitions, and the results of tests."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

import msgspec

from gotemplate.regexp import syntax
from gotemplate.regexp.automaton import language
from gotemplate.regexp.syntax import Group, walk
from tornado_proxy.lint.check import Check, listed
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.shapes import ends_anchored, starts_anchored
from tornado_proxy.lint.subject import Allowances
from tornado_proxy.rules.diagnostic import Span, counted, shortened, visible
from tornado_proxy.rules.expectations import TestOutcome
from tornado_proxy.rules.model import Rewrite, RewriteError
from tornado_proxy.rules.tree import Dialect, Document, ListStatement, Literal, RewriteStatement, TestStatement
from tornado_proxy.templates.template import compile_plain
from tornado_proxy.tools.limits import LONGEST_TEXT, MOST_PIECES
from tornado_proxy.tools.lsp.completion import BY_DIALECT, EXPRESSIONS
from tornado_proxy.tools.lsp.workspace import Analysis, statement_at

_TICKS = re.compile("`+")


def code(text: str) -> str:
    """Returns a text as code on one line; a long one is cut."""
    shown = visible(shortened(text, LONGEST_TEXT)) or " "
    longest = max((len(ticks) for ticks in _TICKS.findall(shown)), default=0)
    fence = "`" * (longest + 1)
    # CommonMark (6.1) removes one space inside the fence, which separates it from ticks and spaces.
    padding = " " if shown.strip() and (shown[0] in "` " or shown[-1] in "` ") else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def paragraphs(texts: Iterable[str]) -> str:
    """Joins paragraphs, without empty ones."""
    return "\n\n".join(text for text in texts if text)


def prose(text: str) -> str:
    """Returns a message with Markdown escaped, except for words in backticks."""
    return re.sub(r"([\\*_<>\[\]#|~])(?=[^`]*(?:`[^`]*`[^`]*)*$)", r"\\\1", visible(text))


_PERL, _FLAGS = EXPRESSIONS["classes"], EXPRESSIONS["flags"]
_NOT_IN_NAMES = re.compile(r"^\\p|\W")  # what surrounds the name of a class


class OutlineItem(msgspec.Struct, frozen=True):
    """A part of an expression, its depth, and its meaning in Markdown."""

    extent: syntax.Extent
    depth: int
    meaning: str


_Branching = syntax.Group | syntax.Repeat | syntax.Alternation
_Piece = syntax.Text | syntax.AnyOf | syntax.Assertion | syntax.FlagChange | _Branching


def outline(node: syntax.Node, depth: int = 0) -> Iterator[OutlineItem]:
    """Yields the pieces of an expression in their order; a part that fits on one line is not divided."""
    for piece in _pieces(node):
        if _is_simple(piece):
            yield OutlineItem(piece.extent, depth, _phrase(piece))
            continue
        yield OutlineItem(piece.extent, depth, f"{_heading(piece)}:")
        match piece:
            case (syntax.Alternation() as choice) | syntax.Group(body=syntax.Alternation() as choice):
                for branch in choice.branches:
                    pieces, below = _pieces(branch), depth + 1
                    if len(pieces) != 1:
                        yield OutlineItem(branch.extent, below, "all of this:" if pieces else "nothing")
                        below += 1
                    yield from outline(branch, below)
            case syntax.Group() | syntax.Repeat():
                yield from outline(piece.body, depth + 1)


def phrase(node: syntax.Node) -> str:
    """Returns an expression as one phrase."""
    return ", then ".join(map(_phrase, _pieces(node))) or "nothing"


def _pieces(node: syntax.Node) -> Sequence[_Piece]:
    pieces: list[_Piece] = []
    for part in node.pieces if isinstance(node, syntax.Sequence) else (node,):
        last = pieces[-1] if pieces else None
        match part:
            case syntax.Sequence():  # the expression is empty here
                pass
            case syntax.Text() if isinstance(last, syntax.Text) and last.folded == part.folded:
                extent = syntax.Extent(last.extent.start, part.extent.end)
                pieces[-1] = syntax.Text(last.characters + part.characters, part.folded, extent)
            case _:
                pieces.append(part)
    return pieces


def _is_simple(piece: _Piece) -> bool:
    """Returns whether a piece fits into one phrase."""
    match piece:
        case syntax.Group() | syntax.Repeat():
            inner = _pieces(piece.body)
            return len(inner) <= 1 and all(map(_is_simple, inner))
        case syntax.Alternation():
            alternatives = [_pieces(branch) for branch in piece.branches]
            return all(len(each) == 1 and isinstance(each[0], syntax.Text) for each in alternatives)
        case _:
            return True


def _phrase(piece: _Piece) -> str:  # noqa: PLR0911 - one phrase for each kind
    match piece:
        case syntax.Text():
            return code(piece.characters) + (" in any case" if piece.folded else "")
        case syntax.Group():
            body = phrase(piece.body)
            return f"{_heading(piece)}: {body}" if piece.number is not None else body
        case syntax.Repeat():
            return f"{phrase(piece.body)}, {_times(piece)}"
        case syntax.Alternation():
            return " or ".join(map(phrase, piece.branches))
        case syntax.FlagChange():
            return f"from here on: {_flags(piece.on, piece.off)}"
        case syntax.Assertion():
            return EXPRESSIONS["assertions"][piece.kind.name]
        case _:
            return _one(piece)


def _heading(piece: _Piece) -> str:
    match piece:
        case syntax.Group():
            number = f"group {piece.number}" if piece.number is not None else ""
            name = code(piece.name) if piece.name else ""
            is_choice = isinstance(piece.body, syntax.Alternation) and not _is_simple(piece.body)
            words = [number, name, _flags(piece.on, piece.off), "one of these" if is_choice else ""]
            return ", ".join(filter(None, words)) or "together"
        case syntax.Repeat():
            return _times(piece)
        case _:
            return "one of these"


_OFTEN = {(0, None): "any number of times", (0, 1): "once or not at all", (1, None): "once or more", (1, 1): "once"}


def _times(repeat: syntax.Repeat) -> str:
    least, most = repeat.least, repeat.most
    span = f"{least} times or more" if most is None else f"{least} to {most} times"
    words = _OFTEN.get((least, most), f"{least} times" if least == most else span)
    return f"{words}, as few as possible" if repeat.lazy else words


def _flags(on: Collection[str], off: Collection[str]) -> str:
    words = [_FLAGS[flag] for flag in sorted(on) if flag in _FLAGS]
    return ", ".join([*words, *(f"no longer {_FLAGS[flag]}" for flag in sorted(off) if flag in _FLAGS)])


def _one(piece: syntax.AnyOf) -> str:
    match piece:
        case syntax.AnyCharacter():
            return "any character"
        case syntax.BracketClass(negated=True):
            return f"any character but {listed(map(_member, piece.members))}"
        case syntax.BracketClass(members=(syntax.CharacterRange(first, last),)) if first == last:
            return code(first)
        case syntax.BracketClass(members=(syntax.NamedClass() as member,)):
            return _member(member)
        case syntax.BracketClass():
            return f"one of {listed(map(_member, piece.members))}"
        case _:
            return _member(piece)


def _member(member: syntax.Member) -> str:
    match member:
        case syntax.CharacterRange(first, last):
            return code(first) if first == last else f"{code(first)} to {code(last)}"
        case syntax.NamedClass() if member.name in _PERL:
            return f"anything but {_PERL[member.name]}" if member.negated else _PERL[member.name]
        case syntax.NamedClass():
            return f"a character {'not ' if member.negated else ''}of {code(_NOT_IN_NAMES.sub('', member.name))}"
        case _:
            assert_never(member)


_CHECKS = {check.name: check for check in CHECKS}
_REACH = {  # by whether the expression is anchored to the start and to the end
    (True, True): "the whole key",
    (True, False): "the beginning of the key",
    (False, True): "the end of the key",
    (False, False): "anywhere in the key",
}


def hover_at(analysis: Analysis, document: Document, offset: int) -> tuple[str, Span] | None:
    """Returns Markdown about a place of a file, with its span; None if there is nothing to show."""
    allowances = Allowances([document]).all
    allowed = next((each for each in allowances if _covers(each.span, offset) and each.name in _CHECKS), None)
    if allowed is not None:
        return page(_CHECKS[allowed.name]), allowed.span
    text, span = _describe(analysis, document, offset) or ("", Span(document.source, offset, offset))
    here = [each for each in analysis.diagnostics_of(document.source.name) if each.span and _covers(each.span, offset)]
    found = dict.fromkeys(each.code for each in here if each.code in _CHECKS)
    manuals = {name: _CHECKS[name].manual.partition("### Avoid")[0].strip() for name in found}  # without examples
    about = paragraphs(f"**{name}**: {manual}" for name, manual in manuals.items())
    text = "\n\n---\n\n".join(filter(None, (text, about)))
    return (text, span) if text else None


def page(check: Check) -> str:
    """Returns the manual page of a check, with its heading."""
    return f"## {check.name}\n\n{check.category.value}, {check.severity.value}\n\n{check.manual}"


def _covers(span: Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _describe(  # noqa: PLR0911 - one for each kind of place
    analysis: Analysis, document: Document, offset: int
) -> tuple[str, Span] | None:
    match statement_at(document, offset):
        case block, None if offset <= block.name.span.end:
            target = analysis.target(block)
            text = f"target {code(block.name.value)}: {counted(len(target.rewrites), 'rewrite')}"
            return f"{text}, {verdict_on(target.outcomes)}" if analysis.subject.whole else text, block.name.span
        case _, TestStatement() as test:
            outcome = analysis.outcome(test)
            return (_describe_outcome(outcome), test.span) if outcome else None
        case block, ListStatement() as statement:
            for each in analysis.lists(block, statement):
                return f"{each.kind.value}s {counted(len(each.lines), 'address', 'addresses')}", each.span
        case _, RewriteStatement() as statement if _covers(statement.source.span, offset):
            text = _pattern(analysis.rewrite(statement), statement, _index(statement.source, offset))
            return (text, statement.source.span) if text else None
        case _, RewriteStatement() as statement if _covers(statement.template.span, offset):
            return _reference(statement, offset)
        case block, RewriteStatement() as statement:
            if rewrite := analysis.rewrite(statement):
                name = f" {code(rewrite.name)}" if rewrite.name else ""
                verdict = verdict_on(analysis.target(block).tested.get(rewrite.number, ()))
                text = f"{rewrite.kind.value} {rewrite.number} of {code(block.name.value)}{name}"
                return f"{text}: {verdict}" if analysis.subject.whole else text, statement.span
    return None


def _index(literal: Literal, offset: int) -> int:
    """Returns the index in the value of a string for an offset of the file."""
    return max(0, min(bisect_right(literal.offsets, offset) - 1, len(literal.value)))


def _pattern(rewrite: Rewrite | None, statement: RewriteStatement, at: int) -> str:
    tree = language(statement.source.value).tree
    if tree is None:
        return ""
    lines, pieces = [], list(outline(tree))
    under = [part for part in pieces if part.extent.start <= at < part.extent.end]
    for part in pieces:
        written = statement.source.value[part.extent.start : part.extent.end]
        meaning = "this text" if part.meaning == code(written) else part.meaning
        shown = f"{code(written)} {meaning}" if written else meaning
        # The part under the pointer is bold.
        lines.append(f"{'  ' * part.depth}- " + (f"**{shown}**" if under and part is under[-1] else shown))
    if len(lines) > MOST_PIECES:
        lines = [*lines[:MOST_PIECES], "- …"]
    reach = f"Matches {_REACH[starts_anchored(tree), ends_anchored(tree)]}:"
    key = language(rewrite.pattern.text).guess if rewrite else None
    is_example = rewrite is not None and key is not None and rewrite.pattern.search(key)
    return paragraphs((reach, "\n".join(lines), f"For example {code(key)}" if key and is_example else ""))


def _reference(statement: RewriteStatement, offset: int) -> tuple[str, Span] | None:
    literal, dialect = statement.template, statement.dialect
    reference = reference_at(dialect, literal.value, _index(literal, offset))
    if reference is None:
        return None
    text, name = "", reference.name
    if name == "0" and reference.is_group:
        text = "`0`: all that the source matches"
    elif reference.is_group and (group := group_of(statement, name)):
        written = statement.source.value[group.extent.start : group.extent.end]
        text = f"group {group.number} of the source, {code(written)}\n\nIt matches {phrase(group.body)}"
    elif not reference.is_group and (words := BY_DIALECT[dialect].get(name)):
        text = f"{code(name if dialect is Dialect.JINJA else f'.{name}')}: {words}"
    return (text, literal.at(reference.start, reference.end)) if text else None


def _describe_outcome(outcome: TestOutcome) -> str:
    mark = "✓" if outcome.passed else "✗"
    took = f"{code(outcome.rewrite.label)} takes the key" if outcome.rewrite else "No rewrite matches the key"
    if isinstance(outcome.got, RewriteError):
        return f"{mark} {took}: {prose(str(outcome.got))}"
    moved, key = outcome.got.moved, outcome.got.key
    became = f"the answer is {code(str(moved))}" if moved else f"it becomes {code(key)}"
    return f"{mark} {took}, {became}" if outcome.rewrite else f"{mark} {took}"


def group_of(statement: RewriteStatement, name: str) -> Group | None:
    """Returns the group with a name or a number."""
    tree = language(statement.source.value).tree
    for node in walk(tree) if tree else ():
        if isinstance(node, Group) and node.number is not None and name in (node.name, str(node.number)):
            return node
    return None


_ACTION = re.compile(r"\{\{.*?(?:\}\}|$)|\{%.*?(?:%\}|$)", re.DOTALL)

# A group, a variable with its fields, or a string, which is skipped.
_NAMES: Mapping[Dialect, re.Pattern[str]] = {
    Dialect.JINJA: re.compile(
        r"""\bgroups(?:\.(?P<group>\w+)|\[\s*(?P<quote>["'])(?P<key>[^"']*)(?P=quote)\s*\])
        |"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'
        |(?<![\w.])(?P<path>[A-Za-z_]\w*(?:\.\w+)*)""",
        re.VERBOSE,
    ),
    Dialect.GO: re.compile(
        r"""\.Groups(?:\.(?P<group>\w+)|\s+(?P<quote>")(?P<key>[^"]*)")
        |"(?:\\.|[^"\\])*"|`[^`]*`|'(?:\\.|[^'\\])*'
        |(?<![\w.])(?:\$?)\.(?P<path>[A-Za-z_]\w*(?:\.\w+)*)""",
        re.VERBOSE,
    ),
}


class TemplateReference(msgspec.Struct, frozen=True):
    """A place of a template that names a group, or a variable with its path."""

    name: str
    start: int
    end: int
    is_group: bool = False


def reference_at(dialect: Dialect, text: str, at: int) -> TemplateReference | None:
    """Returns the reference at a place of a template; of `user.username` only up to the field at the place."""
    return next((each for each in _references(dialect, text) if each.start <= at <= each.end), None)


def _references(dialect: Dialect, text: str) -> Iterator[TemplateReference]:
    if dialect is Dialect.PLAIN:
        for name, start, end in compile_plain(text).group_references:
            yield TemplateReference(name, start, end, is_group=True)
        return
    for action in _ACTION.finditer(text):
        for match in _NAMES[dialect].finditer(text, *action.span()):
            name = match["group"] or match["key"]
            if name is not None:
                yield TemplateReference(name, *match.span(), is_group=True)
            elif match["path"] is not None:
                for field in re.finditer(r"\w+", match["path"]):
                    start = match.start("path")
                    yield TemplateReference(match["path"][: field.end()], start + field.start(), start + field.end())


def definitions(analysis: Analysis, document: Document, offset: int) -> Iterator[Span]:
    """Yields the places of the definitions for a place of a file."""
    match statement_at(document, offset):
        case block, None if offset <= block.name.span.end:
            yield from (each.name.span for each in analysis.target(block).blocks)
        case _, TestStatement() as test:
            outcome = analysis.outcome(test)
            if outcome and outcome.rewrite:
                rule = outcome.rewrite
                yield _head(rule.statement) if isinstance(rule, Rewrite) else rule.span
        case block, ListStatement() as statement:
            yield from (Span(each.source, 0, 0) for each in analysis.lists(block, statement))
        case _, RewriteStatement() as statement if _covers(statement.template.span, offset):
            reference = reference_at(statement.dialect, statement.template.value, _index(statement.template, offset))
            name = reference.name if reference and reference.is_group else ""
            if group := group_of(statement, name):
                yield statement.source.at(*group.extent)
            elif name == "0":
                yield statement.source.span
        case _, RewriteStatement() as statement if not _covers(statement.source.span, offset):
            yield _head(statement)


def _head(statement: RewriteStatement) -> Span:
    """Returns the place of a rewrite's name, or of its source if it has no name."""
    return statement.name.span if statement.name else statement.source.span


def lens_places(analysis: Analysis, document: Document) -> Iterator[tuple[Span, Sequence[TestOutcome]]]:
    """Yields targets and rewrites with the outcomes of their tests; none while the rules have a mistake."""
    for block in document.blocks if analysis.subject.whole else ():
        target = analysis.target(block)
        yield block.name.span, target.outcomes
        for statement in block.statements:
            if isinstance(statement, RewriteStatement) and (rewrite := analysis.rewrite(statement)):
                yield statement.span, target.tested.get(rewrite.number, ())


def verdict_on(outcomes: Sequence[TestOutcome]) -> str:
    """Returns the result of some tests in a few words."""
    if not outcomes:
        return "no tests"
    failed = sum(not each.passed for each in outcomes)
    if failed:
        return f"{failed} of {counted(len(outcomes), 'test')} {'fails' if failed == 1 else 'fail'}"
    return f"{counted(len(outcomes), 'test')} {'passes' if len(outcomes) == 1 else 'pass'}"
