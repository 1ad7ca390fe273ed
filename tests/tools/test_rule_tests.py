from textwrap import dedent
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_schemas import check_report
from rule_sites import rule_sets

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.tree import Literal, name_text
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.rule_tests import TestRun, message, run_tests, to_json, to_junit, to_text

RULES = r"""
target site {
    rewrite `^/a$` -> "/b"
    rewrite `^/c$` -> "/../d"
    rewrite `^/e$` -> "/f"
    rewrite `^/g$` -> jinja "/{{ target.bucket.name }}"

    test "/a" -> "/b"
    test "/c" -> error
    test "/g" -> "/files"
}
target other { test "/x" -> "/y" }
"""


def _run(target_data=(), selected=None):
    return run_tests(rule_sets(RULES).values(), dict(target_data), selected and compile_pattern(selected))


def test_every_test_of_every_target_is_run():
    """Tests run in their order, and without a configuration the bucket has no name."""
    run = _run()
    assert [[outcome.passed for outcome in target.outcomes] for target in run.targets] == [[True, True, False], [False]]
    assert (len(run.outcomes), run.failed) == (4, 2)


def test_templates_see_the_data_of_their_target():
    assert _run([("site", TargetData("site", "files"))]).targets[0].failed == 0


@pytest.mark.parametrize(
    ("selected", "keys"), [("^/[ac]$", ["/a", "/c"]), ("^other$", ["/x"]), (r"site\.rules:9:", ["/c"]), ("nothing", [])]
)
def test_tests_are_selected_by_target_key_or_place(selected, keys):
    """The pattern is searched in the target's name, the key and the place."""
    assert [outcome.test.key for target in _run(selected=selected).targets for outcome in target.outcomes] == keys


def test_coverage_names_the_rewrites_that_no_test_reaches():
    """A rewrite whose template fails is reached, too."""
    run = _run()
    assert [rewrite.number for rewrite in run.targets[0].missed] == [3]
    assert run.targets[0].coverage == 75


def test_coverage_counts_only_selected_tests():
    """The total still has all rewrites."""
    assert _run(selected="^/a$").coverage == 25


def test_coverage_without_rewrites_is_complete():
    assert TestRun("site", (), ()).coverage == 100


def _run_statements(statements):
    return run_tests(rule_sets(f"target site {{\n{statements}\n}}").values(), {})


def _text(statements, *, coverage=False):
    return to_text(_run_statements(statements), coverage=coverage)


def test_a_caret_marks_the_first_difference_of_the_keys():
    """If one key is a prefix of the other, the caret is at the end of the shorter one."""
    assert _text('rewrite x `^/a(b)?$` -> "/cde"\ntest "/a" -> "/cd"') == dedent("""\
        FAILED site: test "/a" -> "/cd"
        at          site.rules:3:1
        expected    /cd
        got         /cde
                       ^
        by          x  ^/a(b)?$  site.rules:2:1
        groups      $0  /a
                    $1  (not matched)

        1 failed, 0 passed
        """)


def test_the_caret_counts_the_columns_of_a_terminal():
    """A wide character takes two columns."""
    assert "\n                 ^\n" in _text('test "/日本x" -> "/日本y"')


def test_a_failure_has_a_message_of_one_line():
    """Some reports have room for a single line only."""
    (target,) = _run_statements('test "/a\u202e" -> "/b"').targets
    assert message(target.outcomes[0]) == "expected /b, got /a\ufffd (unchanged)"


def test_the_json_report_obeys_its_schema():
    """`docs/schemas/test.json` describes passed and failed tests, with coverage and without."""
    run = _run_statements('rewrite x `^/a$` -> "/b"\nrewrite `^/c$` -> "/d"\ntest "/a" -> "/b"\ntest "/e" -> error')
    for coverage in (False, True):
        check_report(to_json(run, coverage=coverage), "test")


NOWHERE = Span(SourceFile("", ""), 0, 0)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_any_text_gives_a_valid_junit_document(text):
    """Control characters, and characters that XML cannot contain, are replaced."""
    rules = rule_sets(f'target {name_text(Literal(text, NOWHERE))} {{ test "/a" -> "/<&>" }}')
    (suite,) = fromstring(to_junit(run_tests(rules.values(), {})))
    assert suite.get("failures") == "1"
