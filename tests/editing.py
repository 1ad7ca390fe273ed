"""Rule files in an editor, analysed as the language server does; `‸` marks the cursor and is not part of the text."""

from tornado_proxy.lint.engine import LintSettings
from tornado_proxy.rules.diagnostic import SourceFile
from tornado_proxy.rules.loading import Read, RuleFile
from tornado_proxy.rules.tree import Document
from tornado_proxy.tools.lsp.workspace import Analysis, analyse

CURSOR = "‸"
NAME = "site.rules"


def split_at_cursor(text: str) -> tuple[SourceFile, int]:
    """The file without the mark, and the offset of the cursor."""
    before, _, after = text.partition(CURSOR)
    return SourceFile(NAME, before + after), len(before)


def analysed(text: str, **other_files: str) -> Analysis:
    """The analysis of a file together with other files; `other="…"` is `other.rules`."""
    others = (RuleFile(f"{name}.rules", content.encode()) for name, content in other_files.items())
    edited = RuleFile(NAME, text.replace(CURSOR, "").encode(errors="surrogatepass"))
    return analyse(Read((edited, *others)), LintSettings())


def analysed_at_cursor(text: str, **other_files: str) -> tuple[Analysis, Document, int]:
    """The analysis of a file, its tree, and the offset of the cursor."""
    return *with_tree(text, **other_files), text.index(CURSOR)


def with_tree(text: str, **other_files: str) -> tuple[Analysis, Document]:
    """The analysis of a file, and its tree."""
    analysis = analysed(text, **other_files)
    return analysis, analysis.document(NAME)


def site(*statements: str) -> str:
    """A block of the target `site`, with each statement on a line."""
    return "\n".join(("target site {", *(f"    {each}" for each in statements), "}", ""))
