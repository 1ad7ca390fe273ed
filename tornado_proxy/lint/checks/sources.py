"""Sources that match more than their author probably means: without anchors, or with an unescaped dot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from gotemplate.regexp.automaton import guess
from gotemplate.regexp.proofs import NoKey
from gotemplate.regexp.syntax import Alternation, AnyCharacter, Node, Sequence, Text, walk
from tornado_proxy.lint.check import Category, LintFinding, check, inserted, offer, shown
from tornado_proxy.lint.shapes import edge_part, open_end, open_start
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.rules.literals import undelimited
from tornado_proxy.rules.model import Rewrite

_MATCHES = {
    (True, True): "the source matches anywhere in a key",
    (True, False): "the source matches at any depth",
    (False, True): "the source matches with anything behind it",
}
_ADVICE = {
    (True, True): "begin it with `^` and end it with `$`",
    (True, False): "begin it with `^`, or with `^.*` where any depth is meant",
    (False, True): "end it with `$`, or with `.*` where anything may follow",
}


@check(Category.DOUBTS, Severity.WARNING)
def unanchored_source(subject: Subject) -> Iterator[LintFinding]:
    """A source without anchors, which matches more keys than its author probably means."""
    for rewrite, target, index in subject.rewrites:
        tree = target.languages[index].tree
        ends = (False, False) if tree is None else (open_start(tree), open_end(tree))
        if tree is not None and any(ends) and not isinstance(target.reaches[index], NoKey):
            yield _delimited(rewrite) or _unanchored(rewrite, tree, ends)


def _delimited(rewrite: Rewrite) -> LintFinding | None:
    """Returns the finding for a source between slashes, as other languages write them."""
    meant = undelimited(rewrite.pattern.text)
    if meant is None:
        return None
    message = "the slashes around this are part of the source, which matches anywhere in a key"
    return LintFinding(message, rewrite.statement.source.span, f"write `{meant}`")


def _unanchored(rewrite: Rewrite, tree: Node, ends: tuple[bool, bool]) -> LintFinding:
    start, end = ends
    source = rewrite.statement.source
    wrapped = isinstance(tree, Alternation)
    opening = ("^" if start else "") + ("(?:" if wrapped else "")
    closing = (")" if wrapped else "") + ("$" if end else "")
    places = ((0, opening), (len(source.value), closing))
    edits = tuple(edit for at, text in places if text for edit in inserted(source, at, text))
    key = guess(tree)
    example = f"{'/x' if start else ''}{key or ''}{'x' if end else ''}"  # which the author hardly meant
    is_matched = key is not None and rewrite.pattern.search(example)
    message = _MATCHES[ends] + (f", such as {shown(example)}" if is_matched else "")
    return LintFinding(message, source.span, _ADVICE[ends], fixes=offer("anchor it", edits))


@check(Category.DOUBTS, Severity.WARNING)
def unescaped_dot(subject: Subject) -> Iterator[LintFinding]:
    """A `.` that matches any character, where a dot is probably meant."""
    for rewrite, tree in subject.sources:
        source = rewrite.statement.source
        for start, end in (dot.extent for dot in _dots(tree)):
            fixes = offer("escape the dot", inserted(source, start, "\\"))
            written = "`\\.`" if source.raw else "`\\\\.`"
            advice = f"write {written} for a dot, `[^/]` for any character of a name"
            yield LintFinding("`.` matches any character", source.at(start, end), advice, fixes=fixes)


def _dots(tree: Node) -> Iterator[AnyCharacter]:
    for node in walk(tree):
        if not isinstance(node, Sequence):
            continue
        before: Node | None = None
        for part, behind in pairwise(node.pieces):
            if isinstance(part, AnyCharacter) and not isinstance(before, AnyCharacter) and _begins_a_word(behind):
                yield part
            before = part


def _begins_a_word(node: Node) -> bool:
    """Returns whether the first character of a part is a certain letter or digit, in each of its branches."""
    first = edge_part(node, last=False)
    if isinstance(first, Alternation):
        return all(_begins_a_word(branch) for branch in first.branches)
    return isinstance(first, Text) and first.characters[0].isalnum()
