// Prints the scopes of VS Code's tokeniser in a file as JSON: [[text, scope, …], …] for each line.
// Usage: node tokenise.js NODE_MODULES GRAMMAR FILE
"use strict";

const fs = require("fs");
const path = require("path");

const [modules, grammarFile, file] = process.argv.slice(2);
const oniguruma = require(path.join(modules, "vscode-oniguruma"));
const textmate = require(path.join(modules, "vscode-textmate"));

async function main() {
  const wasm = fs.readFileSync(path.join(modules, "vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
  });
  const grammar = await registry.loadGrammar("source.tornado-proxy-rules");
  let state = textmate.INITIAL;
  const lines = [];
  for (const line of fs.readFileSync(file, "utf8").split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    lines.push(result.tokens.map((token) => [line.slice(token.startIndex, token.endIndex), ...token.scopes.slice(1)]));
  }
  console.log(JSON.stringify(lines));
}

main();
