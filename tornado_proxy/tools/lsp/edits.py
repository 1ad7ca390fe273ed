"""Edits that the server offers: fixes of findings, comments that allow them, the canonical layout."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety
from tornado_proxy.lang.parser import Parsed
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Document, Statement, TargetBlock
from tornado_proxy.lint.allowances import Allowance, find_allowances
from tornado_proxy.lint.checks import CHECKS, unused_allowance
from tornado_proxy.lint.fixing import apart, applicable
from tornado_proxy.tools.lsp.workspace import Analysis

_ALLOWABLE = frozenset(check.name for check in CHECKS) - {unused_allowance.NAME}
_LIKELY = {Safety.SAFE: "", Safety.UNSAFE: " (keys may change)", Safety.DISPLAY: " (one way out of several)"}


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do: `preferred` is what an editor may do at a key press; `finding` is what it is about."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic
    preferred: bool = False


def actions(analysis: Analysis, name: str, start: int, end: int) -> Iterator[Action]:
    """What can be done about the findings that touch a stretch of a file; the safest first of each finding."""
    document = analysis.document(name)
    for finding in analysis.diagnostics_of(name):
        if finding.span is None or finding.span.end < start or finding.span.start > end:
            continue
        for fix in finding.fixes:
            yield Action(f"{fix.message}{_LIKELY[fix.safety]}", fix.edits, finding, fix.safety is Safety.SAFE)
        if document is not None and finding.code in _ALLOWABLE:
            edit = _allowance(document, finding.span, finding.code)
            if edit is not None:
                yield Action(f"allow `{finding.code}` here", (edit,), finding)


def safe_fixes(analysis: Analysis, name: str) -> Sequence[Fix]:
    """The fixes of a file that change no key, as many at once as do not touch one another."""
    fixes = applicable(analysis.diagnostics_of(name), {Safety.SAFE})
    return apart(fix for fix in fixes if all(edit.span.source.name == name for edit in fix.edits))


def _allowance(document: Document, place: Span, check_name: str) -> Edit | None:
    """The edit that allows a check for the statement or block at a place; None where no comment can stand."""
    node = _node_at(document, place.start)
    if node is None:
        return None
    there = _last_allowance(document, node)
    if there is not None:
        return Edit(Span(document.source, there.span.end, there.span.end), f", {check_name}")
    return _comment(document, node, f"# allow: {check_name}")


def _node_at(document: Document, offset: int) -> Statement | TargetBlock | None:
    for block in document.blocks:
        if block.span.start <= offset <= block.span.end:
            within = (each for each in block.statements if each.span.start <= offset <= each.span.end)
            return next(within, block)
    return None


def _last_allowance(document: Document, node: Statement | TargetBlock) -> Allowance | None:
    """The last name of a comment that allows something for a node already."""
    found = [each for each in find_allowances([document], frozenset(), ()).all if each.covers == node.span]
    return found[-1] if found else None


def _comment(document: Document, node: Statement | TargetBlock, comment: str) -> Edit | None:
    """A comment on a line of its own above a node, or else behind it."""
    text = document.source.text
    start = node.span.start
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    if not indent.strip(" \t"):
        return Edit(Span(document.source, start, start), f"{comment}\n{indent}")
    end = node.span.end
    rest = text[end : _line_end(text, end)]
    return None if rest.strip() else Edit(Span(document.source, end, end), f"  {comment}")


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


_MOST_LINES = 2000
"""Of a longer file all is replaced at once: comparing its lines would take longer than anybody waits."""


def layout_edits(parsed: Parsed) -> Sequence[Edit]:
    """The edits that lay out a file; none where it has a syntax error, since it then has no layout."""
    source = parsed.document.source
    if parsed.diagnostics:
        return ()
    after = print_document(parsed.document)
    old, new = source.text.splitlines(keepends=True), after.splitlines(keepends=True)
    if source.text == after:
        return ()
    if max(len(old), len(new)) > _MOST_LINES:
        return (Edit(Span(source, 0, len(source.text)), after),)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(Span(source, starts[first], starts[last]), "".join(new[start:end]))
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    )
