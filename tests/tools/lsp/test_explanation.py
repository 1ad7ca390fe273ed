from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.regexp.automaton import language
from tornado_proxy.rules.excerpt import visible
from tornado_proxy.tools.lsp.hover import code, outline, paragraphs, phrase, prose


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/a", "`/a`"), ("a`b", "``a`b``"), ("`x", "`` `x ``"), ("", "` `"), ("a\nb", "`a␊b`"), (" a ", "`  a  `")],
)
def test_the_fence_of_code_does_not_occur_in_it(text, expected):
    """Backticks are fenced by longer runs of backticks, and control characters are replaced."""
    assert code(text) == expected


def test_long_code_is_shortened():
    """Only the first 200 characters are shown."""
    assert code("x" * 500) == f"`{'x' * 200}…`"


@given(st.text(alphabet=st.one_of(st.sampled_from("` a"), st.characters()), min_size=1, max_size=40))
def test_the_fence_of_any_code_occurs_only_at_both_ends(text):
    """No run of backticks in the text has the length of the fence."""
    fenced = code(text)
    runs = re.findall("`+", fenced)
    assert runs[0] == runs[-1]
    assert runs[0] not in runs[1:-1]
    assert visible(text) in fenced


def test_prose_escapes_all_markdown_but_backticks():
    """Text between backticks is code, and an underscore is not emphasis."""
    assert prose("`a_b` is *no* key_") == "`a_b` is \\*no\\* key\\_"


def test_empty_paragraphs_are_omitted():
    """Paragraphs are separated by a blank line."""
    assert paragraphs(["a", "", "b"]) == "a\n\nb"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", "nothing"),
        ("abc", "`abc`"),
        (r"a\.b", "`a.b`"),
        ("(?i)ab", "from here on: in any case, then `ab` in any case"),
        ("(?-i)", "from here on: no longer in any case"),
        (r"^\A", "the beginning of the key, then the beginning of the key"),
        (
            "(?m)^$",
            "from here on: `^` and `$` match at every line, then the beginning of a line, then the end of a line",
        ),
        (r"\b\B", "the edge of a word, then not the edge of a word"),
        ("a|b", "`a` or `b`"),
        ("a*", "`a`, any number of times"),
        ("a+?", "`a`, once or more, as few as possible"),
        ("a?", "`a`, once or not at all"),
        ("a{3}", "`a`, 3 times"),
        ("a{1}", "`a`, once"),
        ("a{2,}", "`a`, 2 times or more"),
        ("a{2,4}", "`a`, 2 to 4 times"),
        ("[^/]+", "any character but `/`, once or more"),
        ("[a-z0-9_]", "one of `a` to `z`, `0` to `9` and `_`"),
        ("[a-z]", "one of `a` to `z`"),
        ("[a]", "`a`"),
        (r"\d\W", "a digit, then anything but a letter, a digit or `_` (ASCII)"),
        (r"\pL\P{Greek}", "a character of `L`, then a character not of `Greek`"),
        ("[[:alpha:][:^digit:]]", "one of a character of `alpha` and a character not of `digit`"),
        (".", "any character"),
        ("(a)", "group 1: `a`"),
        ("(?P<page>[^/]+)", "group 1, `page`: any character but `/`, once or more"),
        ("(?:a)", "`a`"),
    ],
)
def test_every_construct_has_a_phrase(expression, expected):
    """Every construct of Go's regular expressions is described."""
    assert phrase(language(expression).tree) == expected


def _outline(expression: str) -> list[str]:
    return [f"{'  ' * part.depth}{part.meaning}" for part in outline(language(expression).tree)]


def test_the_outline_has_nested_lines_for_compound_parts():
    """Groups, alternatives and repetitions with several parts have a line for each part."""
    assert _outline("^/(?P<all>a(?:b.|c|)+)$") == [
        "the beginning of the key",
        "`/`",
        "group 1, `all`:",
        "  `a`",
        "  once or more:",
        "    one of these:",
        "      all of this:",
        "        `b`",
        "        any character",
        "      `c`",
        "      nothing",
        "the end of the key",
    ]


def test_the_outline_lists_the_branches_of_an_alternation():
    """Each branch with several parts has a line for each part."""
    assert _outline("a.|b+") == [
        "one of these:",
        "  all of this:",
        "    `a`",
        "    any character",
        "  `b`, once or more",
    ]


def test_the_outline_marks_groups_without_a_number():
    """A non-capturing group has neither number nor name."""
    assert _outline("(?:a.)?(?i:b.)") == [
        "once or not at all:",
        "  together:",
        "    `a`",
        "    any character",
        "in any case:",
        "  `b` in any case",
        "  any character",
    ]


def test_parts_of_the_outline_have_their_extent_in_the_source():
    """The text of each part can be shown beside its phrase."""
    expression = r"^/a\.b(?P<n>\d+)"
    parts = [expression[part.extent.start : part.extent.end] for part in outline(language(expression).tree)]
    assert parts == ["^", r"/a\.b", r"(?P<n>\d+)"]


@given(st.text(alphabet="ab/.*+?|()[]^$\\d{2,}iP<>:-", max_size=40))
def test_every_valid_expression_has_a_phrase_and_an_outline(expression):
    """Every extent of the outline lies within the text."""
    tree = language(expression).tree
    if tree is not None:
        assert phrase(tree)
        assert all(0 <= part.extent.start <= part.extent.end <= len(expression) for part in outline(tree))
