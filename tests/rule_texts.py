"""Rule files written in tests: parsed, asserted to be sound, or asked for what is wrong with them."""

from __future__ import annotations

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.tree import Document, Statement


def parsed(text: str) -> Parsed:
    """What the parser makes of a text."""
    return parse(SourceFile("site.rules", text))


def document(text: str) -> Document:
    """The document of a text that has no mistake."""
    result = parsed(text)
    assert result.diagnostics == ()
    return result.document


def statement(text: str) -> Statement:
    """The one statement of a text that stands for the inside of a block."""
    (block,) = document(f"target site {{\n{text}\n}}").blocks
    (only,) = block.statements
    return only


def complaints(text: str) -> list[str]:
    """The messages about a text, in order."""
    return [diagnostic.message for diagnostic in parsed(text).diagnostics]


def complaints_about(statements: str) -> list[tuple[str, str | None]]:
    """The messages and the help about statements within a block."""
    diagnostics = parsed(f"target site {{\n{statements}\n}}\n").diagnostics
    return [(diagnostic.message, diagnostic.help) for diagnostic in diagnostics]


def kept(statements: str) -> list[str]:
    """The sources and keys of the statements that are left."""
    ((*found,),) = (block.statements for block in parsed(f"target site {{\n{statements}\n}}\n").document.blocks)
    return [(each.source if hasattr(each, "source") else each.key).value for each in found]
