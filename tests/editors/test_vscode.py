"""The description of rule files for VS Code, as far as it can be judged without VS Code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tornado_proxy.lang.reading import KEYWORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
GRAMMAR = json.loads((FOLDER / "syntaxes/tornado-proxy-rules.tmLanguage.json").read_text(encoding="utf-8"))


def _rules(node: Any = GRAMMAR) -> Iterator[dict[str, Any]]:
    """Every rule of the grammar."""
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict):
        yield node
    for child in children:
        yield from _rules(child)


PATTERNS = sorted(
    {rule[key] for rule in _rules() for key in ("match", "begin", "end") if isinstance(rule.get(key), str)}
)


def test_every_file_that_the_package_names_is_there():
    """A package with a dangling path is not loaded."""
    contributed = PACKAGE["contributes"]
    named = [
        PACKAGE["scripts"]["vscode:prepublish"].split()[1],  # the source of `main`
        *(each["configuration"] for each in contributed["languages"]),
        *(each["path"] for each in contributed["grammars"]),
    ]
    assert [name for name in named if not (FOLDER / name).is_file()] == []


def test_language_and_grammar_agree():
    """The grammar is that of the language, under the scope that it calls itself."""
    (language,), (grammar,) = PACKAGE["contributes"]["languages"], PACKAGE["contributes"]["grammars"]
    assert language["extensions"] == [".rules"]
    assert grammar["language"] == language["id"]
    assert grammar["scopeName"] == GRAMMAR["scopeName"]


def test_what_is_not_trusted_does_not_choose_the_command():
    """A folder from elsewhere must not start programs."""
    restricted = PACKAGE["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert restricted == list(PACKAGE["contributes"]["configuration"]["properties"])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_is_an_expression(pattern):
    """The subset that Oniguruma and Python share is all that is used."""
    re.compile(pattern)


def test_every_rule_that_is_included_exists():
    """A name that leads nowhere is passed over in silence by the tokeniser."""
    included = {rule["include"].removeprefix("#") for rule in _rules() if "include" in rule}
    assert included - set(GRAMMAR["repository"]) == set()


@pytest.mark.parametrize("word", KEYWORDS.values())
def test_every_keyword_of_the_language_is_known(word):
    """A keyword that is added to the grammar has its colour."""
    assert [pattern for pattern in PATTERNS if re.search(rf"(?<![\w-]){word}(?![\w-])", pattern)]


def test_the_configuration_of_the_language_is_valid():
    """Comments, brackets, and patterns that are expressions."""
    configuration = json.loads((FOLDER / "language-configuration.json").read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "#"}
    for pattern in (configuration["wordPattern"], *configuration["indentationRules"].values()):
        re.compile(pattern)
