from __future__ import annotations

import asyncio
import threading

import pytest
from editing import NAME, analysed, site, with_tree
from hypothesis import given
from hypothesis import strategies as st
from language_client import editor
from linear_time import check_linear, texts_of
from lsprotocol import types
from pygls.workspace import PositionCodec, Workspace
from rule_texts import document

from tornado_proxy.rules.diagnostic import Edit, SourceFile, Span
from tornado_proxy.tools.lsp import server as lsp_server
from tornado_proxy.tools.lsp.completion import Completion
from tornado_proxy.tools.lsp.hover import lens_places
from tornado_proxy.tools.lsp.server import SHOW_TEST, Lines, RulesServer, Translation, uri_of

_MOVE = site('rewrite `^/a$` -> "/b"')
_TEST = site('test "/a" -> "/b"')


def test_files_beside_an_open_one_are_checked_with_it(vscode):
    (vscode.folder / "b.rules").write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", site('test "/a" -> "/c"'))
    (finding,) = vscode.diagnostics("a.rules", "failing-test")
    assert finding.related_information[0].location.uri == vscode.uri("b.rules")
    assert vscode.diagnostics("b.rules") == []


def test_a_file_that_changes_on_disk_is_read_again(vscode):
    """The editor notifies the server of the change."""
    other = vscode.folder / "b.rules"
    other.write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", _TEST)
    vscode.diagnostics("a.rules")
    other.write_text(_MOVE.replace("/b", "/c"), encoding="utf-8")
    vscode.notify_of_change("b.rules")
    vscode.diagnostics("a.rules", "failing-test")


def test_a_removed_file_has_no_findings(vscode):
    other = vscode.folder / "b.rules"
    other.write_text("target", encoding="utf-8")
    vscode.show("a.rules", "")
    vscode.diagnostics("b.rules", "syntax-error")
    other.unlink()
    vscode.notify_of_change("b.rules")
    assert vscode.diagnostics("b.rules") == []


@pytest.mark.parametrize("saved", [True, False])
def test_a_closed_file_is_read_from_disk(vscode, saved):
    """Unsaved text is dropped when a file is closed; what was never saved no longer exists."""
    if saved:
        (vscode.folder / "a.rules").write_text(_MOVE + _TEST, encoding="utf-8")
    vscode.show("a.rules", "target")
    vscode.diagnostics("a.rules", "syntax-error")
    vscode.close("a.rules")
    assert vscode.diagnostics("a.rules") == []


def test_the_settings_of_the_linter_apply(vscode):
    """The server finds the same settings as `lint`, and ignores invalid ones."""
    settings = vscode.folder / "tornado-proxy.toml"
    settings.write_text('[lint]\nignore = ["untested-rewrite"]\n', encoding="utf-8")
    vscode.show("a.rules", _MOVE)
    assert vscode.diagnostics("a.rules") == []
    settings.write_text("[lint\n", encoding="utf-8")
    vscode.notify_of_change("tornado-proxy.toml")
    vscode.diagnostics("a.rules", "untested-rewrite")


def test_folders_can_be_removed_and_added(vscode):
    """Files of a folder that was removed are no longer read together."""
    (vscode.folder / "b.rules").write_text(_MOVE, encoding="utf-8")
    inner = vscode.folder / "inner"
    inner.mkdir()
    vscode.show("inner/a.rules", _TEST)
    vscode.diagnostics("inner/a.rules")
    folder = types.WorkspaceFolder(vscode.folder.parent.as_uri(), "rules")

    def change_folders(removed: list[types.WorkspaceFolder], added: list[types.WorkspaceFolder]) -> None:
        event = types.WorkspaceFoldersChangeEvent(removed=removed, added=added)
        parameters = types.DidChangeWorkspaceFoldersParams(event)
        vscode.notify(vscode.client.workspace_did_change_workspace_folders, parameters)

    change_folders([folder], [])
    vscode.diagnostics("inner/a.rules", "failing-test")
    change_folders([], [folder])
    vscode.diagnostics("inner/a.rules")


