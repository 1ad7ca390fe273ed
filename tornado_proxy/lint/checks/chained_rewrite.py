r"""A result that another rewrite of the target matches, though it is not applied.

A key is rewritten once: the first source that matches decides, and what its template makes is final. In some other
servers the next rewrite goes on from there; the finding shows a key for which it does not. Nothing is reported where
the other rewrite matches the key as it came, since there the order has already decided between the two.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/news/$page"
    rewrite `^/news/(?P<page>[^/]+)$`  -> "/archive/news/$page"

    test "/press/a.html" -> "/news/a.html"
    test "/news/a.html"  -> "/archive/news/a.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/(?:press|news)/(?P<page>[^/]+)$` -> "/archive/news/$page"

    test "/press/a.html" -> "/archive/news/a.html"
    test "/news/a.html"  -> "/archive/news/a.html"
}
```
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import named, shown
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewritten

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.INFO


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Rewrite an example for every rewrite, and the keys of its tests, and see who would take the results."""
    for target in subject.comparable:
        for index in range(len(target.rewrites)):
            findings = (_tried(target, index, key, result) for key, result in _rewritten(target, index))
            yield from islice(filter(None, findings), 1)


def _rewritten(target: TargetRules, index: int) -> Iterator[tuple[str, str]]:
    """Keys that a rewrite takes, and what they become."""
    key = target.example(index)
    result = None if key is None else target.result(key)
    if key is not None and result is not None:
        yield key, result
    for outcome in target.tested.get(target.rewrites[index].number, ()):
        if isinstance(outcome.got, Rewritten):
            yield outcome.test.key, outcome.got.key


def _tried(target: TargetRules, index: int, key: str, result: str) -> Diagnostic | None:
    """The finding for one key, if its result is matched by another rewrite, which did not match the key before."""
    taker = target.taker(result)
    if taker is None or taker == index or target.rewrites[taker].pattern.search(key):
        return None
    return _finding(target, index, taker, (key, result))


def _finding(target: TargetRules, index: int, taker: int, example: tuple[str, str]) -> Diagnostic:
    rewrite, other = target.rewrites[index], target.rewrites[taker]
    key, result = example
    message = f"{shown(key)} becomes {shown(result)}, which {named(other)} matches: it is not applied to results"
    note = Note(f"{named(other)} stands here", other.statement.source.span)
    advice = "if the key is to go on, write its last form here: a key is rewritten once"
    return Diagnostic(NAME, message, rewrite.statement.template.span, advice, (note,), SEVERITY)
