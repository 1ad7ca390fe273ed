"""Places as clients count them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.tools.lsp.positions import ClientPosition, Encoding, Lines

TEXTS = st.text(alphabet=st.one_of(st.sampled_from("a\né\r😀\u2028\x0c"), st.characters()), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "character"),
    [(Encoding.UTF8, 9), (Encoding.UTF16, 6), (Encoding.UTF32, 5)],
    ids=str,
)
def test_characters_above_the_basic_plane_take_more_than_one_unit(encoding, character):
    """`/😀é/` before a place counts by the encoding's code units, in both directions."""
    lines = Lines('x\n"/😀é/"', encoding)
    offset = lines.text.index('"', 3)
    assert lines.position(offset) == (1, character)
    assert lines.offset(ClientPosition(1, character)) == offset


def test_a_place_within_a_character_is_before_it():
    """A client that points between the two halves of a pair means the character."""
    assert Lines("a😀b").offset(ClientPosition(0, 2)) == 1


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a\r\nb", (1, 0)),
        ("a\rb", (1, 0)),
        ("a\nb", (1, 0)),
        ("a\u2028b", (0, 2)),
        ("a\x0cb", (0, 2)),
        ("a\x85b", (0, 2)),
    ],
)
def test_only_what_the_protocol_calls_a_line_end_ends_a_line(text, position):
    """CR, LF and both together end a line; Unicode's other separators do not."""
    assert Lines(text).position(text.index("b")) == position


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((7, 0), 7), ((1, 99), 7), ((1, 3), 6), ((-1, -1), 0), ((1, -5), 4)],
    ids=str,
)
def test_a_place_beyond_the_text_is_at_its_edge(position, offset):
    """Beyond a line is the line's end, beyond the text the text's."""
    assert Lines("ab\r\nc😀d").offset(ClientPosition(*position)) == offset


@given(TEXTS, st.sampled_from(Encoding), st.data())
def test_there_and_back_is_the_same_place(text, encoding, data):
    """Every offset but one between CR and LF has a position that leads back to it."""
    lines = Lines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    back = lines.offset(lines.position(offset))
    within_line_end = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
    assert back == (offset - 1 if within_line_end else offset)


@given(TEXTS, st.sampled_from(Encoding), st.integers(-2, 50), st.integers(-2, 50))
def test_wherever_a_client_points_there_is_an_offset(text, encoding, line, character):
    """No position leads out of the text."""
    assert 0 <= Lines(text, encoding).offset(ClientPosition(line, character)) <= len(text)
