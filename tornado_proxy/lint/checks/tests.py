"""Tests of rules that fail or are missing."""

from __future__ import annotations

from collections.abc import Iterator

from gotemplate.regexp.proofs import Covered, NoKey
from tornado_proxy.lint.check import Category, LintFinding, Subject, TargetRules, check, named, offer, shown
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Note, Safety, Severity, Span
from tornado_proxy.rules.literals import string_text
from tornado_proxy.rules.model import Rewrite, RewriteError, TestOutcome
from tornado_proxy.rules.tree import Literal, TestStatement, Verdict

_LONGEST = 200  # characters of a test that is worth copying


@check(Category.TESTS, Severity.ERROR)
def failing_test(subject: Subject) -> Iterator[LintFinding]:
    """A test that fails."""
    if subject.whole:
        for target in subject.targets:
            for outcome in target.outcomes:
                if not outcome.passed:
                    yield _failing(outcome)


def failure(outcome: TestOutcome) -> Diagnostic:
    """Returns the diagnostic of a test that failed."""
    return failing_test.diagnostic(_failing(outcome))


def _failing(outcome: TestOutcome) -> LintFinding:
    rewrite = outcome.rewrite
    notes = (Note(f"{named(rewrite)} takes the key", rewrite.span),) if rewrite else ()
    advice = "write a rewrite for it, or expect that"
    if rewrite:
        advice = f"change {named(rewrite)}, or what the test expects"
    span, key, got = _expected(outcome.test.statement), shown(outcome.test.key), outcome.got
    if isinstance(got, RewriteError):
        fact, written = f"{key} is refused ({got})", Verdict.ERROR.value
    elif got.rewrite:
        fact, written = f"{key} becomes {shown(got.key)}", string_text(Literal(got.key, span))
    else:
        fact, written = f"no rewrite matches {key}", Verdict.UNCHANGED.value
    fixes = offer("expect what happens", (Edit(span, written),), Safety.DISPLAY) if span.text else ()
    return LintFinding(f"{fact}, {_expectation(outcome)}", span, advice, notes, fixes)


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


def _expected(statement: TestStatement) -> Span:
    if isinstance(statement.expected, Literal):
        return statement.expected.span
    end = statement.span.end
    return Span(statement.span.source, max(statement.span.start, end - len(statement.expected.value)), end)


@check(Category.TESTS, Severity.INFO)
def untested_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite that no test reaches."""
    if not subject.whole:
        return
    for target in subject.targets:
        if any(isinstance(each, TestStatement) for block in target.blocks for each in block.statements):
            for index, rewrite in enumerate(target.rewrites):
                if rewrite.number not in target.tested and not isinstance(target.reaches[index], Covered | NoKey):
                    yield _unreached(rewrite, _suggestion(target, index))
        else:
            untested = [untested_rewrite.diagnostic(_unreached(each)) for each in target.rewrites]
            asked = [index for index, each in enumerate(untested) if not subject.allowances.silence(each)]
            if asked:
                message = f"the target `{target.name}` has no test"
                yield LintFinding(message, target.blocks[0].name.span, _suggestion(target, asked[0]))


def _unreached(rewrite: Rewrite, advice: str = "") -> LintFinding:
    return LintFinding("no test reaches this rewrite", rewrite.statement.source.span, advice)


def _suggestion(target: TargetRules, index: int) -> str:
    """Returns a test that passes now, as help."""
    key = target.example(index)
    result = None if key is None else target.result(key)
    if key is None or result is None or len(key + result) > _LONGEST:
        return "add a `test` of a key that it takes"
    span = target.rewrites[index].span
    written = (string_text(Literal(each, span)) for each in (key, result))
    return f"add a test of a real key, such as `test {' -> '.join(written)}`"
