r"""Percent-encoding in a rule: keys are decoded before the rules see them.

The path `/my%20files/` is the key `/my files/`, in sources, templates and tests alike. A source with `%20` in it
matches only what a client has encoded twice, and a template asks the bucket for a key with a percent sign in it.

### Avoid

```rules
target site {
    rewrite `^/my%20files/(?P<rest>.*)$` -> "/files/$rest"

    test "/my%20files/a.txt" -> "/files/a.txt"  # allow: percent-encoding (the same, again)
}
```

### Prefer

```rules
target site {
    rewrite `^/my files/(?P<rest>.*)$` -> "/files/$rest"

    test "/my files/a.txt" -> "/files/a.txt"
}
```

### Fix

Decodes it. Unsafe: keys are rewritten otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from tornado_proxy.lang.diagnostic import Diagnostic, Fix, Safety, Severity
from tornado_proxy.lang.tree import Dialect, Literal
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import reworded
from tornado_proxy.lint.subject import Subject, TargetRules

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.WARNING

_ENCODED = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at sources, plain templates, and the keys of tests."""
    for target in subject.targets:
        for literal, is_source in _literals(target):
            for found in _ENCODED.finditer(literal.value) if "%" in literal.value else ():
                yield _finding(literal, found, is_source=is_source)


def _literals(target: TargetRules) -> Iterator[tuple[Literal, bool]]:
    for rewrite in target.rewrites:
        yield rewrite.statement.source, True
        if rewrite.dialect is Dialect.PLAIN:
            yield rewrite.statement.template, False
    for test in target.rule_set.tests:
        yield test.statement.key, False
        if isinstance(test.statement.expected, Literal):
            yield test.statement.expected, False


def _finding(literal: Literal, found: re.Match[str], *, is_source: bool) -> Diagnostic:
    decoded = unquote(found[0])
    readable = decoded.isprintable() and "\N{REPLACEMENT CHARACTER}" not in decoded
    meant = re.escape(decoded) if is_source and not decoded.isspace() else decoded
    edits = reworded(literal, *found.span(), meant) if readable else ()
    fixes = (Fix("decode it", edits, Safety.UNSAFE),) if edits else ()
    written = "a space" if decoded == " " else f"`{meant}`"
    advice = f"write {written}" if readable else "leave it out: no key holds such a character"
    message = f"`{found[0]}` stands for itself here: keys are decoded"
    return Diagnostic(NAME, message, literal.at(*found.span()), advice, severity=SEVERITY, fixes=fixes)
