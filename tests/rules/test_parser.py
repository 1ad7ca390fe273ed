from __future__ import annotations

import pytest
from documents import comment_texts, documents, scattered_texts
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import document, parsed, statement

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.parser import Unfinished, unfinished
from tornado_proxy.rules.reading import Where
from tornado_proxy.rules.tree import print_document


def test_test_without_clauses_has_none():
    clauses = statement('test "/a" -> "/b"').clauses
    assert (clauses.user, clauses.method, clauses.host, clauses.headers, clauses.email) == (None, None, None, (), None)


def test_a_name_ends_before_an_arrow():
    """A `-` is part of a name, but no space need stand before `->`."""
    assert statement('test "/a" as a-b->"/b"').clauses.user.value == "a-b"


def test_repeated_clause_is_an_error():
    """A repeated clause is reported at the second one, with a note at the first one."""
    (diagnostic,) = parsed('target site { test "/a" as ann as ben -> error }').diagnostics
    assert (diagnostic.code, diagnostic.message) == ("repeated-clause", "`as` is given twice")
    assert (diagnostic.span.first.column, diagnostic.notes[0].span.text) == (32, "ann")


def test_spans_cover_whole_nodes():
    """The span of a block ends with its brace, and the span of a statement with its last token."""
    (block,) = document('# c\ntarget site {\n  rewrite a `^/a` -> "/b" # d\n} # e').blocks
    assert block.span.text == 'target site {\n  rewrite a `^/a` -> "/b" # d\n}'
    assert block.statements[0].span.text == 'rewrite a `^/a` -> "/b"'


def test_comment_in_the_middle_of_a_first_line_moves_above_the_block():
    (block,) = document("target # one\nsite # two\n{ # opening\n}").blocks
    assert [comment.text for comment in block.comments] == ["# one", "# two"]
    assert block.opening.text == "# opening"


_FRAGMENTS = st.sampled_from(
    [
        *("target", "rewrite", "test", "{", "}", "->", "`", '"', "'", "`a`", '"b"', "# c\n", "\n", " ", "\n    "),
        *("as", "method", "header", "unchanged", "error", "jinja", "go", "rewrit", "tagret", "=>", "=", ";", "//"),
        *("/*", "*/", "--", "\\", "\\.", "name", "^/a(.*)$", "{{", "}}", "\0", "\r", "\r\n", "\u00a0", "\ufeff", "a@b"),
        *(":", ",", "“a”", "'a'", "\ud800", "\u200b", "user-groups", "/b", "x", '"/{{"', '{"a":', "rewrite ^/a /b;"),
        *("RewriteRule", "RewriteCond x", "targets:", "- source: x", "server {", "location /x {", "return 301;"),
    ]
)
_SEPARATED = st.tuples(_FRAGMENTS, st.sampled_from(["", " ", "\n"])).map("".join)
_NEARLY_RULES = st.lists(_SEPARATED, max_size=30).map("".join)


def test_keywords_are_valid_names():
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


def test_carriage_returns_change_nothing():
    """A file with CR LF has the same document as the same file with LF, even within raw strings."""
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
def test_invisible_character_is_an_error(text, message):
    """Outside of strings, a character that is invisible is an error, except spaces, tabs and line ends."""
    (diagnostic,) = parsed(text).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("control-character", message)


def test_lone_surrogate_is_replaced():
    """A lone surrogate, which an editor may send, is read as the replacement character."""
    assert statement('rewrite "\ud800" -> "/b"').source.value == "\N{REPLACEMENT CHARACTER}"


def test_diagnostics_have_the_order_of_the_text():
    text = 'target a { rewrite "\\." => "/b" # \x01\n rewrite "\\d" = "/c" }'
    offsets = [diagnostic.span.start for diagnostic in parsed(text).diagnostics]
    assert len(offsets) == 5
    assert offsets == sorted(offsets)


@given(documents)
def test_printed_document_is_read_as_the_same_document(document):
    text = print_document(document)
    for ends in ("\n", "\r\n"):
        result = parsed(text.replace("\n", ends))
        assert (result.document, result.diagnostics) == (document, ())


@given(scattered_texts())
def test_comments_between_any_tokens_are_kept(text_and_comments):
    text, comments = text_and_comments
    assert comment_texts(document(text)) == comments


@given(st.text(st.characters(), max_size=60) | _NEARLY_RULES | _NEARLY_RULES.map(lambda text: f"target a {{\n{text}"))
def test_no_text_makes_the_parser_raise(text):
    result = parsed(text)
    spans = [diagnostic.span for diagnostic in result.diagnostics]
    assert all(0 <= span.start <= span.end <= len(text) for span in spans)
    assert spans == sorted(spans, key=lambda span: span.start)


@given(_NEARLY_RULES)
def test_document_of_a_broken_file_is_valid(text):
    document = parsed(text).document
    result = parsed(print_document(document))
    assert result.document == document
    assert {diagnostic.code for diagnostic in result.diagnostics} <= {"control-character"}


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
def test_a_megabyte_of_garbage_has_a_limited_report(text):
    """Neither depth nor length makes the parser fail, and the number of diagnostics is limited."""
    assert 1 <= len(parsed(text).diagnostics) <= 1003


def _unfinished_at_end(text: str) -> Unfinished:
    return unfinished(SourceFile("site.rules", text), len(text))


@pytest.mark.parametrize(
    ("text", "where", "accepted"),
    [
        ("", Where.FILE, {"TARGET"}),
        ("target ", Where.HEADER, {"NAME", "STRING"}),
        ("target site { ", Where.BLOCK, {"REWRITE", "REDIRECT", "GONE", "REDIRECTS", "REWRITES", "TEST", "RBRACE"}),
        ("target site { rewrite `^/a` -> ", Where.REWRITE, {"JINJA", "GO", "STRING", "RAW"}),
        ('target site { test "/a" as ann -> ', Where.TEST, {"UNCHANGED", "ERROR", "REDIRECT", "GONE", "STRING", "RAW"}),
        ("target site { redirect if ", Where.REWRITE, {"MISSING"}),
        ("target site { redirect 301 ", Where.REWRITE, {"NAME", "STRING", "RAW"}),
        ("target site { redirects ", Where.LIST, {"IF", "STATUS", "STRING", "RAW"}),
        ('target site { test "/a" -> redirect ', Where.TEST, {"STATUS", "STRING", "RAW"}),
        ("target site { } ", Where.FILE, {"TARGET"}),
    ],
)
def test_unfinished_text_has_its_next_tokens(text, where, accepted):
    state = _unfinished_at_end(text)
    assert (state.where, state.accepts - {"$END"}, state.open) == (where, accepted, None)


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
def test_unfinished_text_has_its_open_string_or_comment(text, opened):
    """A string without its end and a comment without its line end are open."""
    assert _unfinished_at_end(text).open == opened


def test_unfinished_text_has_the_tokens_of_its_statement():
    state = _unfinished_at_end('target site { rewrite home `^/(?P<rest>.*)$` -> jinja "/{{ ')
    assert [str(token) for token in state.begun] == ["rewrite", "home", "`^/(?P<rest>.*)$`", "->", "jinja"]


@given(st.text(alphabet=st.one_of(st.sampled_from('target{}rewrite`"->#\n $\ud800'), st.characters()), max_size=60))
def test_any_unfinished_text_has_a_state(text):
    assert _unfinished_at_end(text).where in Where


def test_file_with_too_many_mistakes_has_a_state():
    assert _unfinished_at_end("} " * 2000).where is Where.FILE
