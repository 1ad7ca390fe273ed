import re

import pytest
from linting import settings

from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lint.check import Check
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, lint
from tornado_proxy.lint.subject import Subject, subject_of
from tornado_proxy.rules.loading import RuleFile, compile_rule_files

EXAMPLE = r"### {}\n\n```{}\n(.*?)```"


def _example(check: Check, heading: str, language: str = "rules") -> str | None:
    found = re.search(EXAMPLE.format(heading, language), check.manual, re.DOTALL)
    return found[1] if found else None


def _subject(check: Check, heading: str) -> Subject:
    text = _example(check, heading)
    assert text is not None
    configuration = _example(check, "Configuration", "yaml")
    known = settings(configuration) if configuration else None
    return subject_of(compile_rule_files([RuleFile("example.rules", text.encode())]), known)


def _report(check: Check, heading: str) -> LintReport:
    return lint(_subject(check, heading), CHECKS)


@pytest.fixture(params=CHECKS, ids=lambda check: check.name)
def check(request):
    """Each check in turn."""
    return request.param


def test_what_to_avoid_is_found(check):
    """The example of what to avoid has findings of this check, and of no other."""
    assert {each.code for each in _report(check, "Avoid").diagnostics} == {check.name}


def test_what_to_prefer_is_clean(check):
    """The example of what to prefer has no finding of any check."""
    assert [render(each) for each in _report(check, "Prefer").diagnostics] == []


@pytest.mark.parametrize("heading", ["Avoid", "Prefer"])
def test_examples_are_formatted(check, heading):
    """The examples look as `fmt` would write them."""
    assert print_document(_subject(check, heading).documents[0]) == _example(check, heading)


def test_findings_are_as_severe_as_the_check(check):
    """What a check finds has the severity and the code that it announces."""
    assert {(each.code, each.severity) for each in _report(check, "Avoid").diagnostics} == {
        (check.name, check.severity)
    }


def test_messages_are_in_the_house_style(check):
    """A message is a fact without a full stop, and each comes with a cure."""
    for found in _report(check, "Avoid").diagnostics:
        assert not found.message.endswith(".")
        assert found.help
        assert not found.help.endswith(".")


def test_a_page_says_whether_there_is_a_fix(check):
    """A check whose example has a fix has a section about it, with how safe it is; the others have none."""
    fixes = [fix for each in _report(check, "Avoid").diagnostics for fix in each.fixes]
    section = check.manual.partition("### Fix\n")[2].lower()
    assert bool(section) == bool(fixes)
    shown = {"safe": "safe", "unsafe": "unsafe", "display": "only shown"}
    assert all(shown[fix.safety.value] in section for fix in fixes)


def test_a_page_begins_with_one_sentence(check):
    """The first line is what lists show."""
    assert check.summary.endswith(".")
    assert check.manual.split("\n")[1] == ""


def test_a_check_that_needs_a_configuration_names_one(check):
    """Its page has one, and the others have none."""
    assert check.needs_configuration == (_example(check, "Configuration", "yaml") is not None)
