from __future__ import annotations

import pytest

from tornado_proxy.config.nodes import Kind, ScalarNode
from tornado_proxy.config.quoting import bare, enumeration, quote, span_of
from tornado_proxy.lang.source import SourceFile


def _node(text, start=0):
    return SourceFile("a.yaml", text), ScalarNode(start, len(text), Kind.STRING, "")


def test_span_stops_at_the_end_of_the_line():
    """A section that runs over several lines is shown by its first."""
    source, node = _node("one: 1\ntwo: 2\n")
    assert span_of(node, source).text == "one: 1"


def test_span_of_the_last_line_needs_no_line_end():
    """A node at the end of the text is covered whole."""
    source, node = _node("a: b", 3)
    assert span_of(node, source).text == "b"


def test_quote_shows_what_the_file_shows():
    """A message has the text of the copy that may be shown, without its quotes."""
    source, node = _node("'••••'")
    assert quote(node, source) == "`••••`"


def test_long_text_is_cut():
    """A message does not grow with the file."""
    source, node = _node("x" * 200)
    assert bare(node, source) == "x" * 60 + "…"


@pytest.mark.parametrize(
    ("words", "sentence"), [(["a"], "`a`"), (["a", "b"], "`a` and `b`"), (["a", "b", "c"], "`a`, `b` and `c`")]
)
def test_words_are_enumerated(words, sentence):
    """Words stand in backticks with commas and an `and`."""
    assert enumeration(words) == sentence
