from dataclasses import replace

from linting import block
from linting import report as linted

from tornado_proxy.lint.reporters import render_concise, render_full, summary


def test_every_finding_with_its_lines(report, golden):
    """Excerpt, carets, help and notes, one finding after the other, and a summary."""
    golden(render_full(report), "full.txt")


def test_a_clean_run(clean):
    """There is one line."""
    assert render_full(clean) == "all clean: 3 rewrites in 2 files\n"


def test_colours(harmless):
    """They are for terminals, when asked for."""
    assert "\x1b[" in render_full(harmless, color=True)
    assert "\x1b[" not in render_full(harmless)


def test_a_line_for_each_finding(report, golden):
    """Place, severity, code and message, with nothing in them that a terminal obeys, and a summary."""
    golden(render_concise(report), "concise.txt")


def test_a_clean_run_is_one_line(clean):
    """There is one line."""
    assert render_concise(clean) == "all clean: 3 rewrites in 2 files\n"


def test_numbers_by_severity(report):
    """Findings, files and severities are counted, and what fixes would cure."""
    assert summary(report) == (
        "9 findings in 2 files: 5 errors, 3 warnings, 1 info; 1 fixable with `--fix`, 2 more with `--unsafe-fixes`"
    )


def test_words_agree_with_the_status(harmless):
    """Where nothing fails the run, the line says so."""
    assert summary(harmless) == "1 finding: 1 info; nothing fails the run"


def test_a_run_that_nothing_may_fail():
    """Errors that are not to fail the run do not."""
    found = replace(linted(site=block("rewrite `(` -> `/`")), fail_level=None)
    assert summary(found) == "1 finding in 1 file: 1 error; nothing fails the run"


def test_safe_fixes():
    """Fixes that change no key are offered first."""
    found = linted(site=block("rewrite `^/a.b$` -> `b`\ntest `/a.b` -> `/b`"))
    expected = "2 findings in 1 file: 2 warnings; 1 fixable with `--fix`, 1 more with `--unsafe-fixes`"
    assert summary(found) == expected


def test_unsafe_fixes_alone():
    """Where there is no safe fix, only the other is offered."""
    found = linted(site=block("rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"))
    assert summary(found) == "1 finding in 1 file: 1 warning; 1 fixable with `--unsafe-fixes`"
