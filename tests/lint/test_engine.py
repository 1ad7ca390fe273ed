import os
from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from linting import EVERY_FIX, block, report, rule_files, subject

from tornado_proxy.lint.check import Category, LintFinding, check
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import (
    INTERNAL_ERROR,
    LintReport,
    apart,
    applicable,
    changed,
    difference,
    edited,
    fix_all,
    formatted,
    lint,
    replace_file,
)
from tornado_proxy.lint.limits import ROUNDS_OF_FIXES
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Safety, Severity, SourceFile, Span
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

DOT = "rewrite `^/a.html$` -> `/b`"


@check(Category.DOUBTS, Severity.INFO)
def failing_check(_subject):
    """A check that yields one finding and fails."""
    yield LintFinding("found before it failed", None, "")
    raise ZeroDivisionError("of its own")


def test_a_check_that_fails_is_a_finding():
    """The findings of the failed check and of other checks stay, and the run is broken."""
    result = lint(subject(DOT), [failing_check, *CHECKS])
    expected = ["found before it failed", "the check `failing-check` failed: ZeroDivisionError: of its own"]
    assert [diagnostic.message for diagnostic in result.diagnostics][:2] == expected
    assert "unescaped-dot" in {diagnostic.code for diagnostic in result.diagnostics}
    assert result.broken
    assert INTERNAL_ERROR in {diagnostic.code for diagnostic in result.failing}


def test_findings_are_in_the_order_of_files_and_places():
    files = rule_files(b=block(DOT), a=block(f"{DOT}\nrewrite `c` -> `d`"))
    result = lint(subject_of(compile_rule_files(files)), CHECKS)
    places = [
        (diagnostic.span.source.name, diagnostic.span.start) for diagnostic in result.diagnostics if diagnostic.span
    ]
    assert places == sorted(places, key=lambda place: (place[0] != "b.rules", place[1]))
    assert {name for name, _ in places} == {"a.rules", "b.rules"}


def test_a_report_counts_files_and_rewrites():
    """Files and rewrites with mistakes are counted too."""
    result = report(site=block(f"{DOT}\nrewrite `(` -> `/`"), other="")
    assert (result.files, result.rewrite_count) == (("site.rules", "other.rules"), 2)
    assert not result.broken


def test_mistakes_are_reported_beside_findings():
    """A mistake in one statement hides no finding in another."""
    codes = {diagnostic.code for diagnostic in report(site=block(f"rewrite `(` -> `/`\n{DOT}")).diagnostics}
    assert {"bad-source", "unescaped-dot"} <= codes


def test_a_file_that_is_not_utf_8_is_a_finding():
    files = [*rule_files(site=block(DOT)), replace(rule_files(x="")[0], data=b"\xff")]
    codes = {diagnostic.code for diagnostic in lint(subject_of(compile_rule_files(files)), CHECKS).diagnostics}
    assert {"not-utf-8", "unescaped-dot"} <= codes


SOURCE = SourceFile("site.rules", "0123456789")
SAFE = frozenset({Safety.SAFE})


def _edit(start, end, text="x"):
    return Edit(Span(SOURCE, start, end), text)


def _fix(*edits, safety=Safety.SAFE):
    return Fix("do it", edits, safety)


def _lint(files):
    return lint(subject_of(compile_rule_files(files)), CHECKS)


def _fixed(text, allowed=EVERY_FIX):
    return fix_all([RuleFile("site.rules", text)], _lint, allowed)


def test_the_first_allowed_fix_is_applied():
    """Of several fixes of a diagnostic, one is applied."""
    display, unsafe, safe = (_fix(safety=safety) for safety in (Safety.DISPLAY, Safety.UNSAFE, Safety.SAFE))
    diagnostics = [Diagnostic("a", "b", fixes=(display, unsafe, safe)), Diagnostic("a", "b", fixes=(display,))]
    assert applicable(diagnostics, EVERY_FIX) == [unsafe]
    assert applicable(diagnostics, SAFE) == [safe]


def test_adjacent_fixes_wait_for_the_next_round():
    """Of two fixes that touch the same place, only the first one is applied, completely."""
    one, two, three = _fix(_edit(0, 2)), _fix(_edit(5, 6), _edit(2, 3)), _fix(_edit(5, 6))
    assert apart([one, two, three]) == [one, three]


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), max_size=4), st.randoms())
def test_the_order_of_edits_does_not_matter(spans, random):
    fixes = apart([_fix(_edit(min(span), max(span), "-")) for span in spans])
    edits = [edit for fix in fixes for edit in fix.edits]
    shuffled = random.sample(edits, len(edits))
    assert edited(SOURCE.text, shuffled) == edited(SOURCE.text, edits)


