r"""A `.` that stands for any character where a dot is probably meant.

In a source `.` is any character: `^/news.html$` also takes `/news-html` and `/newsxhtml`. A dot is written `\.`.

What is looked for is a single `.` with a letter or a digit behind it, as in a file name or a version.

### Avoid

```rules
target site {
    rewrite `^/news.html$` -> "/archive/news.html"

    test "/news.html" -> "/archive/news.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/news\.html$` -> "/archive/news.html"

    test "/news.html" -> "/archive/news.html"
}
```

### Fix

Escapes the dot. Unsafe: fewer keys are rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tornado_proxy.goregex.syntax import Alternation, AnyCharacter, Node, Sequence, Text, walk
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import inserted
from tornado_proxy.lint.shapes import edge_part
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at every `.` of every source."""
    for target in subject.targets:
        for rewrite, tree in target.sources:
            for dot in _dots(tree):
                yield _finding(rewrite, dot)


def _dots(tree: Node) -> Iterator[AnyCharacter]:
    for node in walk(tree):
        if not isinstance(node, Sequence):
            continue
        before: Node | None = None
        for part, behind in pairwise(node.parts):
            if isinstance(part, AnyCharacter) and not isinstance(before, AnyCharacter) and _begins_a_word(behind):
                yield part
            before = part


def _begins_a_word(node: Node) -> bool:
    """Whether the first character of a part is a certain letter or digit, in each of its branches."""
    first = edge_part(node, last=False)
    if isinstance(first, Alternation):
        return all(_begins_a_word(branch) for branch in first.branches)
    return isinstance(first, Text) and first.characters[0].isalnum()


def _finding(rewrite: Rewrite, dot: AnyCharacter) -> Diagnostic:
    source = rewrite.statement.source
    span = source.at(dot.extent.start, dot.extent.end)
    edits = inserted(source, dot.extent.start, "\\")
    fixes = (Fix("escape the dot", edits, Safety.UNSAFE),) if edits else ()
    written = "`\\.`" if source.raw else "`\\\\.`"
    advice = f"write {written} for a dot, `[^/]` for any character of a name"
    return Diagnostic(NAME, "`.` stands for any character here", span, advice, severity=SEVERITY, fixes=fixes)
