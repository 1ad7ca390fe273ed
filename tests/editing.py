"""Rule files as an editor shows them: `‸` is where the cursor stands, and is not part of the text."""

from __future__ import annotations

from collections.abc import Iterable

from tornado_proxy.lang.diagnostic import Edit, SourceFile
from tornado_proxy.lint.engine import edited
from tornado_proxy.tools.lsp.workspace import Analysis, CheckOptions, RuleFileSet, analyse

CURSOR = "‸"
NAME = "site.rules"


def pointed(text: str) -> tuple[SourceFile, int]:
    """A file without the cursor, and where that stands."""
    before, _, behind = text.partition(CURSOR)
    return SourceFile(NAME, before + behind), len(before)


def analysed(text: str, **others: str) -> Analysis:
    """What is known of a file, and of others that are read together with it (`other="…"` is `other.rules`)."""
    more = (SourceFile(f"{name}.rules", other) for name, other in others.items())
    return analyse(RuleFileSet((SourceFile(NAME, text.replace(CURSOR, "")), *more)), CheckOptions())


def asked(text: str, **others: str) -> tuple[Analysis, str, int]:
    """What is known of a file, its name, and where the cursor stands."""
    return analysed(text, **others), NAME, text.index(CURSOR)


def site(*statements: str) -> str:
    """A block with statements, a line for each."""
    return "\n".join(("target site {", *(f"    {each}" for each in statements), "}", ""))


def after(text: str, edits: Iterable[Edit]) -> str:
    """A text after edits of it."""
    return edited(text, edits)
