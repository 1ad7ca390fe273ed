r"""A source that stands twice: the second rewrite is never reached.

Of two rewrites with the same source the first decides, whatever the second one's template says.

### Avoid

```rules
target site {
    rewrite `^/start$` -> "/index.html"
    rewrite `^/start$` -> "/home.html"

    test "/start" -> "/index.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/start$` -> "/index.html"

    test "/start" -> "/index.html"
}
```

### Fix

Deletes the second. Safe where it says nothing that the first does not say, neither in its template nor in a name or a
comment; unsafe otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Note, Safety, Severity
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import comments_of, named, removed
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.ERROR


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for sources that a target has already."""
    for target in subject.comparable:
        first: dict[str, Rewrite] = {}
        for rewrite in target.rewrites:
            earlier = first.setdefault(rewrite.pattern.text, rewrite)
            if earlier is not rewrite:
                yield _finding(rewrite, earlier)


def _finding(rewrite: Rewrite, earlier: Rewrite) -> Diagnostic:
    same = (rewrite.dialect, rewrite.template.text) == (earlier.dialect, earlier.template.text)
    says_more = rewrite.name or comments_of(rewrite.statement)
    edits = removed(rewrite.statement)
    fixes = (Fix("delete it", edits, Safety.SAFE if same and not says_more else Safety.UNSAFE),) if edits else ()
    return Diagnostic(
        NAME,
        f"{named(earlier)} has the same source and takes every key",
        rewrite.statement.source.span,
        "delete it: it says the same" if same else "delete the one that is no longer meant",
        (Note(f"{named(earlier)} stands before it", earlier.statement.source.span),),
        SEVERITY,
        fixes,
    )
