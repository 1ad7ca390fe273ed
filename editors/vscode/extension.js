// Starts `tornado-proxy lsp` and connects it to the editor; all that is known of rule files, the server knows.
"use strict";

const vscode = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

const LANGUAGE = "tornado-proxy-rules";

let client;

function makeClient() {
  const [command, ...args] = vscode.workspace.getConfiguration("tornado-proxy").get("command");
  const server = { command, args, transport: TransportKind.stdio };
  const options = { documentSelector: [{ language: LANGUAGE, scheme: "file" }, { language: LANGUAGE, scheme: "untitled" }] };
  return new LanguageClient("tornado-proxy", "tornado-proxy", server, options);
}

async function restart() {
  await deactivate();
  client = makeClient();
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `The language server of tornado-proxy does not start: ${error.message}. ` +
        "Install it with `pip install '.[lsp]'` in a checkout, or name it in the setting `tornado-proxy.command`.",
    );
  }
}

async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand("tornado-proxy.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) =>
      event.affectsConfiguration("tornado-proxy.command") ? restart() : undefined,
    ),
  );
  await restart();
}

async function deactivate() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) {
    await running.stop();
  }
}

module.exports = { activate, deactivate };
