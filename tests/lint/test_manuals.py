import re

import pytest
from linting import loaded, settings

from tornado_proxy.lint.check import _MANUAL, Check
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintReport, lint
from tornado_proxy.lint.subject import Subject, subject_of
from tornado_proxy.rules.diagnostic import render
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.tree import print_document

EXAMPLE = r"### {}\n\n```{}\n(.*?)```"


def _example(check: Check, heading: str, language: str = "rules") -> str | None:
    match = re.search(EXAMPLE.format(heading, language), check.manual, re.DOTALL)
    return match[1] if match else None


def _subject(check: Check, heading: str) -> Subject:
    text = _example(check, heading)
    configuration = _example(check, "Configuration", "yaml")
    configured = settings(configuration) if configuration else None
    listed = re.search(r"```text\n(.*?)```", check.manual.partition(f"### {heading}\n")[2], re.DOTALL)
    lists = {"moved.txt": listed[1]} if listed else {}
    return subject_of(loaded([RuleFile("example.rules", text.encode())], lists), configured)


def _report(check: Check, heading: str) -> LintReport:
    return lint(_subject(check, heading), CHECKS)


@pytest.fixture(params=CHECKS, ids=lambda check: check.name)
def check(request):
    """Each check."""
    return request.param


def test_the_example_to_avoid_has_findings(check):
    """The example under Avoid has findings of this check only, with its severity."""
    assert {(each.code, each.severity) for each in _report(check, "Avoid").diagnostics} == {
        (check.name, check.severity)
    }


def test_the_example_to_prefer_is_clean(check):
    assert [render(diagnostic) for diagnostic in _report(check, "Prefer").diagnostics] == []


@pytest.mark.parametrize("heading", ["Avoid", "Prefer"])
def test_examples_are_formatted(check, heading):
    assert print_document(_subject(check, heading).documents[0]) == _example(check, heading)


def test_messages_are_in_the_house_style(check):
    """A message has no full stop, and has a help without one."""
    for diagnostic in _report(check, "Avoid").diagnostics:
        assert not diagnostic.message.endswith(".")
        assert diagnostic.help
        assert not diagnostic.help.endswith(".")


def test_a_page_has_a_section_about_its_fix(check):
    """A check whose example has a fix has a section about its safety; the others have none."""
    fixes = [fix for diagnostic in _report(check, "Avoid").diagnostics for fix in diagnostic.fixes]
    section = check.manual.partition("### Fix\n")[2].lower()
    assert bool(section) == bool(fixes)
    words = {"safe": "safe", "unsafe": "unsafe", "display": "only shown"}
    assert all(words[fix.safety.value] in section for fix in fixes)


def test_a_page_begins_with_one_sentence(check):
    """The first line of a page, which lists show, is one sentence."""
    assert check.summary.endswith(".")
    assert "\n" not in check.summary


def test_every_page_explains_a_check():
    assert {page.stem for page in _MANUAL.iterdir()} == {check.name for check in CHECKS}


def test_a_check_that_needs_a_configuration_has_one(check):
    assert check.needs_configuration == (_example(check, "Configuration", "yaml") is not None)
