"""What a text leaves open where it breaks off."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.lang.unfinished import Unfinished, unfinished


def _at_end(text: str) -> Unfinished:
    return unfinished(SourceFile("site.rules", text), len(text))


@pytest.mark.parametrize(
    ("text", "where", "accepted"),
    [
        ("", Where.FILE, {"TARGET"}),
        ("target ", Where.HEADER, {"NAME", "STRING"}),
        ("target site { ", Where.BLOCK, {"REWRITE", "TEST", "RBRACE"}),
        ("target site { rewrite `^/a` -> ", Where.REWRITE, {"JINJA", "GO", "STRING", "RAW"}),
        ('target site { test "/a" as ann -> ', Where.TEST, {"UNCHANGED", "ERROR", "STRING", "RAW"}),
        ("target site { } ", Where.FILE, {"TARGET"}),
    ],
)
def test_it_says_what_would_fit_next(text, where, accepted):
    """The parser's state at the end tells what may follow."""
    found = _at_end(text)
    assert (found.where, found.accepts - {"$END"}, found.open) == (where, accepted, None)


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("target site { rewrite `^/a(", "`^/a("),
        ('target site { rewrite `^/a` -> "/b/$', '"/b/$'),
        ("# allow: un", "# allow: un"),
        ("target site { # a\n", None),
        ('target site { test "/a" -> "/b"', None),
    ],
)
def test_it_says_in_what_string_or_comment_a_text_breaks_off(text, opened):
    """A string without its end, or a comment without its line end, is open."""
    assert _at_end(text).open == opened


def test_it_shows_the_statement_so_far():
    """The tokens of what is being written are there to be read."""
    found = _at_end('target site { rewrite home `^/(?P<rest>.*)$` -> jinja "/{{ ')
    assert [str(token) for token in found.begun] == ["rewrite", "home", "`^/(?P<rest>.*)$`", "->", "jinja"]


def test_what_follows_the_offset_does_not_count():
    """Only the text before the offset is read."""
    source = SourceFile("site.rules", 'target site { rewrite `^/a` -> "/b" }')
    assert unfinished(source, source.text.index("->")).accepts == {"ARROW"}


def test_mistakes_before_the_end_are_passed_over():
    """A statement that was never finished does not hide what the next one leaves open."""
    found = _at_end('target site {\n    rewrite `^/a` = "/b"\n    test "/a" => "/b"\n    test "/c" ')
    assert (found.where, "ARROW" in found.accepts) == (Where.TEST, True)


@given(st.text(alphabet=st.one_of(st.sampled_from('target{}rewrite`"->#\n $\ud800'), st.characters()), max_size=60))
def test_no_text_makes_it_fail(text):
    """Whatever stands before an offset, there is a state."""
    assert _at_end(text).where in Where
