import pytest

from tornado_proxy.templates.trimming import GO_SPACES, trimmed


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("/a/b", "/a/b"),
        ("\n  /a\n  /b\n", "/a  /b"),
        ("/a\r\n/b\r\n", "/a/b"),
        ("\r\r\n/a\rb\r\n\n", "/a\rb"),
        ("\u3000/a b\xa0\x85", "/a b"),
        ("\x1c/a\x1f", "\x1c/a\x1f"),
        ("\u200b/a\ufeff", "\u200b/a\ufeff"),
        (" \n ", ""),
    ],
)
def test_line_ends_and_outer_spaces_go(text, key):
    """A template may be written over several lines; a lone carriage return and inner spaces stay."""
    assert trimmed(text) == key


def test_spaces_are_those_of_go():
    """Go's unicode.IsSpace holds for what Unicode calls White_Space, and for no separator of information."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")
