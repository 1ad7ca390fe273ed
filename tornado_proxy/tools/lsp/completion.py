"""What may be written next: keywords, names of targets and checks, groups and variables of templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from lark import Token

from tornado_proxy.lang.literals import literal
from tornado_proxy.lang.parser import Unfinished, unfinished
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.unexpected import KEYWORDS
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.testing import METHODS
from tornado_proxy.tools.lsp.groups import group_names
from tornado_proxy.tools.lsp.ideas import Kind, ideas


@dataclass(frozen=True, slots=True)
class Proposal:
    """A text that may take the place of `span`; `snippet` is the same with places to fill in (LSP 3.17, snippets)."""

    label: str
    kind: Kind
    span: Span
    detail: str = ""
    manual: str = ""
    snippet: str = ""


_WORDS: Mapping[str, tuple[str, str]] = {
    "TARGET": ("the rewrites and tests of one target", "target ${1:name} {\n    $0\n}"),
    "REWRITE": ("a key that the source matches becomes what the template makes", 'rewrite `^/$1$` -> "/$2"'),
    "TEST": ("what must become of a key", 'test "/$1" -> "/$2"'),
    "JINJA": ("a template of Jinja2", 'jinja "$1"'),
    "GO": ("a template as Go and s3-proxy know it", 'go "$1"'),
    "UNCHANGED": ("no rewrite matches", ""),
    "ERROR": ("the result is refused, or the template fails", ""),
    "AS": ("who is signed in", 'as "$1"'),
    "METHOD": ("GET, HEAD, PUT or DELETE", ""),
    "HOST": ("the host that was asked", 'host "$1"'),
    "HEADER": ("one header", 'header "$1" "$2"'),
    "USER_GROUPS": ("the user's groups, separated by commas", 'user-groups "$1"'),
    "EMAIL": ("the user's address", 'email "$1"'),
}
# What stands behind the cursor already is not proposed once more.
_FILLED = re.compile(r"""[ \t]*["`{]""")
_BEFORE_ARROW = re.compile(r"[ \t]*->")
_BEFORE_BRACE = re.compile(r"\w*\}")
_WORD = re.compile(r"[A-Za-z_](?:[\w.]|-(?!>))*\Z")
_ALLOWING = re.compile(r"#\s*allow(?:-file)?\s*:[^(]*\Z")
_COMMENT_WORD = re.compile(r"#\s*(?P<word>[a-z-]*)\Z")
_CHECK_NAME = re.compile(r"[^\s,:]*\Z")


def completions(source: SourceFile, offset: int, targets: Iterable[str] = ()) -> list[Proposal]:
    """What may be written at an offset of a file; `targets` are the names that are known."""
    word = _WORD.search(source.text, 0, offset)
    found = unfinished(source, offset)
    if found.open is None:
        start = word.start() if word else offset
        before = unfinished(source, start) if word else found
        return list(_at_word(before, Span(source, start, offset), targets))
    if found.open.type == "COMMENT":
        return list(_in_comment(source, found.open, offset))
    return list(_in_string(source, found, offset))


def _at_word(before: Unfinished, span: Span, targets: Iterable[str]) -> Iterator[Proposal]:
    last = before.begun[-1].type if before.begun else ""
    if before.where is Where.HEADER and last == "TARGET":
        yield from (Proposal(name, Kind.TARGET, span, "target") for name in dict.fromkeys(targets))
    elif last == "METHOD":
        yield from (Proposal(method, Kind.VALUE, span) for method in METHODS)
    filled = _FILLED.match(span.source.text, span.end)
    for terminal, (detail, snippet) in _WORDS.items():
        if terminal in before.accepts:
            yield Proposal(KEYWORDS[terminal], Kind.KEYWORD, span, detail, snippet="" if filled else snippet)
    arrow = _BEFORE_ARROW.match(span.source.text, span.end)
    if "ARROW" in before.accepts and span.start == span.end and not arrow:
        yield Proposal("->", Kind.KEYWORD, span)


def _in_comment(source: SourceFile, comment: Token, offset: int) -> Iterator[Proposal]:
    start = comment.start_pos or 0
    text = source.text[start:offset]
    if _ALLOWING.match(text):
        begun = _CHECK_NAME.search(text)
        span = Span(source, start + (begun.start() if begun else len(text)), offset)
        yield from (Proposal(check.name, Kind.CHECK, span, check.summary, check.manual) for check in CHECKS)
        return
    word = _COMMENT_WORD.match(text)
    if word is not None:
        span = Span(source, start + word.start("word"), offset)
        yield Proposal("allow:", Kind.KEYWORD, span, "silence checks for the statement or block")
        yield Proposal("allow-file:", Kind.KEYWORD, span, "silence checks for the file")


def _in_string(source: SourceFile, found: Unfinished, offset: int) -> Iterator[Proposal]:
    """Within a template; nothing is known of what stands in other strings."""
    kinds = [token.type for token in found.begun]
    if found.where is not Where.REWRITE or "ARROW" not in kinds or found.open is None:
        return
    dialect = {"JINJA": Dialect.JINJA, "GO": Dialect.GO}.get(kinds[-1], Dialect.PLAIN)
    if dialect is Dialect.PLAIN and kinds[-1] != "ARROW":
        return
    start = (found.open.start_pos or 0) + 1
    text = source.text[start:offset]
    if source.text[start - 1] == '"':
        text = text.replace('\\"', '"')
    pattern, _ = literal(source, found.begun[kinds.index("ARROW") - 1])
    names = group_names(pattern.value)
    for each in ideas(dialect, text, names):
        label = each.label if _BEFORE_BRACE.match(source.text, offset) else each.label + each.closing
        yield Proposal(label, each.kind, Span(source, offset - each.length, offset), each.detail)
