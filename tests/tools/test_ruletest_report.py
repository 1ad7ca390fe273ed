import json
from pathlib import Path
from textwrap import dedent

from jsonschema import Draft202012Validator
from rule_sites import rule_sets

from tornado_proxy.tools.ruletest_report import message, to_json, to_text
from tornado_proxy.tools.ruletests import run_tests

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "test.json"


def _run(statements):
    return run_tests(rule_sets(f"target site {{\n{statements}\n}}").values(), {})


def _text(statements, *, coverage=False):
    return to_text(_run(statements), coverage=coverage)


def test_keys_stand_below_one_another_with_a_caret_at_the_first_difference():
    """What comes after is longer here, so the caret stands behind the shorter."""
    assert _text('rewrite x `^/a(b)?$` -> "/cde"\ntest "/a" -> "/cd"') == dedent("""\
        FAILED site: test "/a" -> "/cd"
        at          site.rules:3:1
        expected    /cd
        got         /cde
                       ^
        by          x  ^/a(b)?$  site.rules:2:1
        groups      $0  /a
                    $1  (took no part)

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

        no test of site reaches
                    y  ^/c$  site.rules:3:1

        1 passed
        """)


def test_a_failure_in_a_line():
    """For systems that show no more."""
    (target,) = _run('test "/a\u202e" -> "/b"').targets
    assert message(target.outcomes[0]) == "expected /b, got /a\ufffd (unchanged)"


def test_programs_are_told_every_outcome():
    """A key or a verdict is expected, a key or an error is got."""
    told = to_json(_run('rewrite `^/a$` -> "/../b"\ntest "/a" -> "/b"\ntest "/c" -> unchanged'), coverage=True)
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
    run = _run('rewrite x `^/a$` -> "/b"\nrewrite `^/c$` -> "/d"\ntest "/a" -> "/b"\ntest "/e" -> error')
    for coverage in (False, True):
        validator.validate(to_json(run, coverage=coverage))
