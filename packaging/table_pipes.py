r"""An extension of Python-Markdown: `\|` in code within a table is `|`, as in GitHub's Markdown and man pages."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from markdown import Extension, Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString


class _Unescape(Treeprocessor):
    def run(self, root: Element) -> None:
        for cell in (*root.iter("td"), *root.iter("th")):
            for code in cell.iter("code"):
                code.text = AtomicString((code.text or "").replace("\\|", "|"))


class TablePipes(Extension):
    """Runs after code has been read, before it is written."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Python-Markdown's name
        """Registers the processor behind the one of inline texts, whose priority is 20."""
        md.treeprocessors.register(_Unescape(md), "table_pipes", 15)


def makeExtension(**options: object) -> TablePipes:  # noqa: N802 - Python-Markdown's name
    """Returns the extension, for Python-Markdown, which finds it by the name of this module."""
    return TablePipes(**options)
