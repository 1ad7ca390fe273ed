from dataclasses import replace

from linting import block, report, rule_files, subject

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.lint.check import Category, Check, Selection
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import INTERNAL_ERROR, lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import compile_rule_files

DOT = "rewrite `^/a.html$` -> `/b`"


def _fails(_subject):
    yield Diagnostic("half", "found before it failed")
    raise ZeroDivisionError("of its own")


def test_a_check_that_fails_is_a_finding():
    """What it found stays, what others find too, and the run is broken."""
    failing = Check("half", Category.DOUBTS, Severity.INFO, "", _fails)
    result = lint(subject(DOT), [failing, *CHECKS])
    assert [each.message for each in result.diagnostics][:2] == [
        "found before it failed",
        "the check `half` failed: ZeroDivisionError: of its own",
    ]
    assert "unescaped-dot" in {each.code for each in result.diagnostics}
    assert result.broken
    assert INTERNAL_ERROR in {each.code for each in result.failing}


def test_findings_are_in_the_order_of_the_files():
    """By file, in the order in which they were read, then by place, whoever found them."""
    files = rule_files(b=block(DOT), a=block(f"{DOT}\nrewrite `c` -> `d`"))
    result = lint(subject_of(compile_rule_files(files)), CHECKS)
    found = [(each.span.source.name, each.span.start) for each in result.diagnostics if each.span]
    assert found == sorted(found, key=lambda place: (place[0] != "b.rules", place[1]))
    assert {name for name, _ in found} == {"a.rules", "b.rules"}


def test_a_report_says_what_was_looked_at():
    """Files and rewrites are counted, those with mistakes too."""
    result = report(site=block(f"{DOT}\nrewrite `(` -> `/`"), other="")
    assert (result.files, result.rewrite_count) == (("site.rules", "other.rules"), 2)
    assert not result.broken


def test_what_fails_a_run():
    """Findings of a severity and above do; none does where there is no level."""
    result = report(site=block(DOT))
    numbers = [len(replace(result, fail_level=level).failing) for level in (*Severity, None)]
    assert numbers == [0, 1, 2, 0]


def test_only_what_is_selected_runs():
    """A selection of names decides which checks run, and what is judged."""
    chosen = Selection(frozenset({"unescaped-dot"}))
    result = lint(subject(DOT), CHECKS, chosen)
    assert {each.code for each in result.diagnostics} == {"unescaped-dot"}
    assert result.judged == {"unescaped-dot"}


def test_files_may_be_left_out():
    """What is off for a file by its path is not told of it, and told of others."""
    files = rule_files(a=block(DOT), b=block(DOT))
    chosen = Selection(frozenset({"unescaped-dot"}), per_file={"a.*": frozenset({"doubts"})})
    result = lint(subject_of(compile_rule_files(files)), CHECKS, chosen)
    assert [each.span.source.name for each in result.diagnostics] == ["b.rules"]


def test_mistakes_are_told_beside_what_checks_find():
    """A mistake in one statement hides nothing in another."""
    codes = {each.code for each in report(site=block(f"rewrite `(` -> `/`\n{DOT}")).diagnostics}
    assert {"bad-source", "unescaped-dot"} <= codes


def test_a_file_that_is_not_utf_8_is_a_finding():
    """It is told with its place, and the others are linted."""
    files = [*rule_files(site=block(DOT)), replace(rule_files(x="")[0], data=b"\xff")]
    codes = {each.code for each in lint(subject_of(compile_rule_files(files)), CHECKS).diagnostics}
    assert {"not-utf-8", "unescaped-dot"} <= codes
