"""What may be written next: keywords, names of targets and checks, groups, variables and functions of templates."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from lark import Token

from tornado_proxy.lang.literals import literal
from tornado_proxy.lang.parser import Unfinished, unfinished
from tornado_proxy.lang.reading import Where
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lang.unexpected import KEYWORDS
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.testing import METHODS
from tornado_proxy.tools.lsp.nodes import group_names
from tornado_proxy.tools.lsp.variables import fields


class ItemKind(Enum):
    """What a proposal is."""

    KEYWORD = "keyword"
    TARGET = "target"
    GROUP = "group"
    VARIABLE = "variable"
    FUNCTION = "function"
    CHECK = "check"
    VALUE = "value"


class TemplateItem(NamedTuple):
    """A text, and how many characters before the cursor it takes the place of; `closing` belongs behind it."""

    label: str
    kind: ItemKind
    length: int
    detail: str
    closing: str = ""


_PLAIN_GROUP = re.compile(r"(?<!\$)(?:\$\$)*\$(?P<brace>\{?)(?P<word>\w*)\Z")
_ACTION = re.compile(r"(?:\{\{|\{%)(?:(?!\}\}|%\}).)*\Z", re.DOTALL)
_TEXT = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`""", re.DOTALL)
_QUOTE = re.compile(r"""["'`]""")
_JINJA_PATH = re.compile(r"(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_JINJA_KEY = re.compile(r"""\bgroups\[\s*["'](?P<word>[^"']*)\Z""")
_JINJA_FILTER = re.compile(r"\|\s*(?P<word>\w*)\Z")
_JINJA_TEST = re.compile(r"\bis\s+(?:not\s+)?(?P<word>\w*)\Z")
_JINJA_STATEMENT = re.compile(r"\{%[-+]?\s*(?P<word>\w*)\Z")
_GO_PATH = re.compile(r"(?:\$|(?<![\w.)\]]))\.(?P<path>(?:[A-Za-z_]\w*\.)*)(?P<word>\w*)\Z")
_GO_KEY = re.compile(r"""\bindex\s+\$?\.Groups\s+["`](?P<word>[^"`]*)\Z""")
_GO_VARIABLE = re.compile(r"\$\w*\Z")
_GO_DECLARED = re.compile(r"(\$[A-Za-z_]\w*)(?=\s*(?:,\s*\$\w+\s*)?:=)")
_GO_WORD = re.compile(r"(?<![\w.$])(?P<word>[A-Za-z_]\w*)?\Z")


def template_items(dialect: Dialect, text: str, names: Collection[str]) -> Iterator[TemplateItem]:
    """What may follow the text of a template; `names` are those of the groups of its source."""
    if dialect is Dialect.PLAIN:
        yield from _in_plain(text, names)
        return
    action = _ACTION.search(text)
    if action is not None:
        yield from (_in_jinja(action[0], names) if dialect is Dialect.JINJA else _in_go(action[0], text, names))


def _in_plain(text: str, names: Iterable[str]) -> Iterator[TemplateItem]:
    found = _PLAIN_GROUP.search(text)
    if found is not None:
        closing = "}" if found["brace"] else ""
        yield from (each._replace(closing=closing) for each in _groups(names, found))


def _groups(names: Iterable[str], found: re.Match[str]) -> Iterator[TemplateItem]:
    return (TemplateItem(name, ItemKind.GROUP, len(found["word"]), "group of the source") for name in names)


def _functions(names: Iterable[str], found: re.Match[str], detail: str) -> Iterator[TemplateItem]:
    return (TemplateItem(name, ItemKind.FUNCTION, len(found["word"] or ""), detail) for name in names)


def _in_jinja(action: str, names: Collection[str]) -> Iterator[TemplateItem]:
    if _is_within_text(action):
        key = _JINJA_KEY.search(action)
        yield from _groups(names, key) if key else ()
    elif statement := _JINJA_STATEMENT.fullmatch(action):
        length = len(statement["word"])
        yield from (TemplateItem(word, ItemKind.KEYWORD, length, "statement") for word in _jinja_statements())
    elif piped := _JINJA_FILTER.search(action):
        yield from _functions(_jinja_filters(), piped, "filter")
    elif tested := _JINJA_TEST.search(action):
        yield from _functions(_jinja_tests(), tested, "test")
    else:
        found = _JINJA_PATH.search(action)
        assert found  # it matches an empty text
        yield from _after(Dialect.JINJA, "groups", found, names)


def _in_go(action: str, text: str, names: Collection[str]) -> Iterator[TemplateItem]:
    if _is_within_text(action):
        key = _GO_KEY.search(action)
        yield from _groups(names, key) if key else ()
    elif path := _GO_PATH.search(action):
        yield from _after(Dialect.GO, "Groups", path, names)
    elif variable := _GO_VARIABLE.search(action):
        declared = dict.fromkeys(_GO_DECLARED.findall(text))
        yield from (TemplateItem(name, ItemKind.VARIABLE, len(variable[0]), "declared above") for name in declared)
    elif word := _GO_WORD.search(action):
        length = len(word["word"] or "")
        yield from (
            TemplateItem(f".{name}", ItemKind.VARIABLE, length, detail) for name, detail in fields(Dialect.GO, "")
        )
        yield from _functions(_go_functions(), word, "function")


def _is_within_text(action: str) -> bool:
    """Whether a quote is open."""
    return _QUOTE.search(_TEXT.sub("", action)) is not None


def _after(dialect: Dialect, groups: str, found: re.Match[str], names: Iterable[str]) -> Iterator[TemplateItem]:
    """What can be read from what stands before the last dot."""
    path, length = found["path"].removesuffix("."), len(found["word"])
    if path == groups:
        yield from _groups((name for name in names if not name.isdecimal()), found)
    yield from (TemplateItem(name, ItemKind.VARIABLE, length, detail) for name, detail in fields(dialect, path))


def _jinja_statements() -> Iterable[str]:
    from tornado_proxy.templates.jinja.source import CLOSED, STATEMENTS  # noqa: PLC0415 - Jinja2 again

    return (*STATEMENTS, *(f"end{name}" for name in CLOSED))


def _jinja_filters() -> Iterable[str]:
    from tornado_proxy.templates.jinja.filters import FILTERS  # noqa: PLC0415 - Jinja2 only where a file needs it

    return sorted(FILTERS)


def _jinja_tests() -> Iterable[str]:
    from tornado_proxy.templates.jinja.filters import TESTS  # noqa: PLC0415 - the same

    return sorted(TESTS)


def _go_functions() -> Iterable[str]:
    from tornado_proxy.templates.golang.template import vocabulary  # noqa: PLC0415 - only where a file needs it

    return sorted(vocabulary().functions)


@dataclass(frozen=True, slots=True)
class Completion:
    """A text that may take the place of `span`; `snippet` is the same with places to fill in (LSP 3.17, snippets)."""

    label: str
    kind: ItemKind
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


def completions(source: SourceFile, offset: int, targets: Iterable[str] = ()) -> list[Completion]:
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


def _at_word(before: Unfinished, span: Span, targets: Iterable[str]) -> Iterator[Completion]:
    last = before.begun[-1].type if before.begun else ""
    if before.where is Where.HEADER and last == "TARGET":
        yield from (Completion(name, ItemKind.TARGET, span, "target") for name in dict.fromkeys(targets))
    elif last == "METHOD":
        yield from (Completion(method, ItemKind.VALUE, span) for method in METHODS)
    filled = _FILLED.match(span.source.text, span.end)
    for terminal, (detail, snippet) in _WORDS.items():
        if terminal in before.accepts:
            yield Completion(KEYWORDS[terminal], ItemKind.KEYWORD, span, detail, snippet="" if filled else snippet)
    arrow = _BEFORE_ARROW.match(span.source.text, span.end)
    if "ARROW" in before.accepts and span.start == span.end and not arrow:
        yield Completion("->", ItemKind.KEYWORD, span)


def _in_comment(source: SourceFile, comment: Token, offset: int) -> Iterator[Completion]:
    start = comment.start_pos or 0
    text = source.text[start:offset]
    if _ALLOWING.match(text):
        begun = _CHECK_NAME.search(text)
        span = Span(source, start + (begun.start() if begun else len(text)), offset)
        yield from (Completion(check.name, ItemKind.CHECK, span, check.summary, check.manual) for check in CHECKS)
        return
    word = _COMMENT_WORD.match(text)
    if word is not None:
        span = Span(source, start + word.start("word"), offset)
        yield Completion("allow:", ItemKind.KEYWORD, span, "silence checks for the statement or block")
        yield Completion("allow-file:", ItemKind.KEYWORD, span, "silence checks for the file")


def _in_string(source: SourceFile, found: Unfinished, offset: int) -> Iterator[Completion]:
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
    for each in template_items(dialect, text, names):
        label = each.label if _BEFORE_BRACE.match(source.text, offset) else each.label + each.closing
        yield Completion(label, each.kind, Span(source, offset - each.length, offset), each.detail)
