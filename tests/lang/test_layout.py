from __future__ import annotations

import pytest
from rule_texts import document

from tornado_proxy.lang.layout import group_lines


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
