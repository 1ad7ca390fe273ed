"""The extension for VS Code, run by Node with stubs of VS Code's modules."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from programs import TOGETHER, output_of, part, program

pytestmark = pytest.mark.integration

FOLDER = Path(__file__).parents[3] / "editors" / "vscode"

_VSCODE = """
exports.listeners = [];
exports.errors = [];
exports.workspace = {
  getConfiguration: () => ({ get: () => exports.command }),
  onDidChangeConfiguration: (listener) => exports.listeners.push(listener),
};
exports.window = { showErrorMessage: (text) => exports.errors.push(text) };
exports.commands = { registerCommand: (name) => name };
"""
_CLIENT = """
exports.calls = [];
exports.TransportKind = { stdio: "stdio" };
exports.LanguageClient = class {
  constructor(id, name, server, options) { exports.calls.push([server, options.documentSelector[0].language]); }
  async start() { exports.calls.push("start"); if (exports.fails) throw new Error("no such file"); }
  needsStop() { return true; }
  async stop() { exports.calls.push("stop"); }
};
"""


def _run_extension(folder: Path, script: str) -> dict:
    """Runs a script with `extension`, `vscode`, `client` and `context`; returns the client's calls and the errors."""
    shutil.copy(FOLDER / "extension.js", folder)
    for name, text in (("vscode/index.js", _VSCODE), ("vscode-languageclient/node.js", _CLIENT)):
        path = folder / "node_modules" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    main = f"""
        const extension = require("./extension.js"), vscode = require("vscode");
        const client = require("vscode-languageclient/node"), context = {{ subscriptions: [] }};
        vscode.command = ["tornado-proxy", "lsp", "--config", "proxy.yaml"];
        (async () => {{ {script}; console.log(JSON.stringify({{ calls: client.calls, errors: vscode.errors }})); }})();
    """
    (folder / "main.js").write_text(main, encoding="utf-8")
    return json.loads(output_of(program("node", "editors"), "main.js", cwd=folder, timeout=30))


def test_the_command_of_the_settings_is_started(tmp_path):
    (created, started) = _run_extension(tmp_path, "await extension.activate(context)")["calls"]
    server, language = created
    assert (server["command"], server["args"]) == ("tornado-proxy", ["lsp", "--config", "proxy.yaml"])
    assert (server["transport"], language, started) == ("stdio", "tornado-proxy-rules", "start")


def test_a_change_of_the_command_restarts_the_server(tmp_path):
    script = """
        await extension.activate(context);
        vscode.command = ["other"];
        await vscode.listeners[0]({ affectsConfiguration: (name) => name === "tornado-proxy.command" });
        await vscode.listeners[0]({ affectsConfiguration: () => false });
    """
    calls = _run_extension(tmp_path, script)["calls"]
    made = [call if isinstance(call, str) else call[0]["command"] for call in calls]
    assert made == ["tornado-proxy", "start", "stop", "other", "start"]


def test_a_missing_command_is_an_error_with_a_hint(tmp_path):
    (error,) = _run_extension(tmp_path, "client.fails = true; await extension.activate(context)")["errors"]
    assert "no such file" in error
    assert "pip install '.[lsp]'" in error


def test_the_extension_is_packed_without_a_warning(tmp_path):
    """The command of docs/editors.md writes a package with one script and the files of the manifest."""
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(part("editors/vscode/node_modules/.bin/vsce", "editors").parents[1])
    assert "WARNING" not in output_of(program("npm", "editors"), "run", "package", cwd=folder, timeout=120, **TOGETHER)
    (package,) = folder.glob("*.vsix")
    with zipfile.ZipFile(package) as archive:
        names = [name for name in archive.namelist() if name.startswith("extension/")]
    assert sorted(name.removeprefix("extension/") for name in names) == [
        "LICENSE.txt", "dist/extension.js", "language-configuration.json", "package.json", "readme.md",
        "syntaxes/tornado-proxy-rules.tmLanguage.json",
    ]  # fmt: skip
