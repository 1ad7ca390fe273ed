"""The canonical layout as edits."""

from __future__ import annotations

import pytest
from editing import after
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import parsed

from tornado_proxy.lang.printer import print_document
from tornado_proxy.tools.lsp.formatting import layout_edits

_LONG = "target site {\n" + '  rewrite `^/a$`->"/b"\n' * 2001 + "}\n"


@pytest.mark.parametrize(
    "text",
    [
        'target site{rewrite `^/a`->"/b"}',
        "target site {\n\n\n}\n",
        "# x\r\ntarget site {}\r\n",
        "target a {}\ntarget b {}",
        _LONG,
    ],
    ids=["one line", "blank lines", "CR LF", "no line end", "long"],
)
def test_the_edits_lay_out_the_file(text):
    """What they make is what `fmt` prints."""
    found = parsed(text)
    assert after(text, layout_edits(found)) == print_document(found.document)


def test_lines_that_stay_are_not_touched():
    """Only the line that changes is replaced."""
    text = 'target site {\n    rewrite `^/a$` -> "/b"\n\n  test "/a" -> "/b"\n}\n'
    (edit,) = layout_edits(parsed(text))
    assert edit.span.text == '  test "/a" -> "/b"\n'


@pytest.mark.parametrize("text", ["", "target site {}\n", "target site {", "target site { rewrit }"])
def test_a_file_in_its_layout_or_with_a_mistake_is_left_alone(text):
    """What cannot be read has no layout."""
    assert layout_edits(parsed(text)) == ()


@given(st.text(alphabet='target{} site\n\r"`#\u2028->', max_size=50))
def test_no_text_makes_it_fail(text):
    """Either there is nothing to do, or the result is the layout."""
    found = parsed(text)
    if not found.diagnostics:
        assert after(text, layout_edits(found)) == print_document(found.document)
