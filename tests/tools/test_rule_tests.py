import json
from pathlib import Path
from textwrap import dedent
from xml.etree.ElementTree import fromstring

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from rule_sites import rule_sets

from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.literals import name_text
from tornado_proxy.lang.tree import Literal
from tornado_proxy.templates.template import TargetData
from tornado_proxy.tools.rule_tests import Coverage, TestRun, message, run_tests, to_json, to_junit, to_text

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


def _run(known=(), chosen=None):
    return run_tests(rule_sets(RULES).values(), dict(known), chosen and compile_pattern(chosen))


def test_every_test_of_every_target_is_run():
    """Tests run in their order; without a configuration the bucket has no name."""
    run = _run()
    assert [[each.passed for each in target.outcomes] for target in run.targets] == [[True, True, False], [False]]
    assert (run.total, run.failed) == (4, 2)


def test_a_configuration_shows_what_templates_see():
    """The data of a target is found by its name."""
    assert _run([("site", TargetData("site", "files"))]).targets[0].failed == 0


@pytest.mark.parametrize(
    ("chosen", "keys"),
    [("^/[ac]$", ["/a", "/c"]), ("^other$", ["/x"]), (r"site\.rules:9:", ["/c"]), ("nothing", [])],
)
def test_tests_are_chosen_by_target_key_or_place(chosen, keys):
    """A pattern is found in any of the three."""
    assert [each.test.key for target in _run(chosen=chosen).targets for each in target.outcomes] == keys


def test_coverage_names_the_rewrites_that_no_test_reaches():
    """A rewrite whose template fails is reached too."""
    run = _run()
    assert [each.number for each in run.targets[0].coverage.missed] == [3]
    assert run.targets[0].coverage.percent == 75


def test_coverage_of_what_was_chosen_is_of_that_alone():
    """Rewrites count whether their tests were run or not."""
    assert _run(chosen="^/a$").coverage.percent == 25


def test_nothing_is_covered_whole():
    """Without rewrites, the coverage is complete."""
    assert Coverage(0).percent == 100
    assert TestRun(()).coverage.percent == 100


SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "test.json"


def _run_of(statements):
    return run_tests(rule_sets(f"target site {{\n{statements}\n}}").values(), {})


def _text(statements, *, coverage=False):
    return to_text(_run_of(statements), coverage=coverage)


def test_keys_stand_below_one_another_with_a_caret_at_the_first_difference():
    """One key is the beginning of the other, so the caret is at the end of the shorter."""
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


def test_an_error_is_shown_with_its_reason():
    """There is nothing to compare, so no caret."""
    text = _text('rewrite `^/a$` -> "/../b"\ntest "/a" -> "/b"')
    assert "got         error: the result contains a `.` or `..` segment\nby          #1" in text


def test_coverage_lists_what_is_missed():
    """By target, each with its place."""
    text = _text('rewrite `^/a$` -> "/b"\nrewrite y `^/c$` -> "/d"\ntest "/a" -> "/b"', coverage=True)
    assert text == dedent("""\
        coverage    site   50.0 %  1 of 2 rewrites

        not reached by the tests of site
                    y  ^/c$  site.rules:3:1

        1 passed
        """)


def test_a_failure_in_a_line():
    """For systems that show no more."""
    (target,) = _run_of('test "/a\u202e" -> "/b"').targets
    assert message(target.outcomes[0]) == "expected /b, got /a\ufffd (unchanged)"


def test_programs_are_given_every_outcome():
    """A key or a verdict is expected, a key or an error is got."""
    told = to_json(_run_of('rewrite `^/a$` -> "/../b"\ntest "/a" -> "/b"\ntest "/c" -> unchanged'), coverage=True)
    first, second = told["targets"][0]["tests"]
    assert first["expected"] == {"key": "/b", "verdict": None}
    assert first["got"] == {"key": None, "error": "the result contains a `.` or `..` segment"}
    assert first["groups"] == [{"name": "0", "text": "/a"}]
    assert second["expected"] == {"key": None, "verdict": "unchanged"}
    assert second["got"] == {"key": "/c", "error": None}
    assert told["coverage"] == {"percent": 100.0, "rewrites": 1, "missed": []}


def test_the_json_form_obeys_its_schema():
    """docs/schemas/test.json describes passed and failed tests, with coverage and without."""
    validator = Draft202012Validator(json.loads(SCHEMA.read_text()))
    run = _run_of('rewrite x `^/a$` -> "/b"\nrewrite `^/c$` -> "/d"\ntest "/a" -> "/b"\ntest "/e" -> error')
    for coverage in (False, True):
        validator.validate(to_json(run, coverage=coverage))


NOWHERE = Span(SourceFile("", ""), 0, 0)


def _document(text):
    return fromstring(to_junit(run_tests(rule_sets(text).values(), {})))


def test_targets_are_suites_and_tests_are_cases():
    """Both levels have counts; a case has its place; a target without tests is not a suite."""
    root = _document('target a { test "/x" -> unchanged\n test "/y" -> "/z" } target b {}')
    assert root.attrib == {"name": "tornado-proxy test", "tests": "2", "failures": "1"}
    (suite,) = root
    assert suite.attrib == {"name": "a", "tests": "2", "failures": "1", "errors": "0"}
    assert suite[1].attrib == {"classname": "a", "name": 'test "/y" -> "/z"', "file": "site.rules", "line": "2"}


def test_a_failure_has_its_message_and_all_that_is_known():
    """The text is what people are shown."""
    failure = _document('target a { test "/y" -> "/z" }').find(".//failure")
    assert failure is not None
    assert failure.attrib == {"type": "failed", "message": "expected /z, got /y (unchanged)"}
    assert failure.text is not None
    assert failure.text.startswith('FAILED a: test "/y" -> "/z"\nat          site.rules:1:12\n')


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
def test_any_text_makes_a_document_that_can_be_read(text):
    """Control characters, and characters that XML cannot contain, have stand-ins."""
    (suite,) = _document(f'target {name_text(Literal(text, NOWHERE))} {{ test "/a" -> "/<&>" }}')
    assert suite.get("failures") == "1"
