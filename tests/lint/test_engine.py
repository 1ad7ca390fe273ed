from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from linting import EVERY_FIX, block, report, rule_files, subject

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, SourceFile, Span
from tornado_proxy.lint.check import Category, Check, LintFinding
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import (
    INTERNAL_ERROR,
    ROUNDS,
    LintReport,
    apart,
    applicable,
    changed,
    edited,
    fix_all,
    lint,
)
from tornado_proxy.lint.settings import Selection
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

DOT = "rewrite `^/a.html$` -> `/b`"


class Half(Check):
    """A check that fails."""

    category = Category.DOUBTS
    severity = Severity.INFO

    def find(self, subject):
        """Yields one finding, and fails."""
        yield LintFinding("found before it failed", None, "")
        raise ZeroDivisionError("of its own")


def test_a_check_that_fails_is_a_finding():
    """What it found stays, what others find too, and the run is broken."""
    result = lint(subject(DOT), [Half(), *CHECKS])
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


def test_mistakes_are_reported_beside_what_checks_find():
    """A mistake in one statement hides nothing in another."""
    codes = {each.code for each in report(site=block(f"rewrite `(` -> `/`\n{DOT}")).diagnostics}
    assert {"bad-source", "unescaped-dot"} <= codes


def test_a_file_that_is_not_utf_8_is_a_finding():
    """It is told with its place, and the others are linted."""
    files = [*rule_files(site=block(DOT)), replace(rule_files(x="")[0], data=b"\xff")]
    codes = {each.code for each in lint(subject_of(compile_rule_files(files)), CHECKS).diagnostics}
    assert {"not-utf-8", "unescaped-dot"} <= codes


SOURCE = SourceFile("site.rules", "0123456789")
SAFE = frozenset({Safety.SAFE})


def _edit(start, end, text="x"):
    return Edit(Span(SOURCE, start, end), text)


def _fix(*edits, safety=Safety.SAFE):
    return Fix("do it", edits, safety)


def _look(files):
    return lint(subject_of(compile_rule_files(files)), CHECKS)


def _fixed(text, allowed=EVERY_FIX):
    return fix_all([RuleFile("site.rules", text)], _look, allowed)


def test_the_first_fix_that_is_allowed_is_applied():
    """A diagnostic may offer several; one is taken."""
    shown, unsafe, safe = (_fix(safety=each) for each in (Safety.DISPLAY, Safety.UNSAFE, Safety.SAFE))
    diagnostics = [Diagnostic("a", "b", fixes=(shown, unsafe, safe)), Diagnostic("a", "b", fixes=(shown,))]
    assert applicable(diagnostics, EVERY_FIX) == [unsafe]
    assert applicable(diagnostics, SAFE) == [safe]


def test_fixes_that_touch_wait_for_the_next_round():
    """Of two that touch one place the first is taken, whole."""
    one, two, three = _fix(_edit(0, 2)), _fix(_edit(5, 6), _edit(2, 3)), _fix(_edit(5, 6))
    assert apart([one, two, three]) == [one, three]


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=4), st.randoms())
def test_the_order_of_edits_does_not_matter(spans, random):
    """Edits that do not touch give one text, in whatever order they come."""
    fixes = apart([_fix(_edit(min(span), max(span), "-")) for span in spans])
    edits = [edit for fix in fixes for edit in fix.edits]
    shuffled = random.sample(edits, len(edits))
    assert edited(SOURCE.text, shuffled) == edited(SOURCE.text, edits)


def test_fixes_are_applied_until_none_is_left():
    """A fix may make room for another: an anchored source is then found to be a duplicate."""
    result = _fixed(block("rewrite `^/a$` -> `/b`\nrewrite `/a` -> `/b`\ntest `/a` -> `/b`").encode())
    assert result.files[0].data.decode() == block("rewrite `^/a$` -> `/b`\ntest `/a` -> `/b`")
    assert (result.report.diagnostics, result.count) == ((), 2)


def test_marks_and_line_ends_stay():
    """A byte order mark and CR LF are as they were."""
    text = b"\xef\xbb\xbftarget site {\r\n rewrite `^/a$` -> `b`\r\n test `/a` -> `/b`\r\n}\r\n"
    result = _fixed(text)
    assert result.files[0].data == text.replace(b"-> `b`", b"-> `/b`")


def test_what_cannot_be_read_stays():
    """A file that is not text is left alone, and the others are fixed."""
    files = [RuleFile("a.rules", b"\xff"), *rule_files(site=block("rewrite `^/a$` -> `b`\ntest `/a` -> `/b`"))]
    result = fix_all(files, _look, SAFE)
    assert list(changed(files, result.files)) == [files[1]]


def test_a_fix_that_would_break_the_file_is_not_applied():
    """A file is never left with more mistakes than it had."""
    text = block("rewrite `^/a$` -> `/{{ printf 'x' }}`\ntest `/a` -> error").encode()
    result = _fixed(text)
    assert (result.files[0].data, result.count) == (text, 0)


def test_a_fix_that_would_break_the_file_keeps_no_other_from_being_applied():
    """Only the fix that breaks something is left out, of many in one round."""
    rest = "".join(f"rewrite `^/{letter}$` -> `{letter}x`\n" for letter in "bcde")
    broken = "rewrite `^/a$` -> `/{{ printf 'x' }}`\n"
    result = _fixed(block(rest + broken + rest.replace("^/", "^/x")).encode())
    after = rest.replace("-> `", "-> `/")
    assert result.files[0].data.decode() == block(after + broken + after.replace("^/", "^/x"))
    assert result.count == 8


def test_fixes_that_never_end_are_given_up():
    """A cycle of fixes is a defect that must not hang the tool."""
    numbers = count()

    def look(files):
        source = SourceFile("site.rules", files[0].data.decode())
        edit = Edit(Span(source, 0, len(source.text)), str(next(numbers)))
        return LintReport(
            (Diagnostic("again", "and again", fixes=(Fix("go on", (edit,), Safety.SAFE),)),),
            judged=frozenset({"again"}),
        )

    assert fix_all([RuleFile("site.rules", b"")], look, SAFE).count == ROUNDS
