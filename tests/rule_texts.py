"""Functions that parse the text of rule files and return the document or the diagnostics."""

from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.parser import Parsed, parse
from tornado_proxy.rules.tree import Document, Statement


def parsed(text: str) -> Parsed:
    """The result of parsing a rule file."""
    return parse(SourceFile("site.rules", text))


def document(text: str) -> Document:
    """The document of a rule file without mistakes."""
    result = parsed(text)
    assert result.diagnostics == ()
    return result.document


def statement(text: str) -> Statement:
    """The statement in a block that has only this one."""
    (block,) = document(f"target site {{\n{text}\n}}").blocks
    (only,) = block.statements
    return only


def messages(text: str) -> list[str]:
    """The messages about a rule file, in order."""
    return [diagnostic.message for diagnostic in parsed(text).diagnostics]


def messages_and_help(statements: str) -> list[tuple[str, str | None]]:
    """The message and the help of each diagnostic about the statements of a block."""
    diagnostics = parsed(f"target site {{\n{statements}\n}}\n").diagnostics
    return [(diagnostic.message, diagnostic.help) for diagnostic in diagnostics]


def parsed_sources_and_keys(statements: str) -> list[str]:
    """The source or the key of each statement of a block that was parsed."""
    (block,) = parsed(f"target site {{\n{statements}\n}}\n").document.blocks
    return [(each.source if hasattr(each, "source") else each.key).value for each in block.statements]
