from __future__ import annotations

import asyncio
import threading

import pytest
from editing import site
from language_client import editor
from lsprotocol import types

from tornado_proxy.tools.lsp import server as lsp_server
from tornado_proxy.tools.lsp.server import RulesServer
from tornado_proxy.tools.lsp.translation import SHOW_TEST

_MOVE = site('rewrite `^/a$` -> "/b"')
_TEST = site('test "/a" -> "/b"')


def test_files_beside_an_open_one_are_judged_with_it(vscode):
    """Files on disk are read, and their findings are shown too."""
    (vscode.folder / "b.rules").write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", site('test "/a" -> "/c"'))
    (found,) = vscode.findings("a.rules", "failing-test")
    assert found.related_information[0].location.uri == vscode.uri("b.rules")
    assert vscode.findings("b.rules") == []


def test_what_changes_on_disk_is_read_again(vscode):
    """The editor notifies the server."""
    other = vscode.folder / "b.rules"
    other.write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", _TEST)
    vscode.findings("a.rules")
    other.write_text(_MOVE.replace("/b", "/c"), encoding="utf-8")
    vscode.changed_on_disk("b.rules")
    vscode.findings("a.rules", "failing-test")


def test_a_file_that_is_gone_has_no_findings(vscode):
    """Its diagnostics are withdrawn."""
    other = vscode.folder / "b.rules"
    other.write_text("target", encoding="utf-8")
    vscode.show("a.rules", "")
    vscode.findings("b.rules", "syntax-error")
    other.unlink()
    vscode.changed_on_disk("b.rules")
    assert vscode.findings("b.rules") == []


def test_a_file_that_is_not_utf8_is_a_finding_of_that_file(vscode):
    """The file cannot be shown, so a finding reports it."""
    (vscode.folder / "b.rules").write_bytes(b"# caf\xe9\n")
    vscode.show("a.rules", "")
    (found,) = vscode.findings("b.rules", "not-utf-8")
    assert found.range.start == types.Position(0, 5)


def test_a_closed_file_counts_as_it_is_on_disk(vscode):
    """Unsaved text is dropped."""
    (vscode.folder / "a.rules").write_text(_MOVE + _TEST, encoding="utf-8")
    vscode.show("a.rules", "target")
    vscode.findings("a.rules", "syntax-error")
    vscode.close("a.rules")
    assert vscode.findings("a.rules") == []


def test_a_closed_file_that_was_never_saved_has_no_findings(vscode):
    """It is nowhere."""
    vscode.show("a.rules", "target")
    vscode.findings("a.rules", "syntax-error")
    vscode.close("a.rules")
    assert vscode.findings("a.rules") == []


def test_settings_of_the_linter_are_obeyed(vscode):
    """The settings are those that `lint` would find; invalid settings are ignored."""
    settings = vscode.folder / "tornado-proxy.toml"
    settings.write_text('[lint]\nignore = ["untested-rewrite"]\n', encoding="utf-8")
    vscode.show("a.rules", _MOVE)
    assert vscode.findings("a.rules") == []
    settings.write_text("[lint\n", encoding="utf-8")
    vscode.changed_on_disk("tornado-proxy.toml")
    vscode.findings("a.rules", "untested-rewrite")


def test_folders_come_and_go(vscode):
    """A folder that is closed no longer ties its files together."""
    (vscode.folder / "b.rules").write_text(_MOVE, encoding="utf-8")
    inner = vscode.folder / "inner"
    inner.mkdir()
    vscode.show("inner/a.rules", _TEST)
    vscode.findings("inner/a.rules")
    folder = types.WorkspaceFolder(vscode.folder.parent.as_uri(), "rules")

    def tell(removed: list[types.WorkspaceFolder], added: list[types.WorkspaceFolder]) -> None:
        event = types.WorkspaceFoldersChangeEvent(removed=removed, added=added)
        parameters = types.DidChangeWorkspaceFoldersParams(event)
        vscode.tell(vscode.client.workspace_did_change_workspace_folders, parameters)

    tell([folder], [])
    vscode.findings("inner/a.rules", "failing-test")
    tell([], [folder])
    vscode.findings("inner/a.rules")


