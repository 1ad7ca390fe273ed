"""Tests of rules that fail or are missing."""

from __future__ import annotations

from collections.abc import Iterator

from gotemplate.regexp.proofs import Covered, NoKey
from tornado_proxy.lint.check import Category, LintFinding, Subject, TargetRules, check
from tornado_proxy.lint.limits import LONGEST_COPIED_TEST
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.rules.model import Rewrite, failure
from tornado_proxy.rules.tree import Literal, TestStatement, string_text


@check(Category.TESTS, Severity.ERROR)
def failing_test(subject: Subject) -> Iterator[LintFinding]:
    """A test that fails."""
    if subject.whole:
        for target in subject.targets:
            for outcome in target.outcomes:
                if not outcome.passed:
                    said = failure(outcome)
                    yield LintFinding(said.message, said.span, said.help or "", said.notes, said.fixes)


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
    if key is None or result is None or len(key + result) > LONGEST_COPIED_TEST:
        return "add a `test` of a key that it takes"
    span = target.rewrites[index].span
    written = (string_text(Literal(each, span)) for each in (key, result))
    return f"add a test of a real key, such as `test {' -> '.join(written)}`"
