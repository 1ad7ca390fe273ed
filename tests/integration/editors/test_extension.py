"""VS Code's extension, run by Node; what VS Code would offer it is written down here."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
from real_editors import packing_modules, program

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
exports.told = [];
exports.TransportKind = { stdio: "stdio" };
exports.LanguageClient = class {
  constructor(id, name, server, options) { exports.told.push([server, options.documentSelector[0].language]); }
  async start() { exports.told.push("start"); if (exports.fails) throw new Error("no such file"); }
  needsStop() { return true; }
  async stop() { exports.told.push("stop"); }
};
"""


def _told(folder: Path, script: str) -> dict:
    """What the extension makes of a script that sees `extension`, `vscode`, `client` and `context`."""
    shutil.copy(FOLDER / "extension.js", folder)
    for name, text in (("vscode/index.js", _VSCODE), ("vscode-languageclient/node.js", _CLIENT)):
        path = folder / "node_modules" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    main = f"""
        const extension = require("./extension.js"), vscode = require("vscode");
        const client = require("vscode-languageclient/node"), context = {{ subscriptions: [] }};
        vscode.command = ["tornado-proxy", "lsp", "--config", "proxy.yaml"];
        (async () => {{ {script}; console.log(JSON.stringify({{ told: client.told, errors: vscode.errors }})); }})();
    """
    (folder / "main.js").write_text(main, encoding="utf-8")
    result = subprocess.run(
        [program("node"), "main.js"], cwd=folder, capture_output=True, text=True, check=True, timeout=30
    )
    return json.loads(result.stdout)


def test_it_starts_the_command_of_the_settings(tmp_path):
    """With its arguments, for files of the language."""
    (made, started) = _told(tmp_path, "await extension.activate(context)")["told"]
    server, language = made
    assert (server["command"], server["args"]) == ("tornado-proxy", ["lsp", "--config", "proxy.yaml"])
    assert (server["transport"], language, started) == ("stdio", "tornado-proxy-rules", "start")


def test_another_command_is_started_at_once(tmp_path):
    """The server that ran is stopped first."""
    script = """
        await extension.activate(context);
        vscode.command = ["other"];
        await vscode.listeners[0]({ affectsConfiguration: (name) => name === "tornado-proxy.command" });
        await vscode.listeners[0]({ affectsConfiguration: () => false });
    """
    told = _told(tmp_path, script)["told"]
    assert [each if isinstance(each, str) else each[0]["command"] for each in told] == [
        "tornado-proxy",
        "start",
        "stop",
        "other",
        "start",
    ]


def test_where_the_command_is_missing_it_says_how_to_install_it(tmp_path):
    """A new user has the extension first."""
    (error,) = _told(tmp_path, "client.fails = true; await extension.activate(context)")["errors"]
    assert "no such file" in error
    assert "pip install '.[lsp]'" in error


def test_it_is_packed_without_a_warning(tmp_path):
    """The command of docs/editors.md writes the package; it has one script, and what the manifest names."""
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(packing_modules())
    packed = subprocess.run(
        [program("npm"), "run", "package"], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    assert "WARNING" not in packed.stdout + packed.stderr
    (package,) = folder.glob("*.vsix")
    with zipfile.ZipFile(package) as archive:
        names = [name for name in archive.namelist() if name.startswith("extension/")]
    assert sorted(name.removeprefix("extension/") for name in names) == [
        "LICENSE.txt",
        "dist/extension.js",
        "language-configuration.json",
        "package.json",
        "readme.md",
        "syntaxes/tornado-proxy-rules.tmLanguage.json",
    ]
