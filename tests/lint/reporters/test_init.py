from linting import block
from linting import report as linted
from msgspec.structs import replace

from tornado_proxy.lint.reporters import render_concise, render_full, summary


def test_the_full_format_has_every_finding(report, golden):
    """The full format has excerpts, carets, help and notes of each finding, and a summary."""
    golden(render_full(report), "full.txt")


def test_a_clean_run_in_the_full_format_is_one_line(clean):
    """Without findings, the full format has only the summary."""
    assert render_full(clean) == "all clean: 3 rewrites in 2 files\n"


def test_colours_are_off_by_default(harmless):
    """The full format has escape sequences only with `color`."""
    assert "\x1b[" in render_full(harmless, color=True)
    assert "\x1b[" not in render_full(harmless)


def test_the_concise_format_has_a_line_for_each_finding(report, golden):
    """A line has place, severity, code and message, without control characters."""
    golden(render_concise(report), "concise.txt")


def test_a_clean_run_in_the_concise_format_is_one_line(clean):
    """Without findings, the concise format has only the summary."""
    assert render_concise(clean) == "all clean: 3 rewrites in 2 files\n"


def test_the_summary_counts_by_severity(report):
    """The summary counts findings, files, severities and fixable findings."""
    assert summary(report) == (
        "9 findings in 2 files: 5 errors, 3 warnings, 1 info; 1 fixable with `--fix`, 2 more with `--unsafe-fixes`"
    )


def test_the_summary_states_that_nothing_fails_the_run(harmless):
    assert summary(harmless) == "1 finding: 1 info; nothing fails the run"


def test_without_a_level_nothing_fails_the_run():
    """Without a level, errors don't fail the run."""
    result = replace(linted(site=block("rewrite `(` -> `/`")), fail_level=None)
    assert summary(result) == "1 finding in 1 file: 1 error; nothing fails the run"


def test_safe_fixes_are_counted_first():
    """The summary counts safe fixes before unsafe ones."""
    result = linted(site=block("rewrite `^/a.b$` -> `b`\ntest `/a.b` -> `/b`"))
    expected = "2 findings in 1 file: 2 warnings; 1 fixable with `--fix`, 1 more with `--unsafe-fixes`"
    assert summary(result) == expected


def test_only_unsafe_fixes_are_counted():
    """Without safe fixes, the summary has the unsafe ones only."""
    result = linted(site=block("rewrite `^/a.b$` -> `/b`\ntest `/a.b` -> `/b`"))
    assert summary(result) == "1 finding in 1 file: 1 warning; 1 fixable with `--unsafe-fixes`"
