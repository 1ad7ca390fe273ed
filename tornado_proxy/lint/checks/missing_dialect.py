r"""A plain template that looks like one of another dialect.

Without `jinja` or `go` before it a template is plain: only `$` means something in it, and `{{ user.username }}` becomes
part of the key as it stands.

### Avoid

```rules
target team {
    rewrite `^/home/(?P<rest>.*)$` -> "/users/{{ user.username }}/{{ groups.rest }}"

    test "/home/a.txt" as "ann" -> "/users/{{ user.username }}/{{ groups.rest }}"
}
```

### Prefer

```rules
target team {
    rewrite `^/home/(?P<rest>.*)$` -> jinja "/users/{{ user.username }}/{{ groups.rest }}"

    test "/home/a.txt" as "ann" -> "/users/ann/a.txt"
}
```

### Fix

Writes the dialect, where no `$` would lose its meaning. Unsafe: keys are rewritten otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.WARNING

_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_GO = re.compile(r"\{\{-?\s*(?:\.|\$|end\b|else\b|(?:if|with|range|printf|template|define)\b)|\{\{[^}]*\s\.[A-Z]")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for holes of other dialects in plain templates."""
    for target in subject.targets:
        for rewrite in target.rewrites:
            hole = _HOLE.search(rewrite.template.text) if rewrite.dialect is Dialect.PLAIN else None
            if hole:
                yield _finding(rewrite, hole)


def _finding(rewrite: Rewrite, hole: re.Match[str]) -> Diagnostic:
    literal = rewrite.statement.template
    meant = "go" if _GO.search(rewrite.template.text) else "jinja"
    here = Span(literal.span.source, literal.span.start, literal.span.start)
    plain = not rewrite.template.group_references
    fixes = (Fix(f"write `{meant}`", (Edit(here, f"{meant} "),), Safety.UNSAFE),) if plain else ()
    message = f"`{hole[0]}` is plain text here, and becomes part of the key"
    groups = (
        "" if plain else (", and `groups.name` for a group" if meant == "jinja" else ", and `.Groups.name` for a group")
    )
    advice = f"write `{meant}` before the template{groups}"
    return Diagnostic(NAME, message, literal.at(*hole.span()), advice, severity=SEVERITY, fixes=fixes)
