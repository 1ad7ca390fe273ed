import pytest
from linting import findings, fixed, places

NAME = "unescaped-dot"


@pytest.mark.parametrize(
    "source",
    [r"^/a\.html$", "^/.*html$", "^/../x$", "^/a.?b$", "^/.$", r"^/v1.\d+$", "^/[.]html$", "^/a.[a-z]$", "^/.+$"],
)
def test_dots_that_are_meant_are_left_alone(source):
    """Escaped, repeated, doubled and last dots are no slip, nor those before a class."""
    assert places(NAME, f'rewrite `{source}` -> "/x"') == []


@pytest.mark.parametrize(
    ("source", "column"),
    [
        ("^/a.html$", 4),
        ("^/[^/]+.(?:png|jpe?g)$", 8),
        ("^/a(.html)?$", 5),
        ("^/(?P<name>[^/]+).html$", 18),
        ("^/v1.2/", 5),
    ],
)
def test_a_dot_before_a_word_is_found(source, column):
    """A single dot with a letter or digit behind it, in every branch, is found with its place."""
    (found,) = findings(NAME, f"rewrite `{source}` -> `/x`")
    assert found.span.text == "."
    assert found.span.first.column == column + len("rewrite `")


def test_every_dot_is_found():
    """Each dot is a finding of its own."""
    assert places(NAME, "rewrite `^/v1.2.3/a.html$` -> `/x`") == [".", ".", "."]


@pytest.mark.parametrize(("written", "after"), [("`^/a.html$`", r"`^/a\.html$`"), ('"^/a.html$"', r'"^/a\\.html$"')])
def test_dots_are_escaped(written, after):
    """The fix writes a backslash as the string needs it."""
    assert fixed(NAME, f"rewrite {written} -> `/x`") == f"rewrite {after} -> `/x`"