def test_an_editor_that_counts_otherwise_and_knows_less_is_served_too(tmp_path):
    """Places are those that were given, and the configuration is known."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "two/b.rules").write_text(_MOVE, encoding="utf-8")
    places = (str(tmp_path / "one"), str(tmp_path / "two"))
    with editor(tmp_path.resolve(), *places, client="emacs") as session:
        session.show("one/a.rules", _TEST)
        session.findings("one/a.rules")
        session.findings("two/b.rules")


def test_with_a_configuration_more_can_be_reported(tmp_path):
    """Its targets are known, and its rules are read together."""
    (tmp_path / "rules").mkdir()
    configuration = tmp_path / "proxy.yaml"
    configuration.write_text("rules: [rules/]\ntargets:\n  site: {bucket: {name: b}}\n", encoding="utf-8")
    with editor(tmp_path.resolve(), "--config", str(configuration), client="neovim") as session:
        position = session.show("rules/a.rules", "target s‸ {}\n")
        session.findings("rules/a.rules", "unknown-target")
        parameters = types.CompletionParams(session.document("rules/a.rules"), position)
        found = session.wait(session.client.text_document_completion_async(parameters))
        assert "site" in [each.label for each in found]


def test_an_analysis_that_takes_long_is_not_waited_for(monkeypatch):
    """A request is answered with nothing, and the work goes on."""
    monkeypatch.setattr(lsp_server, "PATIENCE", 0.01)
    server, done = RulesServer("1"), threading.Event()
    monkeypatch.setattr(lsp_server, "analyse", lambda *_: done.wait())
    try:
        assert asyncio.run(server.analysis("file:///nowhere/a.rules")) is None
    finally:
        done.set()
        server.shutdown()


_MOVE_TO_B = 'rewrite move `^/a/(?P<rest>.*)$` -> "/b/$rest"'
_TEST_OF_B = 'test "/a/x" -> "/b/x"'


def test_the_server_says_what_it_can(vscode):
    """An editor asks for no more than it was offered."""
    offered = vscode.capabilities
    assert offered.position_encoding == types.PositionEncodingKind.Utf16
    assert offered.text_document_sync.change is types.TextDocumentSyncKind.Full
    assert offered.hover_provider
    assert offered.definition_provider
    assert offered.document_formatting_provider
    assert offered.document_symbol_provider
    assert offered.code_lens_provider
    assert "$" in offered.completion_provider.trigger_characters
    assert types.CodeActionKind.SourceFixAll in offered.code_action_provider.code_action_kinds
    assert offered.execute_command_provider.commands == (SHOW_TEST,)


def test_findings_follow_what_is_typed(vscode):
    """A mistake is shown, and gone when it is mended."""
    vscode.show("a.rules", site('rewrite `^/a(` -> "/b"'))
    (found,) = vscode.findings("a.rules", "bad-source")
    assert (found.range.start, found.source) == (types.Position(1, 16), "tornado-proxy")
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B))
    assert vscode.findings("a.rules") == []


def test_places_are_counted_in_utf16(vscode):
    """A character above the basic plane takes two."""
    position = vscode.show("a.rules", site('rewrite `^/😀é/.‸x$` -> "/b"', 'test "/😀é/.x" -> "/b"'))
    (found,) = vscode.findings("a.rules", "unescaped-dot")
    assert found.range.end == position


def test_a_pattern_is_reported_under_the_pointer(vscode):
    """In Markdown, with the range that it is about."""
    position = vscode.show("a.rules", site('rewrite `^/😀/(?P<re‸st>.*)$` -> "/b/$rest"'))
    found = vscode.wait(
        vscode.client.text_document_hover_async(types.HoverParams(vscode.document("a.rules"), position))
    )
    assert found.contents.kind == types.MarkupKind.Markdown
    assert "**`(?P<rest>.*)` group 1, `rest`: any character, any number of times**" in found.contents.value
    assert (found.range.start.character, found.range.end.character) == (12, 32)


def test_where_nothing_stands_nothing_is_reported(vscode):
    """An answer without a hover."""
    position = vscode.show("a.rules", "‸\n")
    parameters = types.HoverParams(vscode.document("a.rules"), position)
    assert vscode.wait(vscode.client.text_document_hover_async(parameters)) is None


def test_a_reference_leads_to_the_group(vscode):
    """Go to definition."""
    position = vscode.show("a.rules", site(_MOVE_TO_B.replace("$re", "$re‸")))
    parameters = types.DefinitionParams(vscode.document("a.rules"), position)
    (found,) = vscode.wait(vscode.client.text_document_definition_async(parameters))
    assert (found.uri, found.range.start) == (vscode.uri("a.rules"), types.Position(1, 22))


def test_groups_are_proposed(vscode):
    """Completion, in the order of the source, as edits of what has been typed."""
    position = vscode.show("a.rules", site('rewrite `^/(a)/(?P<rest>.*)$` -> "/😀/$re‸'))
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    found = vscode.wait(vscode.client.text_document_completion_async(parameters))
    assert [each.label for each in found] == ["1", "rest"]
    assert found[1].text_edit.range.start.character == position.character - 2


def test_keywords_are_proposed_as_snippets(vscode):
    """The editor supports them."""
    position = vscode.show("a.rules", "target site {\n    rew‸\n}\n")
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    found = vscode.wait(vscode.client.text_document_completion_async(parameters))
    assert [(each.label, each.insert_text_format) for each in found] == [
        ("rewrite", types.InsertTextFormat.Snippet),
        ("test", types.InsertTextFormat.Snippet),
    ]


def test_targets_of_other_files_are_proposed(vscode):
    """A block may add to a target that another file begins."""
    (vscode.folder / "b.rules").write_text("target other {}\n", encoding="utf-8")
    position = vscode.show("a.rules", "target ‸ {}")
    vscode.findings("a.rules", "syntax-error")
    parameters = types.CompletionParams(vscode.document("a.rules"), position)
    found = vscode.wait(vscode.client.text_document_completion_async(parameters))
    assert "other" in [each.label for each in found]


def _actions(vscode, *kinds: str):
    place = types.Range(types.Position(0, 0), types.Position(99, 0))
    context = types.CodeActionContext([], only=list(kinds) or None)
    parameters = types.CodeActionParams(vscode.document("a.rules"), place, context)
    return vscode.wait(vscode.client.text_document_code_action_async(parameters))


def test_fixes_are_offered(vscode):
    """A safe one is preferred, so that a key press never changes a key."""
    vscode.show("a.rules", site(_MOVE_TO_B, f"{_TEST_OF_B}  # allow: no-effect"))
    fix, all_fixes = _actions(vscode)
    assert (fix.title, fix.kind, fix.is_preferred) == ("remove it", types.CodeActionKind.QuickFix, True)
    assert list(fix.edit.changes) == [vscode.uri("a.rules")]
    assert fix.diagnostics[0].code == "unused-allowance"
    assert all_fixes.kind == types.CodeActionKind.SourceFixAll


@pytest.mark.parametrize(
    ("kinds", "count"), [(("quickfix",), 1), (("source",), 1), (("source.fixAll",), 1), (("refactor",), 0), (("",), 2)]
)
def test_only_the_kinds_that_are_asked_for_are_offered(vscode, kinds, count):
    """An editor asks for `source.fixAll` when it saves."""
    vscode.show("a.rules", site(_MOVE_TO_B, f"{_TEST_OF_B}  # allow: no-effect"))
    assert len(_actions(vscode, *kinds)) == count


def test_a_file_is_laid_out(vscode):
    """Formatting edits the lines that change."""
    vscode.show("a.rules", site(_MOVE_TO_B, f" {_TEST_OF_B}"))
    parameters = types.DocumentFormattingParams(
        vscode.document("a.rules"), types.FormattingOptions(4, insert_spaces=True)
    )
    (edit,) = vscode.wait(vscode.client.text_document_formatting_async(parameters))
    assert (edit.new_text, edit.range.start) == (f"    {_TEST_OF_B}\n", types.Position(2, 0))
    vscode.show("a.rules", site("rewrit"))
    assert vscode.wait(vscode.client.text_document_formatting_async(parameters)) == ()


def test_targets_and_rewrites_are_outlined(vscode):
    """Document symbols, nested."""
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B))
    parameters = types.DocumentSymbolParams(vscode.document("a.rules"))
    (found,) = vscode.wait(vscode.client.text_document_document_symbol_async(parameters))
    assert (found.name, [each.name for each in found.children]) == ("site", ["move"])


def test_a_lens_shows_the_tests_and_leads_to_one(vscode):
    """Its command lets the editor show the test."""
    vscode.show("a.rules", site(_MOVE_TO_B, _TEST_OF_B, 'test "/a/y" -> "/c"'))
    parameters = types.CodeLensParams(vscode.document("a.rules"))
    target, rewrite = vscode.wait(vscode.client.text_document_code_lens_async(parameters))
    assert (target.command.title, rewrite.command.title) == ("1 of 2 tests fails",) * 2
    command = types.ExecuteCommandParams(rewrite.command.command, rewrite.command.arguments)
    vscode.wait(vscode.client.workspace_execute_command_async(command))
    shown = vscode.client.shown_documents.pop()
    assert (shown.uri, shown.selection.start) == (vscode.uri("a.rules"), types.Position(3, 4))


def test_a_text_that_is_too_large_is_answered_with_nothing(vscode):
    """It is not read, so that no answer is late; a finding says so."""
    position = vscode.show("a.rules", "# long\n" * 700_000 + "‸")
    document, client = vscode.document("a.rules"), vscode.client
    vscode.findings("a.rules", "too-large")
    assert vscode.wait(client.text_document_hover_async(types.HoverParams(document, position))) is None
    assert not vscode.wait(client.text_document_definition_async(types.DefinitionParams(document, position)))
    assert not vscode.wait(client.text_document_completion_async(types.CompletionParams(document, position)))
    assert not vscode.wait(client.text_document_document_symbol_async(types.DocumentSymbolParams(document)))
    assert not vscode.wait(client.text_document_code_lens_async(types.CodeLensParams(document)))
    layout = types.DocumentFormattingParams(document, types.FormattingOptions(4, insert_spaces=True))
    assert not vscode.wait(client.text_document_formatting_async(layout))
