r"""Two rewrites that match one key, so that their order decides.

Nothing is wrong with order that is meant. Where it is not, a later edit, or a file that is sorted in between, silently
changes what a key becomes; so the pair is shown with a key that both match. Nothing is reported where the first is a
special case of the second, where the order is what anybody expects, nor where a test pins a key that both match; nor of
a source that is not anchored where a key begins, which is a finding of its own.

### Avoid

```rules
target site {
    rewrite `^/blog/(?P<rest>.*)$`                        -> "/archive/$rest"
    rewrite `^/(?P<section>[^/]+)/draft/(?P<page>[^/]+)$` -> "/drafts/$section/$page"

    test "/blog/a.html"       -> "/archive/a.html"
    test "/shop/draft/b.html" -> "/drafts/shop/b.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/blog/(?P<rest>.*)$`          -> "/archive/$rest"
    rewrite `^/shop/draft/(?P<page>[^/]+)$` -> "/drafts/shop/$page"

    test "/blog/a.html"       -> "/archive/a.html"
    test "/shop/draft/b.html" -> "/drafts/shop/b.html"
}
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.proofs import Example, Overlap, difference, overlaps
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import named, shown
from tornado_proxy.lint.shapes import open_start
from tornado_proxy.lint.subject import Subject, TargetRules

NAME = check_name(__name__)
CATEGORY = Category.DOUBTS
SEVERITY = Severity.INFO

STEPS = 400_000
"""What the proofs about one target may cost together."""
_SHOWN = 3


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for pairs that share keys although neither takes all keys of the other."""
    for target in subject.comparable:
        for later, pairs in _doubtful(target).items():
            yield _finding(target, later, pairs)


def _doubtful(target: TargetRules) -> Mapping[int, list[Overlap]]:
    """The pairs whose order decides in a way that may surprise, by the later rewrite."""
    budget = Budget(STEPS)
    found: dict[int, list[Overlap]] = {}
    for pair in _pairs(target, budget):
        # One that no key reaches has findings of its own, and a key that a third one takes shows nothing.
        shows = target.example(pair.other) is not None and target.taker(pair.key) == pair.one
        if not shows or _is_pinned(target, pair):
            continue
        one, other = target.languages[pair.one], target.languages[pair.other]
        if isinstance(difference(one, other, budget.portion(budget.left)), Example):
            found.setdefault(pair.other, []).append(pair)
    return found


def _pairs(target: TargetRules, budget: Budget) -> Iterator[Overlap]:
    """The pairs of anchored sources that share a key."""
    anchored = [n for n, each in enumerate(target.languages) if each.tree is not None and not open_start(each.tree)]
    patterns = [target.rewrites[number].pattern for number in anchored]
    languages = [target.languages[number] for number in anchored]
    for one, other, key in overlaps(languages, lambda index, key: patterns[index].search(key) is not None, budget):
        yield Overlap(anchored[one], anchored[other], key)


def _is_pinned(target: TargetRules, pair: Overlap) -> bool:
    other = target.rewrites[pair.other].pattern
    return any(other.search(each.test.key) for each in target.tested.get(target.rewrites[pair.one].number, ()))


def _finding(target: TargetRules, later: int, pairs: list[Overlap]) -> Diagnostic:
    first = target.rewrites[pairs[0].one]
    key = shown(pairs[0].key)
    message = (
        f"{named(first)} and {len(pairs) - 1} more stand before it and take keys that it matches too, such as {key}"
        if len(pairs) > 1
        else f"{named(first)} stands before it and takes keys that it matches too, such as {key}"
    )
    notes = tuple(
        Note(
            f"{named(target.rewrites[pair.one])} takes {shown(pair.key)}",
            target.rewrites[pair.one].statement.source.span,
        )
        for pair in pairs[:_SHOWN]
    )
    advice = "if the order is meant, pin it with a test of that key; if not, narrow one of the two"
    return Diagnostic(NAME, message, target.rewrites[later].statement.source.span, advice, notes, SEVERITY)
