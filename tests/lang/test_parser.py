from __future__ import annotations

import pytest
from documents import comment_texts, documents, scattered_texts
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import complaints, document, parsed, statement

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import Unfinished, unfinished
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.tree import Dialect, RewriteStatement, TestStatement, Verdict


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


_FRAGMENTS = st.sampled_from(
    [
        *("target", "rewrite", "test", "{", "}", "->", "`", '"', "'", "`a`", '"b"', "# c\n", "\n", " ", "\n    "),
        *("as", "method", "header", "unchanged", "error", "jinja", "go", "rewrit", "tagret", "=>", "=", ";", "//"),
        *("/*", "*/", "--", "\\", "\\.", "name", "^/a(.*)$", "{{", "}}", "\0", "\r", "\r\n", "\u00a0", "\ufeff", "a@b"),
        *(":", ",", "“a”", "'a'", "\ud800", "\u200b", "location /x {", "user-groups"),
    ]
)
_NEARLY_RULES = st.lists(_FRAGMENTS, max_size=30).map("".join)


@pytest.mark.parametrize("text", ["", "\n", "# only a comment", "\ufeff", "\ufeff# c\r\n", " \t\r\n"])
def test_empty_file_is_valid(text):
    """A file without blocks has no mistake."""
    assert document(text).blocks == ()


@pytest.mark.parametrize("text", ["target site {}", "target site {\n}", "\ufefftarget site {\r\n}\r\n"])
def test_empty_block_is_valid(text):
    """A block without statements is a block."""
    assert [(block.name.value, block.statements) for block in document(text).blocks] == [("site", ())]


def test_blocks_and_statements_keep_their_order():
    """Several blocks, of one target too, come as they stand."""
    text = 'target b { rewrite `1` -> "" test "/2" -> error rewrite `3` -> "" } target a {} target b {}'
    found = document(text)
    assert [block.name.value for block in found.blocks] == ["b", "a", "b"]
    assert [type(each) for each in found.blocks[0].statements] == [RewriteStatement, TestStatement, RewriteStatement]


def test_no_word_is_reserved_where_a_name_stands():
    """Keywords name targets, rewrites, users and headers."""
    text = """
    target target {
        rewrite rewrite `x` -> "y"
        rewrite jinja `x` -> jinja "y"
        test "/x" as as method method host go header header header -> unchanged
    }
    """
    (block,) = document(text).blocks
    first, second, test = block.statements
    assert [block.name.value, first.name.value, second.name.value] == ["target", "rewrite", "jinja"]
    assert test.clauses.headers[0][1].value == "header"


def test_keyword_is_never_cut_off_a_longer_word():
    """`rewritehome` is one word, and no statement."""
    assert complaints('target site { rewritehome "^/a" -> "/b" }') == [
        "expected `rewrite`, `test` or `}`, found `rewritehome`"
    ]


def test_space_is_needed_only_between_words():
    """Strings, braces and arrows stand for themselves without space."""
    text = 'target site{rewrite home`^/a`->jinja"/b"test"/a"as ann->unchanged}'
    (block,) = document(text).blocks
    assert block.statements[1].clauses.user.value == "ann"


def test_carriage_returns_change_nothing():
    """A file with CR LF ends says what the same file with LF ends says, within raw strings too."""
    text = 'target site {\n    # c\n    rewrite `^/a\n$` -> "/b"\n}\n'
    assert document(text.replace("\n", "\r\n")) == document(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("target a\0{}", "invisible character U+0000"),
        ("target a {}\r", "invisible character U+000D"),
        ("target a {}\x0c", "invisible character U+000C"),
        ("target\u00a0a {}", "invisible character U+00A0"),
        ("target a {} # \x07", "invisible character U+0007 in a comment"),
    ],
)
def test_character_that_nobody_sees_is_an_error(text, message):
    """Outside of strings stand only characters that a reader can see, spaces, tabs and line ends."""
    (diagnostic,) = parsed(text).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("control-character", message)


def test_half_of_a_surrogate_pair_is_replaced():
    """A half character, which only the text of an editor can have, is read as the replacement character."""
    assert statement('rewrite "\ud800" -> "/b"').source.value == "\N{REPLACEMENT CHARACTER}"


def test_mistakes_come_in_the_order_of_the_text():
    """Whoever finds a mistake, it is told where a reader meets it."""
    text = 'target a { rewrite "\\." => "/b" # \x01\n rewrite "\\d" = "/c" }'
    places = [diagnostic.span.start for diagnostic in parsed(text).diagnostics]
    assert len(places) == 5
    assert places == sorted(places)


@given(documents)
def test_what_is_printed_is_read_as_it_was(document):
    """Whatever a document says, its text says the same, with line ends of either kind."""
    text = print_document(document)
    for ends in ("\n", "\r\n"):
        result = parsed(text.replace("\n", ends))
        assert (result.document, result.diagnostics) == (document, ())