def test_fixes_are_applied_until_none_is_left():
    """A fix may make another one possible: an anchored source is then a duplicate."""
    result = _fixed(block("rewrite `^/a$` -> `/b`\nrewrite `/a` -> `/b`\ntest `/a` -> `/b`").encode())
    assert result.files[0].data.decode() == block("rewrite `^/a$` -> `/b`\ntest `/a` -> `/b`")
    assert (result.report.diagnostics, result.count) == ((), 2)


def test_a_file_that_is_not_text_stays():
    """A file that is not UTF-8 is not changed, and the others are fixed."""
    files = [RuleFile("a.rules", b"\xff"), *rule_files(site=block("rewrite `^/a$` -> `b`\ntest `/a` -> `/b`"))]
    result = fix_all(files, _lint, SAFE)
    assert list(changed(files, result.files)) == [files[1]]


def test_a_fix_that_would_break_the_file_is_not_applied():
    text = block("rewrite `^/a$` -> `/{{ printf 'x' }}`\ntest `/a` -> error").encode()
    result = _fixed(text)
    assert (result.files[0].data, result.count) == (text, 0)


def test_a_fix_that_would_break_the_file_does_not_stop_others():
    fixable = "".join(f"rewrite `^/{letter}$` -> `{letter}x`\n" for letter in "bcde")
    broken = "rewrite `^/a$` -> `/{{ printf 'x' }}`\n"
    result = _fixed(block(fixable + broken + fixable.replace("^/", "^/x")).encode())
    after = fixable.replace("-> `", "-> `/")
    assert result.files[0].data.decode() == block(after + broken + after.replace("^/", "^/x"))
    assert result.count == 8


def test_the_number_of_rounds_is_limited():
    """A cycle of fixes, which is a defect, doesn't hang the tool."""
    numbers = count()

    def lint_again(files):
        source = SourceFile("site.rules", files[0].data.decode())
        edit = Edit(Span(source, 0, len(source.text)), str(next(numbers)))
        return LintReport(
            (Diagnostic("again", "and again", fixes=(Fix("go on", (edit,), Safety.SAFE),)),),
            judged=frozenset({"again"}),
        )

    assert fix_all([RuleFile("site.rules", b"")], lint_again, SAFE).count == ROUNDS_OF_FIXES


def _format(data):
    return formatted(RuleFile("site.rules", data))


def test_a_source_that_does_not_compile_is_formatted():
    """The layout depends only on the syntax tree."""
    assert _format(b"target site { rewrite `(` -> `/b` }") == (b"target site {\n    rewrite `(` -> `/b`\n}\n", ())


def test_a_difference_is_a_patch():
    """The patch has the file's name, removed and added lines, and reports a missing line end."""
    data = b'target site {\n  rewrite `^/a$` -> "/b"\n}'
    assert list(difference(RuleFile("site.rules", data), _format(data)[0])) == [
        "--- site.rules",
        "+++ site.rules",
        "@@ -1,3 +1,3 @@",
        " target site {",
        '-  rewrite `^/a$` -> "/b"',
        "-}",
        "\\ No newline at end of file",
        '+    rewrite `^/a$` -> "/b"',
        "+}",
    ]


@given(st.binary(max_size=80))
def test_any_bytes_are_formatted_or_unchanged(data):
    """A file that is not formatted is unchanged and has diagnostics."""
    content, diagnostics = _format(data)
    assert not diagnostics or content == data


def test_an_open_file_keeps_the_old_content(tmp_path):
    """The content is written to a new file, which is renamed: a process that has the old one open reads on undisturbed."""
    path = tmp_path / "site.rules"
    path.write_text("old")
    with path.open() as reader:
        replace_file(path, b"new")
        assert reader.read() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared


def test_a_missing_file_is_not_created(tmp_path):
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "site.rules", b"new")


def test_a_failed_replacement_leaves_only_the_old_file(tmp_path):
    path = tmp_path / "site.rules"
    path.write_text("old")
    with pytest.raises(TypeError):
        replace_file(path, "no bytes")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["site.rules"]  # noqa: PTH208 - names are compared
