"""Every example of the rule language in the documentation parses, is formatted and passes its tests, or is marked as wrong."""

import re
from pathlib import Path

import pytest

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.diagnostic import Severity, SourceFile, render
from tornado_proxy.rules.expectations import evaluate
from tornado_proxy.rules.loading import RuleFile, compile_documents, compile_rule_files
from tornado_proxy.rules.parser import Parsed, parse
from tornado_proxy.rules.tree import print_document

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "grammar").glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(rules[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _examples(*kinds: str) -> list[object]:
    return [
        pytest.param(match[2], id=f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}")
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for match in FENCED.finditer(text)
        if match[1] in kinds
    ]


def _parsed(text: str) -> Parsed:
    return parse(SourceFile("example.rules", text))


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_example_parses(example):
    """An example parses without a diagnostic, unless it is marked as wrong."""
    assert [render(diagnostic) for diagnostic in _parsed(example).diagnostics] == []


@pytest.mark.parametrize("example", _examples("rules"))
def test_example_is_formatted(example):
    """`fmt` would change nothing in an example, unless it is marked as untidy."""
    assert print_document(_parsed(example).document) == example


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_example_passes_its_tests(example):
    compiled = compile_documents([_parsed(example).document])
    assert [render(diagnostic) for diagnostic in compiled.diagnostics] == []
    outcomes = [evaluate(rules, test) for rules in compiled.rule_sets.values() for test in rules.tests]
    assert [outcome.test.statement.span.place for outcome in outcomes if not outcome.passed] == []


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_the_linter_finds_nothing_in_an_example(example):
    loaded = compile_rule_files([RuleFile("example.rules", example.encode())])
    diagnostics = lint(subject_of(loaded), CHECKS, LintSettings()).diagnostics
    assert [render(each) for each in diagnostics if each.severity is not Severity.INFO] == []


@pytest.mark.parametrize("example", _examples("rules-error"))
def test_example_marked_as_wrong_has_a_mistake(example):
    assert _parsed(example).diagnostics


def test_examples_are_of_all_known_kinds():
    """The documentation has examples of each kind, and of no other kind."""
    kinds = {match[1] for page in PAGES for match in FENCED.finditer(page.read_text(encoding="utf-8"))}
    assert kinds == {"rules", "rules untidy", "rules-error"}
