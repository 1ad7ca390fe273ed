"""A document becomes text in the one canonical layout.

Statements stand on lines of their own, four spaces in; in a *group* (statements of one kind, one after the other, with
neither a blank line nor a comment between) the arrows stand below one another, and so do names and dialects. Blank
lines between statements stay, one at most; one stands between blocks. How strings are written: `writing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tornado_proxy.lang.layout import group_lines
from tornado_proxy.lang.tree import Comment, Document, Statement, TargetBlock
from tornado_proxy.lang.writing import name_text

_INDENT = " " * 4


def print_document(document: Document) -> str:
    """The text of a document; what it says is the same, and printing it again changes nothing."""
    return "".join(f"{line}\n" for line in _document_lines(document))


def _document_lines(document: Document) -> Iterator[str]:
    for number, block in enumerate(document.blocks):
        if number:
            yield ""
        yield from _block_lines(block)
    if document.closing:
        if document.blocks:
            yield ""
        yield from _comment_lines(document.closing, "", first=True)


def _block_lines(block: TargetBlock) -> Iterator[str]:
    yield from _above(block, "", first=True)
    head = f"target {name_text(block.name)} {{"
    if not (block.opening or block.statements or block.closing):
        yield _with_comment(f"{head}}}", block.trailing)
        return
    yield _with_comment(head, block.opening)
    yield from _statement_lines(block.statements)
    yield from _comment_lines(block.closing, _INDENT, first=not block.statements)
    yield _with_comment("}", block.trailing)


def _statement_lines(statements: Sequence[Statement]) -> Iterator[str]:
    for group in _groups(statements):
        yield from _above(group[0], _INDENT, first=group[0] is statements[0])
        for statement, line in zip(group, group_lines(group), strict=True):
            yield _with_comment(_INDENT + line, statement.trailing)


def _groups(statements: Iterable[Statement]) -> Iterator[list[Statement]]:
    group: list[Statement] = []
    for statement in statements:
        if group and (statement.comments or statement.blank_before or type(statement) is not type(group[-1])):
            yield group
            group = []
        group.append(statement)
    if group:
        yield group


def _above(node: Statement | TargetBlock, indent: str, *, first: bool) -> Iterator[str]:
    """The comments and blank lines above a node; nothing begins with a blank line."""
    yield from _comment_lines(node.comments, indent, first=first)
    if node.blank_before and (node.comments or not first):
        yield ""


def _comment_lines(comments: Iterable[Comment], indent: str, *, first: bool) -> Iterator[str]:
    for number, comment in enumerate(comments):
        if comment.blank_before and (number or not first):
            yield ""
        yield indent + comment.text


def _with_comment(text: str, comment: Comment | None) -> str:
    return f"{text}  {comment.text}" if comment else text
