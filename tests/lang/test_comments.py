from __future__ import annotations

from rule_texts import document

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
