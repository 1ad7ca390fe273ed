"""What is said of a rule test that failed."""

from __future__ import annotations

from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Span, shortened
from tornado_proxy.rules.model import RewriteError, TestOutcome
from tornado_proxy.rules.tree import Literal, Verdict, string_text

FAILING_TEST = "failing-test"
"""The code of a rule test that fails, in the linter and in the service."""

_LONGEST = 80  # characters of a key


def failure(outcome: TestOutcome) -> Diagnostic:
    """Returns the diagnostic of a test that failed."""
    rewrite, statement, got = outcome.rewrite, outcome.test.statement, outcome.got
    notes = (Note(f"`{rewrite.label}` takes the key", rewrite.span),) if rewrite else ()
    advice = (
        f"change `{rewrite.label}`, or what the test expects" if rewrite else "write a rewrite for it, or expect that"
    )
    if isinstance(statement.expected, Literal):
        span = statement.expected.span
    else:
        source, start, end = statement.span.source, statement.span.start, statement.span.end
        span = Span(source, max(start, end - len(statement.expected.value)), end)
    key = _shown(outcome.test.key)
    if isinstance(got, RewriteError):
        fact, written = f"{key} is refused ({got})", Verdict.ERROR.value
    elif got.rewrite:
        fact, written = f"{key} becomes {_shown(got.key)}", string_text(Literal(got.key, span))
    else:
        fact, written = f"no rewrite matches {key}", Verdict.UNCHANGED.value
    fixes = (Fix("expect what happens", (Edit(span, written),), Safety.DISPLAY),) if span.text else ()
    return Diagnostic(FAILING_TEST, f"{fact}, {_expectation(outcome)}", span, advice, notes, fixes=fixes)


def _expectation(outcome: TestOutcome) -> str:
    match outcome.test.expected:
        case Verdict.UNCHANGED:
            return "but the test expects no rewrite to match"
        case Verdict.ERROR:
            return "but the test expects an error"
        case expected if outcome.rewrite and not isinstance(outcome.got, RewriteError):
            return f"not {_shown(expected)}"
        case expected:
            return f"but the test expects {_shown(expected)}"


def _shown(key: str) -> str:
    return f"`{shortened(key, _LONGEST)}`"
