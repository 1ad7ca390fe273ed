from dataclasses import replace

from linting import block
from linting import report as linted

from tornado_proxy.lint.reporters.summary import summary


def test_numbers_by_severity(report):
    """Findings, files and severities are counted, and what fixes would cure."""
    assert summary(report) == (
        "9 findings in 2 files: 5 errors, 3 warnings, 1 info; `--fix` cures 1, `--unsafe-fixes` cures 2 more"
    )


def test_words_agree_with_the_status(harmless):
    """Where nothing fails the run, the line says so."""
    assert summary(harmless) == "1 finding: 1 info; none fails the run"


def test_a_run_that_nothing_may_fail():
    """Errors that are not to fail the run do not."""
    found = replace(linted(site=block("rewrite `(` -> `/`")), fail_level=None)
    assert summary(found) == "1 finding in 1 file: 1 error; none fails the run"


def test_safe_fixes():
    """Fixes that change no key are offered first."""
    found = linted(site=block("rewrite `^/a.b$` -> `b`\ntest `/a.b` -> `/b`"))
    expected = "2 findings in 1 file: 2 warnings; `--fix` cures 1, `--unsafe-fixes` cures 1 more"
    assert summary(found) == expected


def test_unsafe_fixes_alone():
    """Where there is no safe fix, only the other is offered."""
    found = linted(site=block("rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"))
    assert summary(found) == "1 finding in 1 file: 1 warning; `--unsafe-fixes` cures 1"
