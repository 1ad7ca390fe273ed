r"""A rewrite that no key reaches: earlier ones, one or several together, take every key that it could.

The first source that matches decides, so a special case that stands below the general one never has its turn. It is
proved on the expressions themselves, over all keys that there can be, in any number of rewrites; where a proof would
take too long nothing is reported.

### Avoid

```rules
target site {
    rewrite `^/docs/(?P<rest>.*)$`        -> "/manual/$rest"
    rewrite `^/docs/latest/(?P<rest>.*)$` -> "/manual/4.2/$rest"

    test "/docs/3.0/index.html" -> "/manual/3.0/index.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/docs/latest/(?P<rest>.*)$` -> "/manual/4.2/$rest"
    rewrite `^/docs/(?P<rest>.*)$`        -> "/manual/$rest"

    test "/docs/latest/index.html" -> "/manual/4.2/index.html"
    test "/docs/3.0/index.html"    -> "/manual/3.0/index.html"
}
```

### Fix

Moves the rewrite, with its comments, above the one that takes its keys, if it is one and in the same block. Unsafe:
keys are rewritten otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.proofs import Covered, NoKey, difference
from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Note, Safety, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import listed, moved, named
from tornado_proxy.lint.subject import Subject, TargetRules

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.WARNING

STEPS = 100_000
"""What finding out about alike sources may cost together, beyond the proofs themselves."""


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for rewrites whose keys are provably all taken by earlier ones."""
    budget = Budget(STEPS)
    for target in subject.comparable:
        seen: set[str] = set()
        for index, reach in enumerate(target.reaches):
            text = target.rewrites[index].pattern.text
            # The same source again is a finding of its own.
            if isinstance(reach, Covered) and text not in seen:
                yield _finding(target, index, reach.by, budget)
            seen.add(text)


def _finding(target: TargetRules, index: int, by: Sequence[int], budget: Budget) -> Diagnostic:
    rewrite = target.rewrites[index]
    takers = [target.rewrites[each] for each in by]
    verb = "takes" if len(takers) == 1 else "together take"
    message = f"no key reaches this rewrite: {listed(map(named, takers))} {verb} every key that it could"
    notes = tuple(Note(f"{named(each)} stands before it", each.statement.source.span) for each in takers)
    if len(by) == 1 and _alike(target, by[0], index, budget):
        return Diagnostic(NAME, message, rewrite.statement.source.span, "delete one of the two", notes, SEVERITY)
    edits = moved(rewrite.statement, takers[0].statement) if len(takers) == 1 else ()
    fixes = (Fix(f"move it above {named(takers[0])}", edits, Safety.UNSAFE),) if edits else ()
    advice = f"move it above {named(takers[0])}, where the special case belongs, or delete it"
    return Diagnostic(NAME, message, rewrite.statement.source.span, advice, notes, SEVERITY, fixes)


def _alike(target: TargetRules, taker: int, index: int, budget: Budget) -> bool:
    """Returns whether two sources take the same keys."""
    example = target.example(taker)
    if example and not target.rewrites[index].pattern.search(example):
        return False
    one, other = target.languages[taker], target.languages[index]
    return isinstance(difference(one, other, budget.portion(budget.left)), NoKey)
