"""Every example of the rule language in the documentation is what it claims to be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tornado_proxy.lang.diagnostic import Severity, SourceFile
from tornado_proxy.lang.excerpt import render
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.lint.settings import Selection
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.loading import RuleFile, compile_rule_files
from tornado_proxy.rules.model import evaluate

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "grammar").glob("*.md"), *(ROOT / "docs").rglob("*.md")])
FENCED = re.compile(r"^```(rules[^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _examples(*kinds: str) -> list[object]:
    return [
        pytest.param(found[2], id=f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, found.start()) + 1}")
        for page in PAGES
        for text in [page.read_text(encoding="utf-8")]
        for found in FENCED.finditer(text)
        if found[1] in kinds
    ]


def _parsed(text: str) -> Parsed:
    return parse(SourceFile("example.rules", text))


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_example_parses(example):
    """An example of the right form has no mistake."""
    assert [render(diagnostic) for diagnostic in _parsed(example).diagnostics] == []


@pytest.mark.parametrize("example", _examples("rules"))
def test_example_is_formatted(example):
    """An example looks as `fmt` would write it, unless it is marked as untidy."""
    assert print_document(_parsed(example).document) == example


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_example_holds(example):
    """What an example's own tests claim is true."""
    compiled = compile_documents([_parsed(example).document])
    assert [render(diagnostic) for diagnostic in compiled.diagnostics] == []
    outcomes = [evaluate(rules, test) for rules in compiled.rule_sets.values() for test in rules.tests]
    assert [each.test.statement.span.place for each in outcomes if not each.passed] == []


@pytest.mark.parametrize("example", _examples("rules", "rules untidy"))
def test_example_is_clean(example):
    """The linter warns of nothing in an example, so that nobody copies what it would warn of."""
    loaded = compile_rule_files([RuleFile("example.rules", example.encode())])
    found = lint(subject_of(loaded), CHECKS, Selection()).diagnostics
    assert [render(each) for each in found if each.severity is not Severity.INFO] == []


@pytest.mark.parametrize("example", _examples("rules-error"))
def test_example_of_a_mistake_has_one(example):
    """An example that is marked as wrong is."""
    assert _parsed(example).diagnostics


def test_no_example_escapes():
    """Both pages about the language have examples, and each fence is of a known kind."""
    kinds = {found[1] for page in PAGES for found in FENCED.finditer(page.read_text(encoding="utf-8"))}
    assert kinds == {"rules", "rules untidy", "rules-error"}
