"""What may be written next: keywords, names of targets and checks, groups and variables of templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from lark import Token

from tornado_proxy.lang.literals import literal
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.recovery.expectation import KEYWORDS
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lang.unfinished import Unfinished, unfinished
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.testing import METHODS
from tornado_proxy.tools.lsp.groups import group_names
from tornado_proxy.tools.lsp.variables import fields


class Kind(Enum):
    """What a proposal is."""

    KEYWORD = "keyword"
    TARGET = "target"
    GROUP = "group"
    VARIABLE = "variable"
    FUNCTION = "function"
    CHECK = "check"
    VALUE = "value"


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
_WORD = re.compile(r"[A-Za-z_](?:[\w.]|-(?!>))*\Z")
_ALLOWING = re.compile(r"#\s*allow(?:-file)?\s*:[^(]*\Z")
_COMMENT_WORD = re.compile(r"#\s*(?P<word>[a-z-]*)\Z")
_CHECK_NAME = re.compile(r"[^\s,:]*\Z")
_PLAIN_GROUP = re.compile(r"(?<!\$)(?:\$\$)*\$(?P<brace>\{?)(?P<word>\w*)\Z")
_ACTION = re.compile(r"(?:\{\{|\{%)(?:(?!\}\}|%\}).)*\Z", re.DOTALL)
_JINJA_PATH = re.compile(r"(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_JINJA_KEY = re.compile(r"""\bgroups\[\s*["'](?P<word>[^"']*)\Z""")
_JINJA_FILTER = re.compile(r"\|\s*(?P<word>\w*)\Z")
_GO_PATH = re.compile(r"(?:\$|(?<![\w.)\]]))\.(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_GO_WORD = re.compile(r"(?<![\w.$])(?P<word>[A-Za-z_]\w*)?\Z")


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
    for terminal, (detail, snippet) in _WORDS.items():
        if terminal in before.accepts:
            yield Proposal(KEYWORDS[terminal], Kind.KEYWORD, span, detail, snippet=snippet)
    if "ARROW" in before.accepts and span.start == span.end:
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
    text = source.text[(found.open.start_pos or 0) + 1 : offset].replace('\\"', '"')
    pattern, _ = literal(source, found.begun[kinds.index("ARROW") - 1])
    names = group_names(pattern.value)
    for label, kind, length, detail in _IN_TEMPLATE[dialect](text, names):
        yield Proposal(label, kind, Span(source, offset - length, offset), detail)


_Idea = tuple[str, Kind, int, str]
"""A label, what it is, how many characters before the place it takes the place of, and a phrase."""


def _in_plain(text: str, names: Iterable[str]) -> Iterator[_Idea]:
    found = _PLAIN_GROUP.search(text)
    if found is None:
        return
    closing = "}" if found["brace"] else ""
    for name in names:
        yield name + closing, Kind.GROUP, len(found["word"]), "group of the source"


def _in_jinja(text: str, names: Iterable[str]) -> Iterator[_Idea]:
    action = _ACTION.search(text)
    if action is None:
        return
    key = _JINJA_KEY.search(action[0])
    if key is not None:
        yield from ((name, Kind.GROUP, len(key["word"]), "group of the source") for name in names)
        return
    piped = _JINJA_FILTER.search(action[0])
    if piped is not None:
        yield from ((name, Kind.FUNCTION, len(piped["word"]), "filter") for name in _jinja_filters())
        return
    found = _JINJA_PATH.search(action[0])
    assert found  # it matches an empty text
    yield from _after(Dialect.JINJA, "groups", found, names)


def _in_go(text: str, names: Iterable[str]) -> Iterator[_Idea]:
    action = _ACTION.search(text)
    if action is None:
        return
    found = _GO_PATH.search(action[0])
    if found is not None:
        yield from _after(Dialect.GO, "Groups", found, names)
        return
    word = _GO_WORD.search(action[0])
    if word is not None:
        length = len(word["word"] or "")
        yield from ((f".{name}", Kind.VARIABLE, length, detail) for name, detail in fields(Dialect.GO, ""))
        yield from ((name, Kind.FUNCTION, length, "function") for name in _go_functions())


def _after(dialect: Dialect, groups: str, found: re.Match[str], names: Iterable[str]) -> Iterator[_Idea]:
    """What can be read from what stands before the last dot."""
    path, length = found["path"].removesuffix("."), len(found["word"])
    if path == groups:
        yield from ((name, Kind.GROUP, length, "group of the source") for name in names if not name.isdecimal())
    yield from ((name, Kind.VARIABLE, length, detail) for name, detail in fields(dialect, path))


def _jinja_filters() -> Iterable[str]:
    from tornado_proxy.templating.jinja.filters import FILTERS  # noqa: PLC0415 - Jinja2 only where a file needs it

    return sorted(FILTERS)


def _go_functions() -> Iterable[str]:
    from tornado_proxy.templating.golang.template import vocabulary  # noqa: PLC0415 - only where a file needs it

    return sorted(vocabulary().functions)


_IN_TEMPLATE = {Dialect.PLAIN: _in_plain, Dialect.JINJA: _in_jinja, Dialect.GO: _in_go}
