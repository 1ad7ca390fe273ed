from __future__ import annotations

import pytest
from documents import comment_texts, documents, scattered_texts
from hypothesis import given
from rule_texts import document, parsed

from tornado_proxy.rules.printer import group_lines, print_document

UNTIDY = """\
# header


target "site" { # opening
  rewrite `^/a` -> "/b"    # one
    rewrite home "^/c\\\\." # inner
      -> jinja
    "/d"


  # apart
  rewrite `^/e`->go '/f'
    test "/a" -> "/b" test "/long" as ann -> unchanged

  # closing
}
# about other
target other { } target third { # nothing
}
# end""".replace("'", '"')

TIDY = """\
# header

target site {  # opening
    rewrite `^/a` -> "/b"  # one
    # inner
    rewrite home `^/c\\.` -> jinja "/d"

    # apart
    rewrite `^/e` -> go "/f"
    test "/a"             -> "/b"
    test "/long" as "ann" -> unchanged

    # closing
}

# about other
target other {}

target third {  # nothing
}

# end
"""


def test_untidy_text_gets_the_canonical_layout():
    """An untidy text is printed in the canonical layout, with every comment."""
    assert print_document(document(UNTIDY)) == TIDY


def test_tidy_text_is_unchanged():
    """A text in the canonical layout is printed as it is."""
    assert print_document(document(TIDY)) == TIDY


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("\n\n", ""),
        ("\n\n# a\n\n\n# b", "# a\n\n# b\n"),
        ("\n\ntarget a {\n\n\n# c\n}", "target a {\n    # c\n}\n"),
        ("target a {\n\n\n test `/a` -> error\n\n\n}", "target a {\n    test `/a` -> error\n}\n"),
        ("# a\n\ntarget a {}\n# b\n\ntarget b {}", "# a\n\ntarget a {}\n\n# b\n\ntarget b {}\n"),
        ("target a {}\ntarget b {} # c", "target a {}\n\ntarget b {}  # c\n"),
        ("target a {\n test `/a` -> error\n# c\n}", "target a {\n    test `/a` -> error\n    # c\n}\n"),
    ],
)
def test_blank_lines_are_added_and_removed(text, printed):
    """One blank line separates blocks, at most one separates statements, and there is no blank line at an edge."""
    assert print_document(document(text)) == printed


def test_arrows_are_aligned_within_a_group():
    """Blank lines, comments and a change from rewrites to tests divide the groups whose arrows are aligned."""
    text = """\
target site {
    rewrite `^/a` -> "/a"
    rewrite `^/bb` -> "/b"

    rewrite `^/cccc` -> "/c"
    # another
    rewrite `^/d` -> "/d"
    test "/e" -> error
}
"""
    assert print_document(document(text)) == text.replace("`^/a` ->", "`^/a`  ->")


@given(documents)
def test_printed_text_is_unchanged(document):
    """A printed document is printed again as the same text, with its blank lines."""
    text = print_document(document)
    assert print_document(parsed(text).document) == text


@given(documents)
def test_every_comment_is_printed_once(document):
    """The printer loses and repeats no comment, and keeps their order."""
    assert comment_texts(parsed(print_document(document)).document) == comment_texts(document)


@given(scattered_texts())
def test_formatting_keeps_the_document(text_and_comments):
    """A file in any layout parses to the same document after formatting, and formatting it again changes nothing."""
    before = document(text_and_comments[0])
    printed = print_document(before)
    assert document(printed) == before
    assert print_document(document(printed)) == printed


def _lines(text):
    (block,) = document(f"target site {{ {text} }}").blocks
    return group_lines(block.statements)


def test_arrows_of_a_group_have_one_column():
    """The longest source of a group decides the column of the arrows."""
    assert _lines('rewrite `^/a` -> "/b" rewrite `^/long` -> "/c"') == [
        'rewrite `^/a`    -> "/b"',
        'rewrite `^/long` -> "/c"',
    ]


def test_names_and_dialects_have_columns_of_their_own():
    """A name or a dialect of one rewrite has a column, which the other rewrites of the group leave empty."""
    assert _lines('rewrite `^/a` -> "/b" rewrite home `^/c` -> jinja "/d" rewrite `^/e` -> go "/f"') == [
        'rewrite      `^/a` ->       "/b"',
        'rewrite home `^/c` -> jinja "/d"',
        'rewrite      `^/e` -> go    "/f"',
    ]


def test_tests_align_their_arrows_behind_the_clauses():
    """The longest key with clauses in a group of tests decides the column of the arrows."""
    assert _lines('test "/a" as ann -> "/b" test "/c" -> unchanged') == [
        'test "/a" as "ann" -> "/b"',
        'test "/c"          -> unchanged',
    ]


def test_clauses_have_one_order_and_one_form():
    """Clauses are printed in one order, their values between quotes, and methods without quotes."""
    text = 'test `/a` email e user-groups a header X-A `1"` host h method "GET" as ann -> error'
    assert _lines(text) == [
        'test `/a` as "ann" method GET host "h" header "X-A" `1"` user-groups "a" email "e" -> error'
    ]


@pytest.mark.parametrize("source", ["`^/" + "a" * 90 + "`", "`^/a\n  b`"], ids=["wide", "several lines"])
def test_long_source_is_not_aligned(source):
    """A source that is very wide or has several lines does not move the arrows of the other rewrites."""
    assert _lines(f'rewrite {source} -> "/b" rewrite `^/c` -> "/d"') == [
        f'rewrite {source} -> "/b"',
        'rewrite `^/c` -> "/d"',
    ]


def test_wide_characters_take_two_columns():
    """Arrows are aligned by the columns of a terminal."""
    assert _lines('rewrite `日本` -> "/b" rewrite `^/abc` -> "/d"') == [
        'rewrite `日本`  -> "/b"',
        'rewrite `^/abc` -> "/d"',
    ]
