"""Text in Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lang.excerpt import visible
from tornado_proxy.tools.lsp.markdown import code, paragraphs, prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/a", "`/a`"), ("a`b", "``a`b``"), ("`x", "`` `x ``"), ("", "` `"), ("a\nb", "`a␊b`"), (" a ", "`  a  `")],
)
def test_code_is_fenced_by_what_it_does_not_hold(text, shown):
    """Backticks and control characters are shown, and end nothing."""
    assert code(text) == shown


def test_a_long_text_is_cut():
    """Nobody reads on."""
    assert code("x" * 500) == f"`{'x' * 200}…`"


@given(st.text(alphabet=st.one_of(st.sampled_from("` a"), st.characters()), min_size=1, max_size=40))
def test_the_fence_of_code_stands_nowhere_in_it(text):
    """What opens the code is found again only where it closes."""
    written = code(text)
    runs = re.findall("`+", written)
    assert runs[0] == runs[-1]
    assert runs[0] not in runs[1:-1]
    assert visible(text) in written


def test_prose_keeps_backticks_and_nothing_else():
    """What a message has between backticks is code, and an underline no emphasis."""
    assert prose("`a_b` is *no* key_") == "`a_b` is \\*no\\* key\\_"


def test_empty_paragraphs_are_left_out():
    """Parts stand apart by a blank line."""
    assert paragraphs(["a", "", "b"]) == "a\n\nb"
