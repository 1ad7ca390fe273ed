import pytest

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.scanner import DEEPEST, Inside, Plain, scan


def _shown(text):
    return [piece.text if isinstance(piece, Plain) else f"<{piece.text}>" for piece in scan(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("plain", ["plain"]),
        ("a{{.X}}b", ["a", "<.X>", "b"]),
        ("{{ .X }}", ["< .X >"]),
        ("a \n{{- .X -}}\t b", ["a", "< .X>", "b"]),
        (" {{- .X}}", ["< .X>"]),
        ("{{-3}}", ["<-3>"]),
        ("{{.X -}} ", ["<.X>"]),
        ('{{"}}"}}{{`}}`}}{{\'"\'}}', ['<"}}">', "<`}}`>", "<'\"'>"]),
        (r'{{"\"}}"}}', [r'<"\"}}">']),
        ("{.X}}", ["{.X}}"]),
        ("{{(}}", ["<(>"]),
    ],
)
def test_text_and_actions_take_turns(text, pieces):
    """White space beside a trim marker goes; strings may hold delimiters."""
    assert _shown(text) == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a {{/* c */}} b", ["a ", " b"]),
        ("a {{- /* c */ -}} b", ["a", "b"]),
        ("a {{/* {{.X}} */ -}}\n b", ["a ", "b"]),
    ],
)
def test_comments_are_nothing(text, pieces):
    """Their trim markers count all the same."""
    assert _shown(text) == pieces


def test_pieces_know_their_places():
    """Offsets are code points of the whole text."""
    assert list(scan("é{{- .X }}")) == [Plain("é", 0), Inside(" .X ", 4, 1)]


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("ab{{.X", "an action is not closed", 2),
        ("{{/* c }}", "a comment is not closed", 0),
        ("{{/* c */ }}", "a comment does not end its action", 7),
        ('{{"a}}', "a quoted string is not closed", 2),
        ("{{ 'a}}", "a character constant is not closed", 3),
        ("{{`a}}", "a raw string is not closed", 2),
        ('{{"a\n"}}', "a quoted string is not closed", 2),
    ],
)
def test_what_is_not_closed_is_told_where_it_begins(text, message, offset):
    """Nothing after it is read."""
    with pytest.raises(TemplateMistake) as caught:
        list(scan(text))
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_parentheses_nest_to_a_depth():
    """One more is refused."""
    assert len(_shown("{{" + "(" * DEEPEST + "1" + ")" * DEEPEST + "}}")) == 1
    with pytest.raises(TemplateMistake, match="nest deeper"):
        _shown("{{" + "(" * (DEEPEST + 1) + "1")
