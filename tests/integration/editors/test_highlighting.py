"""The highlighting of rule files by VS Code's tokeniser and by Vim, compared with the parser."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import output_of, part, program

from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.parser import parse
from tornado_proxy.rules.tree import Dialect, Document, RedirectTo, RewriteStatement, Verdict

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent

# The scopes of each editor for the parts of a file.
VSCODE = {
    "comment": "comment",
    "target": r"entity\.name\.namespace",
    "name": r"entity\.name\.function",
    "source": r"\.source",
    Dialect.PLAIN: r"template\.plain",
    Dialect.JINJA: r"template\.jinja",
    Dialect.GO: r"template\.go",
    "key": "key",
    "verdict": r"constant\.language\.verdict",
}
VIM = {
    "comment": r"rules(Comment|Allow|Colon|Check|Comma)",
    "target": "rulesTargetName",
    "name": "rulesRewriteName",
    "source": r"rules(Source|String|Anchor|Group|Quantifier|Class|Set|PatternEscape|Escape)",
    Dialect.PLAIN: r"rules(Plain|Reference|Dollar|Escape)",
    Dialect.JINJA: r"rules(Jinja|Delimiter|Variable|Filter|Escape)",
    Dialect.GO: r"rules(Go|Delimiter|Filter|Escape)",
    "key": r"rules(Key|Expected|Escape)",
    "verdict": "rulesVerdict",
}

_EVERYTHING = r"""# allow-file: no-effect, unused-group (why)
target "Ann's files" { # brace
    rewrite `^/press/(?P<page>[^/"]+)\.html$` -> "/archive/$page.html$$ ${1}x"
    rewrite rewrite "^/a\\.b\"{2,3}[[:alpha:]`]" -> jinja `/{{ user.username | lower }}/ # no comment
       {% if groups.rest is defined %}{{ groups["x"] }}{% endif %}`
    rewrite "q n" `^/n` -> go "/{{ .User.GetUsername | lower }}/{{ .Groups.rest }}" # tail
    rewrite jinja `^/-> "x" {` -> jinja "/{{ groups[\"a\"] }}"
    rewrite go `^/(?i)(?:a|b)*?\p{Greek}\x{1F600}` -> "/"
    test "/a.txt" as "ann" method PUT header X-A "b" -> "/ann/$x"
    test "/b" user-groups a email "e" -> unchanged
    test `/c` -> error test "/d" -> `/e`
}
target target {} target jinja { test "/\"-> x" -> unchanged }
"""
TEXTS = {
    "everything": _EVERYTHING,
    **{path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "rules").glob("*.rules"))},
    **{
        f"language.md {number}": text
        for number, text in enumerate(
            re.findall(
                r"^```rules\n(.*?)^```",
                (ROOT / "docs/language.md").read_text(encoding="utf-8"),
                re.MULTILINE | re.DOTALL,
            )
        )
    },
}


def _vscode(text: str, folder: Path) -> list[str]:
    """Returns the scopes of each character."""
    node, modules = program("node", "editors"), part("editors/node_modules/vscode-textmate", "editors").parent
    (folder / "a.rules").write_text(text, encoding="utf-8")
    grammar = ROOT / "editors/vscode/syntaxes/tornado-proxy-rules.tmLanguage.json"
    lines = json.loads(output_of(node, HERE / "tokenise.js", modules, grammar, folder / "a.rules"))
    return ["\n".join(scopes) for line in lines for part, *scopes in [*line, ["\n"]] for _ in part]


def _vim(text: str, folder: Path) -> list[str]:
    """Returns the syntax group of each character."""
    vim, scopes = program("vim", "editors"), folder / "scopes"
    (folder / "a.rules").write_text(text, encoding="utf-8")
    command = [vim, "-es", "-u", "NONE", "-i", "NONE", "--cmd", f"set rtp+={ROOT}/editors/vim encoding=utf-8"]
    command += ["-c", "filetype plugin on", "-c", "syntax on", "-c", "edit", "-S", str(HERE / "scopes.vim")]
    environment = {**os.environ, "SCOPES": str(scopes)}
    subprocess.run([*command, str(folder / "a.rules")], env=environment, check=False, timeout=60)
    filetype, *lines = scopes.read_text(encoding="utf-8").split("\n")
    assert filetype == "tornado_proxy_rules"
    assert text.isascii()  # so that bytes are characters
    return [group for line in lines[: text.count("\n")] for group in [*line.split(), ""]]


def _parts(document: Document) -> Iterator[tuple[str | Dialect, Span]]:
    """Yields the parts of a file with their kinds."""
    for block in document.blocks:
        yield "target", block.name.span
        yield from (("comment", each.span) for each in (*block.comments, block.opening, block.trailing) if each)
        for statement in block.statements:
            yield from (("comment", comment.span) for comment in (*statement.comments, statement.trailing) if comment)
            if isinstance(statement, RewriteStatement):
                yield from (("name", statement.name.span),) if statement.name else ()
                yield "source", statement.source.span
                yield statement.dialect, statement.template.span
                continue
            yield "key", statement.key.span
            end = statement.span.end
            match statement.expected:
                case Verdict() as verdict:
                    yield "verdict", Span(document.source, end - len(verdict.value), end)
                case RedirectTo(location=expected) | expected:
                    yield "key", expected.span


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize(("highlight", "scope_patterns"), [(_vscode, VSCODE), (_vim, VIM)], ids=["vscode", "vim"])
def test_each_part_is_highlighted_by_its_kind(highlight, scope_patterns, name, tmp_path):
    """Names, sources, templates, keys and comments are highlighted from the first character to the last."""
    text = TEXTS[name]
    scopes = highlight(text, tmp_path)
    parsed = parse(SourceFile(name, text))
    assert parsed.diagnostics == ()
    wrong = [
        (kind, span.place, text[offset], scopes[offset])
        for kind, span in _parts(parsed.document)
        for offset in range(span.start, span.end)
        if not text[offset].isspace() and not re.search(scope_patterns[kind], scopes[offset])
    ]
    assert wrong == []
