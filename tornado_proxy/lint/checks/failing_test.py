r"""A test that does not come true.

A test says what its author thinks that the rewrites do. Either the test or a rewrite is wrong. The service warns of a
failing test in an edit, or refuses the edit where `reload: {tests: refuse}` is set.

### Avoid

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/$page"

    test "/press/spring.html" -> "/archive/press/spring.html"
}
```

### Prefer

```rules
target site {
    rewrite `^/press/(?P<page>[^/]+)$` -> "/archive/press/$page"

    test "/press/spring.html" -> "/archive/press/spring.html"
}
```

### Fix

Expects what happens. Only shown: it is as likely that the rewrite is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Severity, Span
from tornado_proxy.lang.literals import string_text
from tornado_proxy.lang.tree import Literal, TestStatement, Verdict
from tornado_proxy.lint.check import Category, check_name
from tornado_proxy.lint.findings import named, shown
from tornado_proxy.lint.subject import Subject
from tornado_proxy.rules.model import RewriteError, TestOutcome

NAME = check_name(__name__)
CATEGORY = Category.TESTS
SEVERITY = Severity.ERROR


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Run every test, where no mistake has left a rewrite out."""
    if subject.whole:
        for target in subject.targets:
            for outcome in target.outcomes:
                if not outcome.passed:
                    yield finding(outcome)


def finding(outcome: TestOutcome) -> Diagnostic:
    """The diagnostic of a test that failed."""
    statement, rewrite = outcome.test.statement, outcome.rewrite
    notes = (Note(f"{named(rewrite)} takes the key", rewrite.span),) if rewrite else ()
    advice = f"change {named(rewrite)}, or what is expected" if rewrite else "write a rewrite for it, or expect that"
    message = f"{_fact(outcome)}, {_expectation(outcome)}"
    span = _expected(statement)
    fixes = (Fix("expect what happens", (Edit(span, _written(outcome, span)),), Safety.DISPLAY),) if span.text else ()
    return Diagnostic(NAME, message, span, advice, notes, SEVERITY, fixes)


def _fact(outcome: TestOutcome) -> str:
    key = shown(outcome.test.key)
    if isinstance(outcome.got, RewriteError):
        return f"{key} is refused ({outcome.got})"
    return f"{key} becomes {shown(outcome.got.key)}" if outcome.got.rewrite else f"no rewrite matches {key}"


def _expectation(outcome: TestOutcome) -> str:
    match outcome.test.expected:
        case Verdict.UNCHANGED:
            return "but the test expects no rewrite to match"
        case Verdict.ERROR:
            return "but the test expects an error"
        case expected if outcome.rewrite and not isinstance(outcome.got, RewriteError):
            return f"not {shown(expected)}"
        case expected:
            return f"but the test expects {shown(expected)}"


def _written(outcome: TestOutcome, span: Span) -> str:
    if isinstance(outcome.got, RewriteError):
        return Verdict.ERROR.value
    return string_text(Literal(outcome.got.key, span)) if outcome.got.rewrite else Verdict.UNCHANGED.value


def _expected(statement: TestStatement) -> Span:
    """Where a test says what it expects."""
    if isinstance(statement.expected, Literal):
        return statement.expected.span
    end = statement.span.end
    return Span(statement.span.source, max(statement.span.start, end - len(statement.expected.value)), end)