@given(scattered_texts())
def test_comments_survive_wherever_they_stand(text_and_comments):
    """Each comment between any two tokens is found in the document, in order."""
    text, comments = text_and_comments
    assert comment_texts(document(text)) == comments


@given(st.text(st.characters(), max_size=60) | _NEARLY_RULES | _NEARLY_RULES.map(lambda text: f"target a {{\n{text}"))
def test_no_text_makes_the_parser_raise(text):
    """Any text gives a document and diagnostics with places in the text, in order."""
    result = parsed(text)
    spans = [diagnostic.span for diagnostic in result.diagnostics]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert spans == sorted(spans, key=lambda span: span.start)


@given(_NEARLY_RULES)
def test_what_is_kept_of_a_broken_file_is_sound(text):
    """The document of a text with mistakes can be printed and read again without any."""
    kept = parsed(text).document
    again = parsed(print_document(kept))
    assert again.document == kept
    assert {diagnostic.code for diagnostic in again.diagnostics} <= {"control-character"}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("}" * 1_000_000, id="braces"),
        pytest.param("{" * 1_000_000, id="opening braces"),
        pytest.param("target a {\n" + "rewrite `a\n" * 90_000, id="open raw strings"),
        pytest.param("target a {" + 'rewrite "a" ' * 80_000, id="one line"),
        pytest.param("target a {\n" + "/*\n" * 300_000, id="comment marks"),
        pytest.param("lorem ipsum dolor\n" * 55_000, id="prose"),
        pytest.param('"' + "\\" * 1_000_000, id="backslashes"),
    ],
)
def test_a_megabyte_of_garbage_is_read_to_its_end(text):
    """Neither depth nor length stops the parser, and it does not say more than anyone can read."""
    assert 1 <= len(parsed(text).diagnostics) <= 1003


def test_many_rewrites_are_read():
    """Thousands of rewrites are nothing unusual."""
    lines = "".join(f'rewrite r{number} `^/a{number}/(?P<x>.*)$` -> "/b/$x" # c\n' for number in range(3000))
    (block,) = document(f"target a {{\n{lines}}}\n").blocks
    assert len(block.statements) == 3000


def test_source_is_the_documents():
    """A document knows the file that it was read from."""
    assert document("").source == SourceFile("site.rules", "")


def _at_end(text: str) -> Unfinished:
    return unfinished(SourceFile("site.rules", text), len(text))


@pytest.mark.parametrize(
    ("text", "where", "accepted"),
    [
        ("", Where.FILE, {"TARGET"}),
        ("target ", Where.HEADER, {"NAME", "STRING"}),
        ("target site { ", Where.BLOCK, {"REWRITE", "TEST", "RBRACE"}),
        ("target site { rewrite `^/a` -> ", Where.REWRITE, {"JINJA", "GO", "STRING", "RAW"}),
        ('target site { test "/a" as ann -> ', Where.TEST, {"UNCHANGED", "ERROR", "STRING", "RAW"}),
        ("target site { } ", Where.FILE, {"TARGET"}),
    ],
)
def test_it_says_what_would_fit_next(text, where, accepted):
    """The parser's state at the end tells what may follow."""
    found = _at_end(text)
    assert (found.where, found.accepts - {"$END"}, found.open) == (where, accepted, None)


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("target site { rewrite `^/a(", "`^/a("),
        ('target site { rewrite `^/a` -> "/b/$', '"/b/$'),
        ("# allow: un", "# allow: un"),
        ("target site { # a\n", None),
        ('target site { test "/a" -> "/b"', None),
    ],
)
def test_it_says_in_what_string_or_comment_a_text_breaks_off(text, opened):
    """A string without its end, or a comment without its line end, is open."""
    assert _at_end(text).open == opened


def test_it_shows_the_statement_so_far():
    """The tokens of what is being written are there to be read."""
    found = _at_end('target site { rewrite home `^/(?P<rest>.*)$` -> jinja "/{{ ')
    assert [str(token) for token in found.begun] == ["rewrite", "home", "`^/(?P<rest>.*)$`", "->", "jinja"]


def test_what_follows_the_offset_does_not_count():
    """Only the text before the offset is read."""
    source = SourceFile("site.rules", 'target site { rewrite `^/a` -> "/b" }')
    assert unfinished(source, source.text.index("->")).accepts == {"ARROW"}


def test_mistakes_before_the_end_are_passed_over():
    """A statement that was never finished does not hide what the next one leaves open."""
    found = _at_end('target site {\n    rewrite `^/a` = "/b"\n    test "/a" => "/b"\n    test "/c" ')
    assert (found.where, "ARROW" in found.accepts) == (Where.TEST, True)


@given(st.text(alphabet=st.one_of(st.sampled_from('target{}rewrite`"->#\n $\ud800'), st.characters()), max_size=60))
def test_no_text_makes_it_fail(text):
    """Whatever stands before an offset, there is a state."""
    assert _at_end(text).where in Where


def test_file_with_too_many_mistakes_has_a_state():
    """Where reading gives up, the state is that of the last mistake."""
    assert _at_end("} " * 2000).where is Where.FILE
