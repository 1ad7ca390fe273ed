r"""A source that is found where its author hardly looked: not anchored where a key begins, or where it ends.

A source is searched for anywhere in a key, as Go's `MatchString` does, and the whole key is replaced. Without `^` the
source `/old/` also takes `/shop/old/list.html`; without `$` the source `^/news\.html` also takes `/news.html.bak`.

A source that ends in `/` or `.*` speaks of everything below, one that begins with `.*` of any depth, and one such as
`\.php$` of a file name's end: these are left alone. So is one that no key can match, which is a finding of its own.

### Avoid

```rules
target site {
    rewrite `/news\.html` -> "/archive/news.html"

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

Writes the anchors. Unsafe: fewer keys are rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.goregex.language import guess
from tornado_proxy.goregex.proofs import NoKey
from tornado_proxy.goregex.syntax import Alternation, Node
from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety, Severity
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import inserted, shown
from tornado_proxy.lint.shapes import open_end, open_start
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.WARNING

_WHERE = {
    (True, True): "the source is found anywhere in a key",
    (True, False): "the source is found at any depth",
    (False, True): "the source does not say where a key ends",
}
_ADVICE = {
    (True, True): "begin it with `^` and end it in `$`",
    (True, False): "begin it with `^`, or with `^.*` where any depth is meant",
    (False, True): "end it in `$`, or in `.*` where anything may follow",
}


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at both ends of every source."""
    for target in subject.targets:
        for index, rewrite in enumerate(target.rewrites):
            tree = target.languages[index].tree
            ends = (False, False) if tree is None else (open_start(tree), open_end(tree))
            if tree is not None and any(ends) and not isinstance(target.reaches[index], NoKey):
                yield _delimited(rewrite) or _finding(rewrite, tree, *ends)


def _delimited(rewrite: Rewrite) -> Diagnostic | None:
    """The finding of a source between slashes, as other languages write them."""
    meant = undelimited(rewrite.pattern.text)
    if meant is None:
        return None
    message = "the slashes around this are part of the source, which is found anywhere in a key"
    return Diagnostic(NAME, message, rewrite.statement.source.span, f"write `{meant}`", severity=SEVERITY)


def _finding(rewrite: Rewrite, tree: Node, start: bool, end: bool) -> Diagnostic:  # noqa: FBT001 - two ends of one thing
    example = _example(rewrite, tree, "/x" if start else "", "x" if end else "")
    message = _WHERE[start, end] + (f", in {shown(example)} too" if example else "")
    source = rewrite.statement.source
    wrapped = isinstance(tree, Alternation)
    opening = ("^" if start else "") + ("(?:" if wrapped else "")
    closing = (")" if wrapped else "") + ("$" if end else "")
    edits = (*_put(rewrite, 0, opening), *_put(rewrite, len(source.value), closing))
    fixes = (Fix("anchor it", edits, Safety.UNSAFE),) if edits else ()
    return Diagnostic(NAME, message, source.span, _ADVICE[start, end], severity=SEVERITY, fixes=fixes)


def _put(rewrite: Rewrite, at: int, text: str) -> tuple[Edit, ...]:
    return inserted(rewrite.statement.source, at, text) if text else ()


def _example(rewrite: Rewrite, tree: Node, before: str, after: str) -> str | None:
    """A key that it takes and its author hardly meant."""
    key = guess(tree)
    longer = None if key is None else f"{before}{key}{after}"
    return longer if longer and rewrite.pattern.search(longer) else None
