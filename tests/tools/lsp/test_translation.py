from __future__ import annotations

import pytest
from editing import NAME, analysed, site
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import PositionCodec
from rule_texts import document

from tornado_proxy.lang.diagnostic import Edit, SourceFile, Span
from tornado_proxy.tools.lsp.completion import Completion
from tornado_proxy.tools.lsp.hover import symbols
from tornado_proxy.tools.lsp.translation import Lines, Translation, uri_of

TEXTS = st.text(alphabet=st.one_of(st.sampled_from("a\né\r😀\u2028\x0c"), st.characters()), max_size=30)


@pytest.mark.parametrize(
    ("encoding", "character"),
    [
        (types.PositionEncodingKind.Utf8, 9),
        (types.PositionEncodingKind.Utf16, 6),
        (types.PositionEncodingKind.Utf32, 5),
    ],
    ids=str,
)
def test_characters_above_the_basic_plane_take_more_than_one_unit(encoding, character):
    """`/😀é/` before a place counts by the encoding's code units, in both directions."""
    text = 'x\n"/😀é/"'
    lines = Lines(text, PositionCodec(encoding))
    offset = text.index('"', 3)
    assert lines.position(offset) == types.Position(1, character)
    assert lines.offset(types.Position(1, character)) == offset


def test_a_position_within_a_character_is_after_it():
    """A client that points between the two halves of a surrogate pair gets an offset all the same."""
    assert Lines("a😀b", PositionCodec()).offset(types.Position(0, 2)) == 2


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a\r\nb", (1, 0)),
        ("a\rb", (1, 0)),
        ("a\nb", (1, 0)),
        ("a\u2028b", (0, 2)),
        ("a\x0cb", (0, 2)),
        ("a\x85b", (0, 2)),
    ],
)
def test_only_what_the_protocol_calls_a_line_end_ends_a_line(text, position):
    """CR, LF and both together end a line; Unicode's other separators do not."""
    assert Lines(text, PositionCodec()).position(text.index("b")) == types.Position(*position)


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((7, 0), 7), ((1, 99), 7), ((1, 3), 6)],
    ids=str,
)
def test_a_place_beyond_the_text_is_at_its_edge(position, offset):
    """Beyond a line is the line's end, beyond the text the text's."""
    assert Lines("ab\r\nc😀d", PositionCodec()).offset(types.Position(*position)) == offset


@given(TEXTS, st.sampled_from(types.PositionEncodingKind), st.data())
def test_there_and_back_is_the_same_place(text, encoding, data):
    """Every offset but one between CR and LF has a position that leads back to it."""
    lines = Lines(text, PositionCodec(encoding))
    offset = data.draw(st.integers(0, len(text)))
    back = lines.offset(lines.position(offset))
    within_line_end = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
    assert back == (offset - 1 if within_line_end else offset)


@given(TEXTS, st.sampled_from(types.PositionEncodingKind), st.integers(0, 50), st.integers(0, 50))
def test_wherever_a_client_points_there_is_an_offset(text, encoding, line, character):
    """No position leads out of the text."""
    assert 0 <= Lines(text, PositionCodec(encoding)).offset(types.Position(line, character)) <= len(text)


_SOURCE = SourceFile("/rules/a b.rules", "x\n😀ab\n")
_SPAN = Span(_SOURCE, 3, 4)


def _range(start: tuple[int, int], end: tuple[int, int]) -> types.Range:
    return types.Range(types.Position(*start), types.Position(*end))


@pytest.mark.parametrize(
    ("encoding", "start", "end"),
    [
        (types.PositionEncodingKind.Utf8, 4, 5),
        (types.PositionEncodingKind.Utf16, 2, 3),
        (types.PositionEncodingKind.Utf32, 1, 2),
    ],
)
def test_places_are_counted_as_was_agreed(encoding, start, end):
    """In both directions."""
    translation = Translation(PositionCodec(encoding))
    assert translation.range(_SPAN) == _range((1, start), (1, end))
    assert translation.offset(_SOURCE, types.Position(1, start)) == _SPAN.start


def test_a_file_is_called_what_the_client_calls_it():
    """The URI of a file that is not open is made from the path."""
    translation = Translation(open={"/rules/a b.rules": ("file:///rules/a%20b.rules?x", 7)})
    assert translation.location(_SPAN).uri == "file:///rules/a%20b.rules?x"
    assert Translation().location(_SPAN).uri == "file:///rules/a%20b.rules"
    assert uri_of("untitled:Untitled-1") == "untitled:Untitled-1"


def test_a_finding_says_all_that_is_known():
    """Message and help, code, severity, and second places."""
    text = site('rewrite a `^/a$` -> "/b"', 'rewrite b `^/a$` -> "/c"', 'test "/a" -> "/b"')
    analysis = analysed(text)
    (found,) = Translation().diagnostics(analysis.document(NAME).source, analysis.diagnostics_of(NAME))
    assert (found.code, found.severity) == ("duplicate-rewrite", types.DiagnosticSeverity.Error)
    assert found.tags == [types.DiagnosticTag.Unnecessary]
    assert "\n" in found.message
    assert found.related_information[0].location.uri == NAME


@pytest.mark.parametrize(("markdown", "kind"), [(True, "markdown"), (False, "plaintext")])
def test_an_editor_without_markdown_gets_plain_text(markdown, kind):
    """The text is readable as it is."""
    assert Translation(markdown=markdown).markup("`x`").kind.value == kind


@pytest.mark.parametrize(("snippets", "text"), [(True, "go ($1)"), (False, "go")])
def test_an_editor_without_snippets_gets_the_word(snippets, text):
    """Places to fill in would be shown as they are."""
    proposal = Completion("go", types.CompletionItemKind.Keyword, _SPAN, snippet="go ($1)")
    found = Translation(snippets=snippets).completion(proposal, 3)
    assert (found.text_edit.new_text, found.sort_text) == (text, "0003")


def test_a_proposal_may_bring_its_manual_page():
    """It is shown beside the list."""
    found = Translation().completion(
        Completion("x", types.CompletionItemKind.EnumMember, _SPAN, "a phrase", "a page"), 0
    )
    assert (found.detail, found.documentation.value) == ("a phrase", "a page")


def test_edits_may_be_of_several_files():
    """They are grouped by file."""
    edits = [Edit(_SPAN, "y"), Edit(Span(SourceFile("untitled:1", "z"), 0, 1), "")]
    plain = Translation().workspace_edit(edits)
    assert {uri: len(each) for uri, each in plain.changes.items()} == {"file:///rules/a%20b.rules": 1, "untitled:1": 1}
    assert Translation().edits([]) == []


def test_symbols_are_nested():
    """A module with functions."""
    (symbol,) = symbols(document('target site { rewrite `^/a$` -> "/b" }'))
    found = Translation().symbol(symbol)
    assert (found.kind, found.children[0].kind) == (types.SymbolKind.Module, types.SymbolKind.Function)
    assert found.children[0].detail == "/b"
