"""Makes man pages from the manual: `python packaging/manual.py DIRECTORY`.

Tests compare the pages of docs/ with the command line and the options of the configuration, so the man pages agree with
them too. markdown-it parses the pages. The roff follows man(7), which man-db and mandoc both render.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_DOCS = Path(__file__).parent.parent / "docs"
_AFTER_HEADING = re.compile(r"^(\.S[HS] .*\n)\.PP\n", re.MULTILINE)
_STARTS = re.compile(r"^(?=[.'])", re.MULTILINE)


@dataclass(frozen=True)
class ManPage:
    """A man page, and the page of docs/ that it is made from."""

    name: str
    section: int
    source: str
    description: str
    synopsis: str = ""

    @property
    def file_name(self) -> str:
        """Returns the name of its file."""
        return f"{self.name}.{self.section}"


PAGES = (
    ManPage(
        "tornado-proxy",
        1,
        "commands.md",
        "HTTP front for S3 buckets whose rules are files",
        "\\fBtornado\\-proxy\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]",
    ),
    ManPage("tornado-proxy.yaml", 5, "configuration.md", "configuration of tornado-proxy"),
    ManPage("tornado-proxy-rules", 5, "language.md", "rule files of tornado-proxy"),
)


def render(page: ManPage, version: str, date: str = "") -> str:
    """Returns the roff of a page."""
    text = (_DOCS / page.source).read_text(encoding="utf-8")
    tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(text))
    see_also = ", ".join(f".BR {other.name} ({other.section})" for other in PAGES if other is not page).replace(
        ", ", " ,\n"
    )
    lines = [
        f'.TH {page.name.upper()} {page.section} "{date}" "tornado-proxy {version}"',
        *(".SH NAME", f"{_escaped(page.name)} \\- {_escaped(page.description)}"),
        *((".SH SYNOPSIS", page.synopsis) if page.synopsis else ()),
        ".SH DESCRIPTION",
        *(line for node in tree.children for line in _block(node)),
        *(".SH SEE ALSO", see_also),
    ]
    return _AFTER_HEADING.sub(r"\1", "\n".join(lines) + "\n")


def _block(node: SyntaxTreeNode) -> Iterator[str]:
    """Yields the lines of a paragraph, heading, list, table or code block."""
    match node.type:
        case "heading":
            if node.tag == "h2":
                yield f".SH {_title(node)}"
            elif node.tag != "h1":
                yield f".SS {_text(node)}"
        case "paragraph":
            yield from (".PP", _text(node))
        case "fence":
            yield from (".PP", ".RS 4", ".nf", _protected(_escaped(node.content.rstrip("\n"))), ".fi", ".RE")
        case "bullet_list" | "ordered_list":
            for number, item in enumerate(node.children, 1):
                yield f".IP {number}. 3" if node.type == "ordered_list" else ".IP \\(bu 2"
                first, *following = item.children
                yield _text(first)
                for child in following:
                    yield from (".RS 2", *_block(child), ".RE")
        case "table":
            yield from _table(node)


def _table(node: SyntaxTreeNode) -> Iterator[str]:
    """Yields each row as a tagged paragraph; with more than two columns, each cell follows its column's name."""
    head, *rows = (row for part in node.children for row in part.children)
    names = [_text(cell) for cell in head.children]
    for row in rows:
        first, *cells = map(_text, row.children)
        named_cells = [(name, cell) for name, cell in zip(names[1:], cells, strict=True) if cell]
        yield from (".TP", first or "\\(em")
        if len(names) == 2:
            yield from (cell for _, cell in named_cells)
        else:
            yield "\n.br\n".join(f"\\fI{name}\\fR: {cell}" for name, cell in named_cells)


def _title(node: SyntaxTreeNode) -> str:
    """Returns a heading in capitals, except for code in it."""
    parts = node.children[0].children
    return "".join(_escaped(part.content.upper()) if part.type == "text" else _inline(part) for part in parts)


def _text(node: SyntaxTreeNode) -> str:
    """Returns the text of a node, with its lines protected."""
    return _protected("".join(_inline(child) for child in node.children))


def _inline(node: SyntaxTreeNode) -> str:
    """Returns a span of text; links to the web keep their URL."""
    inner = "".join(map(_inline, node.children))
    match node.type:
        case "text":
            return _escaped(node.content)
        case "code_inline":
            return f"\\fB{_escaped(node.content)}\\fR"
        case "strong" | "em":
            return f"\\f{'B' if node.type == 'strong' else 'I'}{inner}\\fR"
        case "link":
            target = str(node.attrs["href"])
            return f"{inner} <{_escaped(target)}>" if "://" in target else inner
        case "softbreak" | "hardbreak":
            return "\n"
        case _:
            return inner


def _escaped(text: str) -> str:
    """Returns text with the characters escaped that roff would print differently."""
    return (
        text.replace("\\", "\\e").replace("-", "\\-").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    )


def _protected(text: str) -> str:
    """Returns text with its lines protected from being read as requests of roff."""
    return _STARTS.sub("\\\\&", text)


def write(folder: Path, version: str) -> None:
    """Writes all pages into the directories of their sections; SOURCE_DATE_EPOCH, if set, is their date."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    date = datetime.fromtimestamp(int(epoch), UTC).date().isoformat() if epoch else ""
    for page in PAGES:
        path = folder / f"man{page.section}" / page.file_name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(page, version, date), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), "development")
