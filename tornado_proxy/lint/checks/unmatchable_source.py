r"""A source that no key can match.

A key begins with `/`, has no `.` or `..` as a segment and no control character, and ends where `$` says. A source that
asks for something else is never found; `^docs/`, without the slash, is the habit of those who know keys without one.
One between slashes, `/^\/docs/i`, is a habit of other languages, where the slashes are not part of it.

### Avoid

```rules
target site {
    rewrite `^docs/(?P<rest>.*)$` -> "/manual/$rest"

    test "/docs/a.html" -> unchanged
}
```

### Prefer

```rules
target site {
    rewrite `^/docs/(?P<rest>.*)$` -> "/manual/$rest"

    test "/docs/a.html" -> "/manual/a.html"
}
```

### Fix

Writes the slash, if it is what is missing, or takes away those around the source. Unsafe: keys are rewritten that were
not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.proofs import Example, NoKey, shortest_key
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.lang.literals import undelimited
from tornado_proxy.lang.tree import Literal
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import inserted, reworded
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.ERROR

STEPS = 100_000
"""What finding out about missing slashes may cost together."""

_KEYS = (
    "a key begins with `/`, has no `.` or `..` as a segment and no control character, and is at most 1024 bytes long"
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for sources that provably match no key."""
    budget = Budget(STEPS)
    for target in subject.targets:
        for rewrite, reach in zip(target.rewrites, target.reaches, strict=True):
            if isinstance(reach, NoKey):
                yield _finding(rewrite, budget)


def _finding(rewrite: Rewrite, budget: Budget) -> Diagnostic:
    source = rewrite.statement.source
    meant = undelimited(source.value)
    if meant is not None and _has_key(meant, budget):
        return _delimited(source, meant)
    slashed = f"^/{source.value[1:]}"
    if source.value.startswith("^") and _has_key(slashed, budget):
        edits = inserted(source, 1, "/")
        fixes = (Fix("write the slash", edits, Safety.UNSAFE),) if edits else ()
        message = "no key can match this: every key begins with `/`"
        return Diagnostic(NAME, message, source.span, f"write `{slashed}`", severity=SEVERITY, fixes=fixes)
    return Diagnostic(NAME, "no key can match this", source.span, _KEYS, severity=SEVERITY)


def _delimited(source: Literal, meant: str) -> Diagnostic:
    edits = reworded(source, 0, len(source.value), meant)
    fixes = (Fix("write it without them", edits, Safety.UNSAFE),) if edits else ()
    message = "no key can match this: the slashes around it are part of the source"
    return Diagnostic(NAME, message, source.span, f"write `{meant}`", severity=SEVERITY, fixes=fixes)


def _has_key(text: str, budget: Budget) -> bool:
    return isinstance(shortest_key(language(text), budget.portion(budget.left)), Example)
