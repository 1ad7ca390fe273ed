from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from linting import EVERY_FIX, block, rule_files

from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, lint
from tornado_proxy.lint.fixing import ROUNDS, apart, applicable, changed, edited, fix_all
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

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
