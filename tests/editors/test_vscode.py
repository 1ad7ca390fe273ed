"""Tests the extension for VS Code, as far as that is possible without VS Code."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tornado_proxy.rules.reading import KEYWORDS

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
GRAMMAR = json.loads((FOLDER / "syntaxes/tornado-proxy-rules.tmLanguage.json").read_text(encoding="utf-8"))


def _rules(node: Any = GRAMMAR) -> Iterator[dict[str, Any]]:
    """Yields every rule of the grammar."""
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    if isinstance(node, dict):
        yield node
    for child in children:
        yield from _rules(child)


PATTERNS = sorted(
    {rule[key] for rule in _rules() for key in ("match", "begin", "end") if isinstance(rule.get(key), str)}
)


def test_every_file_of_the_package_exists():
    """VS Code doesn't load a package with a missing file."""
    contributed = PACKAGE["contributes"]
    paths = [
        PACKAGE["scripts"]["vscode:prepublish"].split()[1],  # the source of `main`
        *(language["configuration"] for language in contributed["languages"]),
        *(grammar["path"] for grammar in contributed["grammars"]),
    ]
    assert [path for path in paths if not (FOLDER / path).is_file()] == []


def test_language_and_grammar_agree():
    (language,), (grammar,) = PACKAGE["contributes"]["languages"], PACKAGE["contributes"]["grammars"]
    assert language["extensions"] == [".rules"]
    assert grammar["language"] == language["id"]
    assert grammar["scopeName"] == GRAMMAR["scopeName"]


def test_an_untrusted_folder_cannot_set_the_command():
    """A folder from elsewhere must not start programs."""
    restricted = PACKAGE["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert restricted == list(PACKAGE["contributes"]["configuration"]["properties"])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_is_a_valid_expression(pattern):
    """The patterns use only the syntax that Oniguruma and Python share."""
    re.compile(pattern)


def test_every_included_rule_is_defined():
    """The tokeniser ignores undefined rules silently."""
    included = {rule["include"].removeprefix("#") for rule in _rules() if "include" in rule}
    assert included - set(GRAMMAR["repository"]) == set()


@pytest.mark.parametrize("word", KEYWORDS.values())
def test_every_keyword_of_the_language_is_highlighted(word):
    assert [pattern for pattern in PATTERNS if re.search(rf"(?<![\w-]){word}(?![\w-])", pattern)]


def test_the_configuration_of_the_language_is_valid():
    """The configuration has comments and brackets, and its patterns are valid expressions."""
    configuration = json.loads((FOLDER / "language-configuration.json").read_text(encoding="utf-8"))
    assert configuration["comments"] == {"lineComment": "#"}
    for pattern in (configuration["wordPattern"], *configuration["indentationRules"].values()):
        re.compile(pattern)
