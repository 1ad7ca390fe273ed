r"""A query in a rule: no key has one.

A source sees the key and nothing else, so `\?page=1` matches only a question mark that the client has percent-encoded,
and a template that writes `?page=1` asks the bucket for an object of that name. What a query says can be read by a
`jinja` or `go` template.

### Avoid

```rules
target site {
    rewrite `^/show\?page=(?P<page>\w+)$` -> "/pages/$page.html"

    test "/show?page=2" -> "/pages/2.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/show$` -> jinja `/pages/{{ request.query.page | replace("/", "") }}.html`

    test "/show" -> error
}
```
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.tree import Dialect, Literal
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.model import Rewrite

NAME = check_name(__name__)
CATEGORY = Category.MISTAKES
SEVERITY = Severity.WARNING

_IN_SOURCE = re.compile(r"(?:\\\?|\[\?\])[\w.-]+=")
_IN_TEXT = re.compile(r"\?[\w.-]+=")

_Query = tuple[Literal, re.Match[str]]


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look for a question mark, a name and an equals sign."""
    for target in subject.targets:
        for literal, found in _queries(target):
            message = f"`{found[0]}` looks like a query, and no key has one"
            advice = "write the path alone; a `jinja` or `go` template can read the query"
            yield Diagnostic(NAME, message, literal.at(*found.span()), advice, severity=SEVERITY)


def _queries(target: TargetRules) -> Sequence[_Query]:
    """The findings in rewrites, or if there are none, those in tests."""
    in_rewrites = [query for rewrite in target.rewrites for query in _queries_of(rewrite)]
    keys = (test.statement.key for test in target.rule_set.tests)
    return in_rewrites or [(key, found) for key in keys for found in _IN_TEXT.finditer(key.value)]


def _queries_of(rewrite: Rewrite) -> Iterator[_Query]:
    source, template = rewrite.statement.source, rewrite.statement.template
    yield from ((source, found) for found in _IN_SOURCE.finditer(source.value))
    if rewrite.dialect is Dialect.PLAIN:
        yield from ((template, found) for found in _IN_TEXT.finditer(template.value))