def test_given_places_are_checked_for_an_editor_like_emacs(tmp_path):
    """Both directories of the command line are read together, and positions are in another encoding."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/b.rules").write_text(_MOVE, encoding="utf-8")
    places = (str(tmp_path / "one"), str(tmp_path / "two"))
    with editor(tmp_path.resolve(), *places, client="emacs") as session:
        session.show("one/a.rules", _TEST)
        session.diagnostics("one/a.rules")
        session.diagnostics("two/b.rules")


def test_unknown_targets_are_reported_with_a_configuration(tmp_path):
    """The targets of the configuration are known, and its rules are read together."""
    (tmp_path / "rules").mkdir()
    configuration = tmp_path / "proxy.yaml"
    configuration.write_text("rules: [rules/]\ntargets:\n  site: {bucket: {name: b}}\n", encoding="utf-8")
    with editor(tmp_path.resolve(), "--config", str(configuration), client="neovim") as session:
        position = session.show("rules/a.rules", "target s‸ {}\n")
        session.diagnostics("rules/a.rules", "unknown-target")
        parameters = types.CompletionParams(session.document("rules/a.rules"), position)
        items = session.run(session.client.text_document_completion_async(parameters))
        assert "site" in [item.label for item in items]


def test_a_request_is_answered_before_a_slow_analysis_ends(monkeypatch):
    """The request has no result, and the analysis continues."""
    monkeypatch.setattr(lsp_server, "ANALYSIS_WITHIN", 0.01)
    server, release = RulesServer("1"), threading.Event()
    server.protocol._workspace = Workspace(None)  # as after `initialize`
    monkeypatch.setattr(lsp_server, "analyse", lambda *_: release.wait())
    try:
        assert asyncio.run(server.analysis("file:///nowhere/a.rules")) is None
    finally:
        release.set()
        server.shutdown()


_MOVE_TO_B = 'rewrite move `^/a/(?P<rest>.*)$` -> "/b/$rest"'
_TEST_OF_B = 'test "/a/x" -> "/b/x"'


def test_the_server_announces_its_capabilities(vscode):
    """An editor requests only features that are announced."""
    capabilities = vscode.capabilities
    assert capabilities.position_encoding == types.PositionEncodingKind.Utf16
    assert capabilities.text_document_sync.change is types.TextDocumentSyncKind.Full
    assert capabilities.hover_provider
    assert capabilities.definition_provider
    assert capabilities.document_formatting_provider
    assert capabilities.document_symbol_provider
    assert capabilities.code_lens_provider
    assert "$" in capabilities.completion_provider.trigger_characters
    assert types.CodeActionKind.SourceFixAll in capabilities.code_action_provider.code_action_kinds
    assert capabilities.execute_command_provider.commands == (SHOW_TEST,)


def test_findings_are_updated_while_typing(vscode):
    vscode.show("a.rules", site('rewrite `^/a(` -> "/b"'))
    (finding,) = vscode.diagnostics("a.rules", "bad-source")
    assert (finding.range.start, finding.source) == (types.Position(1, 16), "tornado-proxy")
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B))
    assert vscode.diagnostics("a.rules") == []


def test_positions_count_utf16_code_units(vscode):
    """A character beyond the Basic Multilingual Plane takes two units."""
    position = vscode.show("a.rules", site('rewrite `^/😀é/.‸x$` -> "/b"', 'test "/😀é/.x" -> "/b"'))
    (finding,) = vscode.diagnostics("a.rules", "unescaped-dot")
    assert finding.range.end == position


def test_a_pattern_has_a_hover(vscode):
    """The hover is in Markdown and has the range of its group."""
    position = vscode.show("a.rules", site('rewrite `^/😀/(?P<re‸st>.*)$` -> "/b/$rest"'))
    hover = vscode.run(vscode.client.text_document_hover_async(types.HoverParams(vscode.document("a.rules"), position)))
    assert hover.contents.kind == types.MarkupKind.Markdown
    assert "**`(?P<rest>.*)` group 1, `rest`: any character, any number of times**" in hover.contents.value
    assert (hover.range.start.character, hover.range.end.character) == (12, 32)


def test_the_definition_of_a_reference_is_its_group(vscode):
    position = vscode.show("a.rules", site(_MOVE_TO_B.replace("$re", "$re‸")))
    parameters = types.DefinitionParams(vscode.document("a.rules"), position)
    (location,) = vscode.run(vscode.client.text_document_definition_async(parameters))
    assert (location.uri, location.range.start) == (vscode.uri("a.rules"), types.Position(1, 22))


def test_groups_are_completed(vscode):
    """Groups are in the order of the source and replace the typed text."""
    position = vscode.show("a.rules", site('rewrite `^/(a)/(?P<rest>.*)$` -> "/😀/$re‸'))
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    items = vscode.run(vscode.client.text_document_completion_async(parameters))
    assert [item.label for item in items] == ["1", "rest"]
    assert items[1].text_edit.range.start.character == position.character - 2


def test_keywords_are_completed_as_snippets(vscode):
    """The editor supports snippets."""
    position = vscode.show("a.rules", "target site {\n    rew‸\n}\n")
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    items = vscode.run(vscode.client.text_document_completion_async(parameters))
    words = ("rewrite", "redirect", "gone", "redirects", "rewrites", "test")
    assert [(item.label, item.insert_text_format) for item in items] == [
        (word, types.InsertTextFormat.Snippet) for word in words
    ]


def test_targets_of_other_files_are_completed(vscode):
    """A block may belong to a target that another file begins."""
    (vscode.folder / "b.rules").write_text("target other {}\n", encoding="utf-8")
    position = vscode.show("a.rules", "target ‸ {}")
    vscode.diagnostics("a.rules", "syntax-error")
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    items = vscode.run(vscode.client.text_document_completion_async(parameters))
    assert "other" in [item.label for item in items]


def _request_actions(vscode, *kinds: str):
    whole_file = types.Range(types.Position(0, 0), types.Position(99, 0))
    context = types.CodeActionContext([], only=list(kinds) or None)
    parameters = types.CodeActionParams(vscode.document("a.rules"), whole_file, context)
    return vscode.run(vscode.client.text_document_code_action_async(parameters))


def test_a_safe_fix_is_preferred(vscode):
    """An editor applies a preferred fix with one key press, so it must not change keys."""
    vscode.show("a.rules", site(_MOVE_TO_B, f"{_TEST_OF_B}  # allow: no-effect"))
    fix, all_fixes = _request_actions(vscode)
    assert (fix.title, fix.kind, fix.is_preferred) == ("remove it", types.CodeActionKind.QuickFix, True)
    assert list(fix.edit.changes) == [vscode.uri("a.rules")]
    assert fix.diagnostics[0].code == "unused-allowance"
    assert all_fixes.kind == types.CodeActionKind.SourceFixAll


@pytest.mark.parametrize(
    ("kinds", "count"), [(("quickfix",), 1), (("source",), 1), (("source.fixAll",), 1), (("refactor",), 0), (("",), 2)]
)
def test_only_actions_of_the_requested_kinds_are_offered(vscode, kinds, count):
    """An editor requests `source.fixAll` when it saves."""
    vscode.show("a.rules", site(_MOVE_TO_B, f"{_TEST_OF_B}  # allow: no-effect"))
    assert len(_request_actions(vscode, *kinds)) == count


def test_a_file_is_formatted(vscode):
    """The edit replaces the whole text, in which an editor finds the lines that change."""
    vscode.show("a.rules", site(_MOVE_TO_B, f" {_TEST_OF_B}"))
    parameters = types.DocumentFormattingParams(
        vscode.document("a.rules"), types.FormattingOptions(4, insert_spaces=True)
    )
    (edit,) = vscode.run(vscode.client.text_document_formatting_async(parameters))
    assert (f"    {_TEST_OF_B}\n" in edit.new_text, edit.range.start) == (True, types.Position(0, 0))
    vscode.show("a.rules", site("rewrit"))
    assert vscode.run(vscode.client.text_document_formatting_async(parameters)) == ()


def test_document_symbols_are_targets_with_their_rewrites(vscode):
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B))
    parameters = types.DocumentSymbolParams(vscode.document("a.rules"))
    (target,) = vscode.run(vscode.client.text_document_document_symbol_async(parameters))
    assert (target.name, [rewrite.name for rewrite in target.children]) == ("site", ["move"])


def test_a_lens_counts_the_tests_and_leads_to_one(vscode):
    """The command of the lens asks the editor to show the test."""
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B, 'test "/a/y" -> "/c"'))
    parameters = types.CodeLensParams(vscode.document("a.rules"))
    target, rewrite = vscode.run(vscode.client.text_document_code_lens_async(parameters))
    assert (target.command.title, rewrite.command.title) == ("1 of 2 tests fails",) * 2
    command = types.ExecuteCommandParams(rewrite.command.command, rewrite.command.arguments)
    vscode.run(vscode.client.workspace_execute_command_async(command))
    request = vscode.client.shown_documents.pop()
    assert (request.uri, request.selection.start) == (vscode.uri("a.rules"), types.Position(3, 4))


def test_a_text_that_is_too_large_has_no_results(vscode):
    """The text is not analysed, and a finding reports its size."""
    position = vscode.show("a.rules", "# long\n" * 700_000 + "‸")
    document, client = vscode.document("a.rules"), vscode.client
    vscode.diagnostics("a.rules", "too-large")
    assert vscode.run(client.text_document_hover_async(types.HoverParams(document, position))) is None
    assert not vscode.run(client.text_document_definition_async(types.DefinitionParams(document, position)))
    assert not vscode.run(client.text_document_completion_async(types.CompletionParams(document, position)))
    assert not vscode.run(client.text_document_document_symbol_async(types.DocumentSymbolParams(document)))
    assert not vscode.run(client.text_document_code_lens_async(types.CodeLensParams(document)))
    formatting = types.DocumentFormattingParams(document, types.FormattingOptions(4, insert_spaces=True))
    assert not vscode.run(client.text_document_formatting_async(formatting))


TEXTS = st.text(alphabet=st.one_of(st.sampled_from("a\né\r😀\u2028\x0c"), st.characters()), max_size=30)


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


@pytest.mark.parametrize(("position", "offset"), [((0, 99), 2), ((7, 0), 7), ((1, 99), 7), ((1, 3), 6)], ids=str)
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
    assert 0 <= Lines(text, PositionCodec(encoding)).offset(types.Position(line, character)) <= len(text)


_SOURCE = SourceFile("/rules/a b.rules", "x\n😀ab\n")
_SPAN = Span(_SOURCE, 3, 4)


def test_an_open_file_has_the_uri_of_the_client():
    """The URI of a file that is not open is made from the path."""
    translation = Translation(open={"/rules/a b.rules": ("file:///rules/a%20b.rules?x", 7)})
    assert translation.location(_SPAN).uri == "file:///rules/a%20b.rules?x"
    assert Translation().location(_SPAN).uri == "file:///rules/a%20b.rules"
    assert uri_of("untitled:Untitled-1") == "untitled:Untitled-1"


def test_a_diagnostic_has_all_its_parts():
    text = site('rewrite a `^/a$` -> "/b"', 'rewrite b `^/a$` -> "/c"', 'test "/a" -> "/b"')
    analysis = analysed(text)
    (diagnostic,) = Translation().diagnostics(analysis.diagnostics_of(NAME))
    assert (diagnostic.code, diagnostic.severity) == ("duplicate-rewrite", types.DiagnosticSeverity.Error)
    assert diagnostic.tags == [types.DiagnosticTag.Unnecessary]
    assert "\n" in diagnostic.message
    assert diagnostic.related_information[0].location.uri == NAME


def test_a_lens_leads_to_the_first_test_that_fails():
    """Those above the target and above the rewrite do."""
    text = site('rewrite a `^/a` -> "/b"', 'test "/a1" -> "/b"', 'test "/a2" -> "/x"')
    lenses = [Translation().lens(*each) for each in lens_places(*with_tree(text))]
    assert [each.command.arguments[0].range.start.line for each in lenses] == [3, 3]


@pytest.mark.parametrize(("markdown", "kind"), [(True, "markdown"), (False, "plaintext")])
def test_an_editor_without_markdown_gets_plain_text(markdown, kind):
    """The text is readable without markup."""
    assert Translation(markdown=markdown).markup("`x`").kind.value == kind


@pytest.mark.parametrize(("snippets", "text"), [(True, "go ($1)"), (False, "go")])
def test_an_editor_without_snippets_gets_the_label(snippets, text):
    """Such an editor would insert the placeholders literally."""
    completion = Completion("go", types.CompletionItemKind.Keyword, snippet="go ($1)")
    replaced = types.Range(types.Position(1, 0), types.Position(1, 1))
    item = Translation(snippets=snippets).completion(completion, replaced, 3)
    assert (item.text_edit.new_text, item.sort_text) == (text, "0003")


def test_edits_of_several_files_are_grouped_by_file():
    edits = [Edit(_SPAN, "y"), Edit(Span(SourceFile("untitled:1", "z"), 0, 1), "")]
    workspace_edit = Translation().workspace_edit(edits)
    expected = {"file:///rules/a%20b.rules": 1, "untitled:1": 1}
    assert {uri: len(changes) for uri, changes in workspace_edit.changes.items()} == expected
    assert Translation().edits([]) == []


def _symbols(text: str) -> list[types.DocumentSymbol]:
    return [Translation().symbol(each) for each in document(text).blocks]


def test_the_outline_of_a_file_takes_linear_time():
    """An editor asks for it at each change."""
    check_linear(_symbols, texts_of(['rewrite `^/a$` -> "/b"\n'], ["target site {\n"], ["}"]), 80_000)


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
