from __future__ import annotations

import pytest
from rule_texts import document, parsed, statement

from tornado_proxy.lang.tree import Dialect, Verdict


@pytest.mark.parametrize(
    ("word", "dialect"),
    [("", Dialect.PLAIN), ("jinja", Dialect.JINJA), ("go", Dialect.GO)],
    ids=["plain", "jinja", "go"],
)
def test_rewrite_has_a_dialect(word, dialect):
    """A template without a word before it is plain."""
    rewrite = statement(f'rewrite `^/a` -> {word} "/b"')
    assert (rewrite.name, rewrite.source.value, rewrite.dialect, rewrite.template.value) == (None, "^/a", dialect, "/b")


@pytest.mark.parametrize("name", ["home", "rewrite", "jinja", '"my home"'])
def test_rewrite_may_have_a_name(name):
    """Any word names a rewrite, a keyword too."""
    assert statement(f'rewrite {name} "^/a" -> "/b"').name.value == name.strip('"')


@pytest.mark.parametrize(("written", "expected"), [("unchanged", Verdict.UNCHANGED), ("error", Verdict.ERROR)])
def test_test_may_expect_a_verdict(written, expected):
    """A test expects that no rewrite matches, or that the key is refused."""
    assert statement(f'test "/a" -> {written}').expected is expected


def test_verdict_in_quotes_is_a_key():
    """Only the bare word is a verdict."""
    assert statement('test "/a" -> "unchanged"').expected.value == "unchanged"


def test_clauses_come_in_any_order():
    """Each clause finds its place, and headers keep their order."""
    text = 'test "/a" header a 1st host "h:1" email "e@x" header "b" `2` as as method PUT user-groups "x,y" -> error'
    clauses = statement(text.replace("1st", '"1"')).clauses
    assert [(name.value, value.value) for name, value in clauses.headers] == [("a", "1"), ("b", "2")]
    found = (clauses.user, clauses.method, clauses.host, clauses.email, clauses.user_groups)
    assert [literal.value for literal in found] == ["as", "PUT", "h:1", "e@x", "x,y"]


def test_test_without_clauses_says_nothing_of_its_request():
    """What is left out is none."""
    clauses = statement('test "/a" -> "/b"').clauses
    assert (clauses.user, clauses.method, clauses.host, clauses.headers, clauses.email) == (None, None, None, (), None)


def test_repeated_clause_is_an_error_at_the_second():
    """A clause that stands once only may not come again, and the first one is shown."""
    (diagnostic,) = parsed('target site { test "/a" as ann as ben -> error }').diagnostics
    assert (diagnostic.code, diagnostic.message) == ("repeated-clause", "`as` is given twice")
    assert (diagnostic.span.first.column, diagnostic.notes[0].span.text) == (32, "ann")


def test_spans_cover_whole_nodes():
    """A block's span ends with its brace, a statement's with its last token."""
    (block,) = document('# c\ntarget site {\n  rewrite a `^/a` -> "/b" # d\n} # e').blocks
    assert block.span.text == 'target site {\n  rewrite a `^/a` -> "/b" # d\n}'
    assert block.statements[0].span.text == 'rewrite a `^/a` -> "/b"'


def test_blank_line_above_a_statement_is_remembered():
    """A blank line, with spaces in it or not, separates two statements; a line's end alone does not."""
    text = 'target site {\n test "/a" -> error\n test "/b" -> error\n \t\n test "/c" -> error\n}'
    (block,) = document(text).blocks
    assert [each.blank_before for each in block.statements] == [False, False, True]


def test_statement_with_something_made_up_is_left_out():
    """Where a mistake leaves the meaning open, the document has no such statement, but its neighbours."""
    result = parsed('target site { rewrite -> "/a" test "/b" as @x -> error rewrite `^/c` -> "/d" }')
    ((only,),) = (block.statements for block in result.document.blocks)
    assert only.source.value == "^/c"


def test_block_without_a_name_is_left_out():
    """A block that could belong to any target belongs to none."""
    result = parsed('target { rewrite `^/a` -> "/b" } target site { }')
    assert [block.name.value for block in result.document.blocks] == ["site"]


def test_block_with_an_empty_name_stays():
    """An empty string is a name, which is for the compiler to judge."""
    assert document('target "" {}').blocks[0].name.value == ""
