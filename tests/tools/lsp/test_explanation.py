from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.language import language
from tornado_proxy.lang.excerpt import visible
from tornado_proxy.tools.lsp.explanation import code, outline, paragraphs, phrase, prose


@pytest.mark.parametrize(
    ("text", "shown"),
    [("/a", "`/a`"), ("a`b", "``a`b``"), ("`x", "`` `x ``"), ("", "` `"), ("a\nb", "`a␊b`"), (" a ", "`  a  `")],
)
def test_code_is_fenced_by_what_it_does_not_hold(text, shown):
    """Backticks and control characters are shown, and end nothing."""
    assert code(text) == shown


def test_a_long_text_is_cut():
    """A long text is cut."""
    assert code("x" * 500) == f"`{'x' * 200}…`"


@given(st.text(alphabet=st.one_of(st.sampled_from("` a"), st.characters()), min_size=1, max_size=40))
def test_the_fence_of_code_stands_nowhere_in_it(text):
    """The fence occurs only at both ends."""
    written = code(text)
    runs = re.findall("`+", written)
    assert runs[0] == runs[-1]
    assert runs[0] not in runs[1:-1]
    assert visible(text) in written


def test_prose_keeps_backticks_and_nothing_else():
    """Text between backticks is code, and an underscore is not emphasis."""
    assert prose("`a_b` is *no* key_") == "`a_b` is \\*no\\* key\\_"


def test_empty_paragraphs_are_left_out():
    """Paragraphs are separated by a blank line."""
    assert paragraphs(["a", "", "b"]) == "a\n\nb"


@pytest.mark.parametrize(
    ("expression", "words"),
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
def test_each_part_has_its_words(expression, words):
    """Every construct has a phrase."""
    assert phrase(language(expression).tree) == words


def _outline(expression: str) -> list[str]:
    return [f"{'  ' * part.depth}{part.meaning}" for part in outline(language(expression).tree)]


def test_what_does_not_fit_on_a_line_has_lines_of_its_own():
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


def test_a_choice_between_longer_parts_is_reported_by_branches():
    """An alternation that is not a list of words is one of several."""
    assert _outline("a.|b+") == [
        "one of these:",
        "  all of this:",
        "    `a`",
        "    any character",
        "  `b`, once or more",
    ]


def test_a_group_that_only_holds_together_says_so():
    """It has neither number nor name."""
    assert _outline("(?:a.)?(?i:b.)") == [
        "once or not at all:",
        "  together:",
        "    `a`",
        "    any character",
        "in any case:",
        "  `b` in any case",
        "  any character",
    ]


def test_parts_say_where_they_stand():
    """The text of each part can be shown beside its words."""
    expression = r"^/a\.b(?P<n>\d+)"
    written = [expression[part.extent.start : part.extent.end] for part in outline(language(expression).tree)]
    assert written == ["^", r"/a\.b", r"(?P<n>\d+)"]


@given(st.text(alphabet="ab/.*+?|()[]^$\\d{2,}iP<>:-", max_size=40))
def test_every_expression_can_be_reported(expression):
    """Every parsed expression has a phrase, and its parts are in the text."""
    tree = language(expression).tree
    if tree is not None:
        assert phrase(tree)
        assert all(0 <= part.extent.start <= part.extent.end <= len(expression) for part in outline(tree))
