import os
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from linting import rule_files

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Diagnostic, Note, Severity
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

GOLDEN = Path(__file__).parent / "golden"

SITE = r"""target site {
    rewrite `^/docs/(?P<rest>.*)$` -> "/manual/$rest"
	rewrite `^/docs/latest/,:%<&>$` -> "manual/4.2"
    rewrite wide `^/見出し/a.html$` -> "/x"

    test "/docs/a" -> "/manual/b"
}
"""
BROKEN = 'target team {\n    rewrite `^/a(` -> "/b"\n    test "/a" -> "\x1b[31m/b"'


@pytest.fixture(scope="session")
def report() -> LintReport:
    """A report with findings of all kinds: with and without place, notes, help and fixes, on one and on several lines."""
    files = [*rule_files(site=SITE), RuleFile("more rules/team.rules", BROKEN.encode()), *rule_files(empty="")]
    loaded = compile_rule_files(files)
    nowhere = Diagnostic("internal-error", "the check `x` failed: 100%, or more", notes=(Note("and nowhere"),))
    subject = subject_of(loaded)
    assert not subject.whole
    first = lint(replace(subject, mistakes=(nowhere, *subject.mistakes)), CHECKS)
    second = lint(subject_of(compile_rule_files(rule_files(site=SITE))), CHECKS)
    reported = {(diagnostic.code, diagnostic.span) for diagnostic in first.diagnostics}
    extra = tuple(found for found in second.diagnostics if (found.code, found.span) not in reported)
    return msgspec.structs.replace(first, diagnostics=first.diagnostics + extra)


@pytest.fixture(scope="session")
def clean() -> LintReport:
    """A report without findings."""
    return LintReport((), ("a.rules", "b.rules"), 3)


@pytest.fixture
def harmless() -> LintReport:
    """A report whose findings don't fail the run."""
    return LintReport((Diagnostic("hint", "could be nicer", severity=Severity.INFO),), ("a.rules",), 1)


@pytest.fixture
def golden():
    """Compares a text with a file; `UPDATE_GOLDEN=1` writes the file."""

    def compare(text: str, name: str) -> None:
        path = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare
