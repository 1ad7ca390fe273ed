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


TEXT = """\
# header

# about site
target site {  # opening
    # above
    rewrite `^/a` -> "/b"  # trailing

    # one

    # two
    # closing
}  # behind
# last
"""


def _texts(comments):
    return [comment.text for comment in comments]


def test_comments_above_a_block_belong_to_it():
    """A file's header and what is said about its first block are both above that block."""
    (block,) = document(TEXT).blocks
    assert _texts(block.comments) == ["# header", "# about site"]


def test_block_keeps_its_comments_apart():
    """Behind the opening brace, above the closing one, behind it: each comment keeps its place."""
    (block,) = document(TEXT).blocks
    assert (block.opening.text, block.trailing.text) == ("# opening", "# behind")
    assert _texts(block.closing) == ["# one", "# two", "# closing"]


def test_statement_has_comments_above_and_behind():
    """A comment on a line of its own belongs to the statement below, one at the end of the line to the statement there."""
    ((rewrite,),) = (block.statements for block in document(TEXT).blocks)
    assert (_texts(rewrite.comments), rewrite.trailing.text) == (["# above"], "# trailing")


def test_comments_behind_the_last_block_close_the_file():
    """What stands below the last block belongs to the document."""
    assert _texts(document(TEXT).closing) == ["# last"]


def test_blank_line_above_a_comment_is_remembered():
    """Comments that a blank line separates stay separate."""
    (block,) = document(TEXT).blocks
    assert [comment.blank_before for comment in block.closing] == [True, True, False]


def test_comment_in_the_middle_of_a_statement_moves_above_it():
    """Comments between a statement's tokens are kept: they stand above it, the last one behind it."""
    text = 'target site {\n# above\nrewrite # one\n`^/a` # two\n-> # three\n"/b" # behind\n}'
    ((rewrite,),) = (block.statements for block in document(text).blocks)
    assert _texts(rewrite.comments) == ["# above", "# one", "# two", "# three"]
    assert rewrite.trailing.text == "# behind"


def test_comment_in_the_middle_of_a_first_line_moves_above_the_block():
    """Comments before a block's opening brace stand above the block."""
    (block,) = document("target # one\nsite # two\n{ # opening\n}").blocks
    assert (_texts(block.comments), block.opening.text) == (["# one", "# two"], "# opening")


def test_comment_behind_two_statements_belongs_to_the_second():
    """A comment is behind the statement that ends right before it."""
    text = 'target site { rewrite `^/a` -> "/b" rewrite `^/c` -> "/d" # two\n}'
    ((first, second),) = (block.statements for block in document(text).blocks)
    assert (first.trailing, second.trailing.text) == (None, "# two")


def test_comment_on_the_next_line_is_not_behind():
    """A comment that begins a line belongs to what follows."""
    text = 'target site {\nrewrite `^/a` -> "/b"\n# next\nrewrite `^/c` -> "/d"\n}'
    ((first, second),) = (block.statements for block in document(text).blocks)
    assert (first.trailing, _texts(second.comments)) == (None, ["# next"])


def test_comment_has_no_trailing_space():
    """Spaces and a carriage return at the end of a comment are none of its text."""
    assert document("# a \t\r\n#\n").closing[0].text == "# a"


def test_hash_within_a_string_is_no_comment():
    """Only outside of strings does `#` begin a comment."""
    text = 'target site { rewrite "^/#a" -> `/#b` }'
    ((rewrite,),) = (block.statements for block in document(text).blocks)
    assert (rewrite.source.value, rewrite.template.value) == ("^/#a", "/#b")
