from __future__ import annotations

import pytest
from editing import NAME, analysed, site
from hypothesis import given
from hypothesis import strategies as st
from linear_time import check_linear
from lsprotocol import types
from pygls.workspace import PositionCodec
from rule_texts import document

from tornado_proxy.rules.diagnostic import Edit, SourceFile, Span
from tornado_proxy.tools.lsp.completion import Completion
from tornado_proxy.tools.lsp.server import Lines, Translation, uri_of

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
def test_positions_count_code_units_of_the_encoding(encoding, character):
    """A character beyond the Basic Multilingual Plane takes more than one unit, in both directions."""
    text = 'x\n"/😀é/"'
    lines = Lines(text, PositionCodec(encoding))
    offset = text.index('"', 3)
    assert lines.position(offset) == types.Position(1, character)
    assert lines.offset(types.Position(1, character)) == offset


def test_a_position_within_a_character_is_after_it():
    """A position between the two halves of a surrogate pair is the offset after the pair."""
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
def test_only_cr_lf_and_both_together_end_a_line(text, position):
    """Unicode's other line separators end no line in the protocol."""
    assert Lines(text, PositionCodec()).position(text.index("b")) == types.Position(*position)


@pytest.mark.parametrize(
    ("position", "offset"),
    [((0, 99), 2), ((7, 0), 7), ((1, 99), 7), ((1, 3), 6)],
    ids=str,
)
def test_a_position_beyond_the_text_is_at_its_end(position, offset):
    """A position beyond a line is at the line's end, and one beyond the last line is at the text's end."""
    assert Lines("ab\r\nc😀d", PositionCodec()).offset(types.Position(*position)) == offset


@given(TEXTS, st.sampled_from(types.PositionEncodingKind), st.data())
def test_the_position_of_any_offset_leads_back_to_it(text, encoding, data):
    """Only the offset between CR and LF leads to the one before."""
    lines = Lines(text, PositionCodec(encoding))
    offset = data.draw(st.integers(0, len(text)))
    back = lines.offset(lines.position(offset))
    within_line_end = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
    assert back == (offset - 1 if within_line_end else offset)


@given(TEXTS, st.sampled_from(types.PositionEncodingKind), st.integers(0, 50), st.integers(0, 50))
def test_any_position_has_an_offset_in_the_text(text, encoding, line, character):
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
def test_ranges_use_the_negotiated_encoding(encoding, start, end):
    """Positions are translated in both directions."""
    translation = Translation(PositionCodec(encoding))
    assert translation.range(_SPAN) == _range((1, start), (1, end))
    assert translation.offset(_SOURCE, types.Position(1, start)) == _SPAN.start


def test_an_open_file_has_the_uri_of_the_client():
    """The URI of a file that is not open is made from the path."""
    translation = Translation(open={"/rules/a b.rules": ("file:///rules/a%20b.rules?x", 7)})
    assert translation.location(_SPAN).uri == "file:///rules/a%20b.rules?x"
    assert Translation().location(_SPAN).uri == "file:///rules/a%20b.rules"
    assert uri_of("untitled:Untitled-1") == "untitled:Untitled-1"


def test_a_diagnostic_has_all_its_parts():
    """The diagnostic has message and help, code, severity, tags and related positions."""
    text = site('rewrite a `^/a$` -> "/b"', 'rewrite b `^/a$` -> "/c"', 'test "/a" -> "/b"')
    analysis = analysed(text)
    (diagnostic,) = Translation().diagnostics(analysis.diagnostics_of(NAME))
    assert (diagnostic.code, diagnostic.severity) == ("duplicate-rewrite", types.DiagnosticSeverity.Error)
    assert diagnostic.tags == [types.DiagnosticTag.Unnecessary]
    assert "\n" in diagnostic.message
    assert diagnostic.related_information[0].location.uri == NAME


@pytest.mark.parametrize(("markdown", "kind"), [(True, "markdown"), (False, "plaintext")])
def test_an_editor_without_markdown_gets_plain_text(markdown, kind):
    """The text is readable without markup."""
    assert Translation(markdown=markdown).markup("`x`").kind.value == kind


@pytest.mark.parametrize(("snippets", "text"), [(True, "go ($1)"), (False, "go")])
def test_an_editor_without_snippets_gets_the_label(snippets, text):
    """Such an editor would insert the placeholders literally."""
    completion = Completion("go", types.CompletionItemKind.Keyword, snippet="go ($1)")
    item = Translation(snippets=snippets).completion(completion, _range((1, 0), (1, 1)), 3)
    assert (item.text_edit.new_text, item.sort_text) == (text, "0003")


def test_a_completion_may_have_a_manual_page():
    """The editor shows the page beside the list."""
    completion = Completion("x", types.CompletionItemKind.EnumMember, "a phrase", "a page")
    item = Translation().completion(completion, _range((1, 0), (1, 1)), 0)
    assert (item.detail, item.documentation.value) == ("a phrase", "a page")


def test_edits_of_several_files_are_grouped_by_file():
    """Each file of a workspace edit has its own edits."""
    edits = [Edit(_SPAN, "y"), Edit(Span(SourceFile("untitled:1", "z"), 0, 1), "")]
    workspace_edit = Translation().workspace_edit(edits)
    assert {uri: len(changes) for uri, changes in workspace_edit.changes.items()} == {
        "file:///rules/a%20b.rules": 1,
        "untitled:1": 1,
    }
    assert Translation().edits([]) == []


def _symbols(text: str) -> list[types.DocumentSymbol]:
    return [Translation().symbol(each) for each in document(text).blocks]


def test_symbols_are_nested():
    """A target is a module that contains its rewrites as functions."""
    (target,) = _symbols('target site { rewrite `^/a$` -> "/b" }')
    assert (target.kind, target.children[0].kind) == (types.SymbolKind.Module, types.SymbolKind.Function)


def test_the_outline_of_a_file_takes_linear_time():
    """An editor asks for it at each change."""
    rewrite = 'rewrite `^/a$` -> "/b"\n'
    check_linear(_symbols, [lambda size: f"target site {{\n{rewrite * (size // len(rewrite))}}}"], 80_000)


def test_the_symbols_of_rewrites_have_their_names_or_sources():
    """Tests are not part of the outline."""
    text = 'target site { rewrite move `^/a$` -> "/b" rewrite `^/c$` -> "/d" test "/a" -> "/b" }\ntarget "" {}\n'
    site, nameless = _symbols(text)
    assert (site.name, site.selection_range.start, nameless.name) == ("site", types.Position(0, 7), "(no name)")
    assert [(each.name, each.detail) for each in site.children] == [("move", "^/a$ → /b"), ("^/c$", "/d")]


def test_a_symbol_contains_its_name():
    """The protocol demands that the range of the name lies within the range of the symbol."""
    (site,) = _symbols('target site { rewrite `^/a$` -> "/b" }')
    for each in (site, *site.children):
        name = each.selection_range
        assert each.range.start <= name.start <= name.end <= each.range.end
