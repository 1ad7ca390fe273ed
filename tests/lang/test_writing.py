from __future__ import annotations

import pytest

from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Literal
from tornado_proxy.lang.writing import name_text, string_text

NOWHERE = Span(SourceFile("a.rules", ""), 0, 0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("site", "site"), ("target", "target"), ("a-b.c_1", "a-b.c_1"), ("", '""'), ("1st", '"1st"'), ("a->", '"a->"')],
)
def test_name_stands_bare_if_it_can(name, text):
    """A name that needs no quotes has none."""
    assert name_text(Literal(name, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/a", '"/a"'),
        (r"^/a\.b", r"`^/a\.b`"),
        ('{{ groups["1"] }}', '`{{ groups["1"] }}`'),
        ("`\\", r'"`\\"'),
        ('\n"', r'"\n\""'),
        ("\t", r'"\t"'),
        ("é\u00a0\u200b", r'"é\u00a0\u200b"'),
    ],
)
def test_quoted_string_becomes_raw_where_that_reads_better(value, text):
    """A backslash or a quote needs no escape between backticks, unless the string holds what nobody sees there."""
    assert string_text(Literal(value, NOWHERE)) == text


@pytest.mark.parametrize(
    ("value", "text"), [("/a", "`/a`"), ("a\nb", "`a\nb`"), ("a`b", '"a`b"'), ("a\r\nb", r'"a\u000d\nb"')]
)
def test_raw_string_stays_raw_unless_it_cannot(value, text):
    """Only a backtick or a carriage return makes a raw string quoted."""
    assert string_text(Literal(value, NOWHERE, raw=True)) == text
