from __future__ import annotations

import pytest

from tornado_proxy.lang.recovery.sync import begins_statement, next_statement, next_statement_line


@pytest.mark.parametrize(
    "line",
    [
        'rewrite "a" -> "b"',
        "    test",
        "target site {",
        "}",
        '\trewrit home `a` -> "b"',
        'redirect "/a" -> "/b"',
        '"/a" -> "/b"',
        "^/a -> /b",
    ],
)
def test_line_looks_like_a_statement(line):
    """Its first word, a misspelt one too, or its arrow makes a line look like a statement."""
    assert begins_statement(f"x\n{line}\n", 2 + len(line) - len(line.lstrip()))


@pytest.mark.parametrize(
    "line",
    [
        '-> "b"',
        '"b"',
        'as "ann" -> "/b"',
        'header a "b"',
        'jinja "/b"',
        "rewrite-all",
        "# rewrite",
        "",
        "word",
        'word "b"',
    ],
)
def test_line_looks_like_a_continuation(line):
    """A line that goes on with a statement is not a sync point."""
    assert not begins_statement(f"x\n{line}\n", 2)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('? } rewrite "a"', '} rewrite "a"'),
        ('? {{ x }} rewrite "a" -> "b"', 'rewrite "a" -> "b"'),
        ('? test "a"', 'test "a"'),
        ('? rewrite home "a"', 'rewrite home "a"'),
        ("? target b {", "target b {"),
        ('? "rewrite `" `}` # }\ntest', "test"),
        ("? rewrite\n  as\n  }", "}"),
        ('? prewrite "a"\nmore\n', ""),
        ("? test it", ""),
        ('? "', ""),
        ("?", ""),
    ],
)
def test_reading_goes_on_at_the_next_statement(text, rest):
    """The rest of the line counts with more care than the lines below."""
    assert text[next_statement(text, 1) :] == rest


def test_search_for_a_line_stops_at_its_end():
    """Where no line looks like a statement, the end is the place to go on."""
    text = "a\nb\nrewrite"
    assert (next_statement_line(text, 0, 4), next_statement_line(text, 0)) == (4, 4)
    assert next_statement_line(text, 0, 3) == 3
