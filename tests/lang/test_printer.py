from __future__ import annotations

import pytest
from documents import comment_texts, documents, scattered_texts
from hypothesis import given
from rule_texts import document, parsed

from tornado_proxy.lang.printer import group_lines, print_document

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


def test_text_becomes_tidy():
    """Whatever the layout was, the canonical one comes out, with every comment."""
    assert print_document(document(UNTIDY)) == TIDY


def test_tidy_text_stays_as_it_is():
    """Formatting what is formatted changes nothing."""
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
def test_blank_lines_separate_and_nothing_more(text, printed):
    """One blank line stands between blocks, at most one between statements, none at an edge."""
    assert print_document(document(text)) == printed


def test_blank_line_divides_a_group():
    """Arrows are aligned within a group only; blank lines, comments and a change of kind divide."""
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
def test_printing_what_was_printed_changes_nothing(document):
    """The layout is a fixed point, blank lines included."""
    text = print_document(document)
    assert print_document(parsed(text).document) == text


@given(documents)
def test_every_comment_is_printed_once(document):
    """No comment is lost, doubled or moved past another one."""
    assert comment_texts(parsed(print_document(document)).document) == comment_texts(document)


@given(scattered_texts())
def test_formatting_keeps_what_a_file_says(text_and_comments):
    """A file laid out in any way says the same when formatted, and formatting it again changes nothing."""
    before = document(text_and_comments[0])
    printed = print_document(before)
    assert document(printed) == before
    assert print_document(document(printed)) == printed


def _lines(text):
    (block,) = document(f"target site {{ {text} }}").blocks
    return group_lines(block.statements)


def test_arrows_of_a_group_stand_below_one_another():
    """The longest source decides where the arrows are."""
    assert _lines('rewrite `^/a` -> "/b" rewrite `^/long` -> "/c"') == [
        'rewrite `^/a`    -> "/b"',
        'rewrite `^/long` -> "/c"',
    ]


def test_names_and_dialects_have_columns_of_their_own():
    """Where one rewrite has a name or a dialect, the others leave room for it."""
    assert _lines('rewrite `^/a` -> "/b" rewrite home `^/c` -> jinja "/d" rewrite `^/e` -> go "/f"') == [
        'rewrite      `^/a` ->       "/b"',
        'rewrite home `^/c` -> jinja "/d"',
        'rewrite      `^/e` -> go    "/f"',
    ]


def test_tests_align_their_arrows_behind_the_clauses():
    """A test's key and clauses stand in one column."""
    assert _lines('test "/a" as ann -> "/b" test "/c" -> unchanged') == [
        'test "/a" as "ann" -> "/b"',
        'test "/c"          -> unchanged',
    ]


def test_clauses_have_one_order_and_one_form():
    """Clauses come in the order of the language's description, data quoted, methods bare."""
    text = 'test `/a` email e user-groups a header X-A `1"` host h method "GET" as ann -> error'
    assert _lines(text) == [
        'test `/a` as "ann" method GET host "h" header "X-A" `1"` user-groups "a" email "e" -> error'
    ]


@pytest.mark.parametrize("source", ["`^/" + "a" * 90 + "`", "`^/a\n  b`"], ids=["wide", "several lines"])
def test_unwieldy_source_does_not_push_its_neighbours_away(source):
    """A source that is very wide or has several lines has its arrow right behind it."""
    assert _lines(f'rewrite {source} -> "/b" rewrite `^/c` -> "/d"') == [
        f'rewrite {source} -> "/b"',
        'rewrite `^/c` -> "/d"',
    ]


def test_wide_characters_take_two_columns():
    """Arrows are aligned as a terminal shows them."""
    assert _lines('rewrite `日本` -> "/b" rewrite `^/abc` -> "/d"') == [
        'rewrite `日本`  -> "/b"',
        'rewrite `^/abc` -> "/d"',
    ]
