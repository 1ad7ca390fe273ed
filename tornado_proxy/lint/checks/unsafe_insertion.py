r"""A template that inserts what a client chooses and what may span segments of the key.

A header, a query value, an email address, a group or another claim is whatever the client, or who vouches for it, made
of it: with a `/` in it the key lies in another directory than the template's author thinks. Results with `..` are
refused, so no key leaves the bucket's prefix; but `a/b` is a good key. A user's name cannot do that: one with a `/` is
refused at sign-in, so `user.username` is always one segment.

A value is not reported where a condition compares it with what is allowed, or makes sure that it holds no `/`;
nor where its slashes are taken out: by `replace`, by taking a part from between them (`split("/")[0]`), by functions
that make texts without any (`b32enc`), or by an expression that finds each of them (`regexReplaceAll "[^a-z]" … ""`).
What else is made of a value is taken for one that may have slashes.

### Avoid

```rules
target team {
    rewrite `^/box/(?P<file>[^/]+)$` -> jinja `/boxes/{{ request.headers["X-Team"] }}/{{ groups.file }}`

    test "/box/a.txt" header "X-Team" "blue" -> "/boxes/blue/a.txt"
}
```

### Prefer

```rules
target team {
    rewrite `^/box/(?P<file>[^/]+)$` -> jinja `
        /boxes/{{ request.headers["X-Team"] | replace("/", "") }}/{{ groups.file }}
    `

    test "/box/a.txt" header "X-Team" "blue" -> "/boxes/blue/a.txt"
}
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.insertion import ALL_GROUPS, Insertion
from tornado_proxy.lint.subject import Subject

NAME = check_name(__name__)
CATEGORY = Category.SECURITY
SEVERITY = Severity.WARNING


def _of_jinja(text: str) -> Iterator[Insertion]:
    from tornado_proxy.lint.insertion import jinja  # noqa: PLC0415 - Jinja2 is imported only where a file needs it

    return jinja.insertions(text)


def _of_go(text: str) -> Iterator[Insertion]:
    from tornado_proxy.lint.insertion import golang  # noqa: PLC0415 - its grammar is read only where a file needs it

    return golang.insertions(text)


_READERS: Mapping[Dialect, Callable[[str], Iterator[Insertion]]] = {Dialect.JINJA: _of_jinja, Dialect.GO: _of_go}
_ADVICE = {
    Dialect.JINJA: 'take the slashes out with `| replace("/", "")`, or compare it with what is allowed',
    Dialect.GO: 'take the slashes out with `| replace "/" ""`, or compare it with what is allowed',
}

_NO_TEXT = (
    "this inserts all groups of the user: a list has no text, so that the template always fails",
    'write one of them, `user.groups[0]`, or join them: `user.groups | join("-")`',
)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Look at what the templates insert that are not plain: a plain one inserts parts of the key alone."""
    rewrites = (rewrite for target in subject.targets for rewrite in target.rewrites)
    for rewrite in rewrites:
        if rewrite.dialect in _READERS:
            literal = rewrite.statement.template
            for what, start, end in _READERS[rewrite.dialect](literal.value):
                message = f"this inserts {what}: with a `/` in it, it spans several segments of the key"
                advice = _ADVICE[rewrite.dialect]
                if what == ALL_GROUPS:
                    message, advice = _NO_TEXT
                yield Diagnostic(NAME, message, literal.at(start, end), advice, severity=SEVERITY)
