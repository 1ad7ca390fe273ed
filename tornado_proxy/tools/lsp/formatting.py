"""The canonical layout as edits, each of lines that change, so that an editor's cursor and folds stay."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from tornado_proxy.lang.diagnostic import Edit
from tornado_proxy.lang.parser import Parsed
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.source import Span

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
