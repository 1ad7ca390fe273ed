from __future__ import annotations

import asyncio
import threading

from editing import site
from language_client import editor
from lsprotocol import types

from tornado_proxy.tools.lsp import server as lsp_server
from tornado_proxy.tools.lsp.server import RulesServer

_MOVE = site('rewrite `^/a$` -> "/b"')
_TEST = site('test "/a" -> "/b"')


def test_files_beside_an_open_one_are_judged_with_it(vscode):
    """What is on disk counts, and findings in it are shown too."""
    (vscode.folder / "b.rules").write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", site('test "/a" -> "/c"'))
    (found,) = vscode.findings("a.rules", "failing-test")
    assert found.related_information[0].location.uri == vscode.uri("b.rules")
    assert vscode.findings("b.rules") == []


def test_what_changes_on_disk_is_read_again(vscode):
    """The editor tells of it."""
    other = vscode.folder / "b.rules"
    other.write_text(_MOVE, encoding="utf-8")
    vscode.show("a.rules", _TEST)
    vscode.findings("a.rules")
    other.write_text(_MOVE.replace("/b", "/c"), encoding="utf-8")
    vscode.changed_on_disk("b.rules")
    vscode.findings("a.rules", "failing-test")


def test_a_file_that_is_gone_has_no_findings(vscode):
    """What was said of it is taken back."""
    other = vscode.folder / "b.rules"
    other.write_text("target", encoding="utf-8")
    vscode.show("a.rules", "")
    vscode.findings("b.rules", "syntax-error")
    other.unlink()
    vscode.changed_on_disk("b.rules")
    assert vscode.findings("b.rules") == []


def test_a_file_that_is_not_utf8_is_a_finding_of_that_file(vscode):
    """It cannot be shown, and whoever reads the files must know."""
    (vscode.folder / "b.rules").write_bytes(b"# caf\xe9\n")
    vscode.show("a.rules", "")
    (found,) = vscode.findings("b.rules", "not-utf-8")
    assert found.range.start == types.Position(0, 5)


def test_a_closed_file_counts_as_it_is_on_disk(vscode):
    """What was not saved is forgotten."""
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
    """Those that `lint` would find for the file; ones that cannot be used are none."""
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


def test_with_a_configuration_more_can_be_said(tmp_path):
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
