"""What may be written next within a template: groups, variables, functions, and the dialect's own words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from tornado_proxy.lang.tree import Dialect
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


class Idea(NamedTuple):
    """A text, and how many characters before the cursor it takes the place of; `closing` belongs behind it."""

    label: str
    kind: Kind
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


def ideas(dialect: Dialect, text: str, names: Collection[str]) -> Iterator[Idea]:
    """What may follow the text of a template; `names` are those of the groups of its source."""
    if dialect is Dialect.PLAIN:
        yield from _in_plain(text, names)
        return
    action = _ACTION.search(text)
    if action is not None:
        yield from (_in_jinja(action[0], names) if dialect is Dialect.JINJA else _in_go(action[0], text, names))


def _in_plain(text: str, names: Iterable[str]) -> Iterator[Idea]:
    found = _PLAIN_GROUP.search(text)
    if found is not None:
        closing = "}" if found["brace"] else ""
        yield from (each._replace(closing=closing) for each in _groups(names, found))


def _groups(names: Iterable[str], found: re.Match[str]) -> Iterator[Idea]:
    return (Idea(name, Kind.GROUP, len(found["word"]), "group of the source") for name in names)


def _functions(names: Iterable[str], found: re.Match[str], detail: str) -> Iterator[Idea]:
    return (Idea(name, Kind.FUNCTION, len(found["word"] or ""), detail) for name in names)


def _in_jinja(action: str, names: Collection[str]) -> Iterator[Idea]:
    if _is_within_text(action):
        key = _JINJA_KEY.search(action)
        yield from _groups(names, key) if key else ()
    elif statement := _JINJA_STATEMENT.fullmatch(action):
        length = len(statement["word"])
        yield from (Idea(word, Kind.KEYWORD, length, "statement") for word in _jinja_statements())
    elif piped := _JINJA_FILTER.search(action):
        yield from _functions(_jinja_filters(), piped, "filter")
    elif tested := _JINJA_TEST.search(action):
        yield from _functions(_jinja_tests(), tested, "test")
    else:
        found = _JINJA_PATH.search(action)
        assert found  # it matches an empty text
        yield from _after(Dialect.JINJA, "groups", found, names)


def _in_go(action: str, text: str, names: Collection[str]) -> Iterator[Idea]:
    if _is_within_text(action):
        key = _GO_KEY.search(action)
        yield from _groups(names, key) if key else ()
    elif path := _GO_PATH.search(action):
        yield from _after(Dialect.GO, "Groups", path, names)
    elif variable := _GO_VARIABLE.search(action):
        declared = dict.fromkeys(_GO_DECLARED.findall(text))
        yield from (Idea(name, Kind.VARIABLE, len(variable[0]), "declared above") for name in declared)
    elif word := _GO_WORD.search(action):
        length = len(word["word"] or "")
        yield from (Idea(f".{name}", Kind.VARIABLE, length, detail) for name, detail in fields(Dialect.GO, ""))
        yield from _functions(_go_functions(), word, "function")


def _is_within_text(action: str) -> bool:
    """Whether a quote is open."""
    return _QUOTE.search(_TEXT.sub("", action)) is not None


def _after(dialect: Dialect, groups: str, found: re.Match[str], names: Iterable[str]) -> Iterator[Idea]:
    """What can be read from what stands before the last dot."""
    path, length = found["path"].removesuffix("."), len(found["word"])
    if path == groups:
        yield from _groups((name for name in names if not name.isdecimal()), found)
    yield from (Idea(name, Kind.VARIABLE, length, detail) for name, detail in fields(dialect, path))


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
