from __future__ import annotations

import pytest
import yaml

from tornado_proxy.config.syntax import describe

BROKEN = [
    ("a: `x`", "a value cannot begin with this character"),
    ("a: b: c", "a `:` cannot stand here"),
    ("a:\n  b\nc", "this is neither `key: value` nor part of the value above"),
    ("a:\n  - b\n c: d", "this does not fit the mapping that it stands in"),
    ("- a\nb: c", "this does not fit the list that it stands in"),
    ("a: - b", "a `- ` cannot stand here"),
    ("a: [b", "a `,` or the closing `]` is missing"),
    ("a: {b", "a `,` or the closing `}` is missing"),
    ("a: 'b", "a quoted string never ends"),
    ("a: 'b\n---\n", "a quoted string never ends"),
    (r'a: "\q"', "no such escape in a string between double quotes"),
    (r'a: "\x1"', "no such escape in a string between double quotes"),
    ("a: |x\n b", "this cannot stand behind `|` or `>`"),
    ("a: b\n...\nc", "this stands outside of the document"),
    ("%YAML 3.0\n---\na", "this directive has no meaning here"),
    ("a: ]", "a value is missing here"),
    ("a: & b", "the name of an anchor or alias is missing"),
    ("a: !x!y b", "a tag has no meaning here"),
    ("!<x", "from here on the text cannot be read as YAML"),
]

# PyYAML's own parser wants more of a tag's end.
SEEN_BY_BOTH = [text for text, _ in BROKEN if text != "!<x"]


def _problem(text, loader):
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        list(yaml.parse(text, Loader=loader))
    return caught.value.problem


@pytest.mark.parametrize(("text", "message"), BROKEN)
def test_parsers_complaint_is_told_in_our_words(text, message):
    """Whatever libyaml objects to has a message that says what is wrong."""
    assert describe(_problem(text, yaml.CSafeLoader)).message == message


@pytest.mark.parametrize("text", SEEN_BY_BOTH)
def test_parser_in_python_is_understood_too(text):
    """Where libyaml is missing, PyYAML's own parser says the same in other words, and is told as precisely."""
    assert describe(_problem(text, yaml.SafeLoader)).message != "from here on the text cannot be read as YAML"


def test_tab_is_named():
    """A tab cannot be seen, so whatever the parser says of it, the message names it."""
    assert describe("found character that cannot start any token", "\t").message == "a tab indents this line"
