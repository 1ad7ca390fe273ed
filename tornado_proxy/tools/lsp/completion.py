"""Completions: keywords, names of targets and checks, groups, variables and functions of templates."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files

import msgspec
from lsprotocol.types import CompletionItemKind as Kind

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.parser import Unfinished, unfinished
from tornado_proxy.rules.reading import KEYWORDS, Where
from tornado_proxy.rules.tree import Dialect, literal
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.templates.go import vocabulary
from tornado_proxy.templates.jinja import CLOSED, STATEMENTS
from tornado_proxy.templates.jinja_values import FILTERS, TESTS

_WORDS = tomllib.loads((files(__package__) / "words.toml").read_text(encoding="utf-8"))

_PLAIN_GROUP = re.compile(r"(?<!\$)(?:\$\$)*\$\{?(?P<word>\w*)\Z")
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
_GO_VARIABLE = re.compile(r"(?P<word>\$\w*)\Z")
_GO_DECLARED = re.compile(r"(\$[A-Za-z_]\w*)(?=\s*(?:,\s*\$\w+\s*)?:=)")
_GO_WORD = re.compile(r"(?<![\w.$])(?P<word>(?:[A-Za-z_]\w*)?)\Z")


class Completion(msgspec.Struct, frozen=True):
    """A text that may replace an unfinished word; `snippet` is the same with placeholders (LSP 3.17, snippets)."""

    label: str
    kind: Kind
    detail: str = ""
    manual: str = ""
    snippet: str = ""


_Proposals = tuple[str, list[Completion]]
"""An unfinished word, and what may replace it."""

_NOTHING: _Proposals = ("", [])


def _in_template(dialect: Dialect, text: str, names: Sequence[str]) -> _Proposals:
    """Returns the unfinished word of a template, and what may replace it; `names` are the groups of the source."""
    if dialect is Dialect.PLAIN:
        group = _PLAIN_GROUP.search(text)
        return (group["word"], _groups(names)) if group else _NOTHING
    action = _ACTION.search(text)
    if action is None:
        return _NOTHING
    if _QUOTE.search(_TEXT.sub("", action[0])):  # a string is open
        key = (_JINJA_KEY if dialect is Dialect.JINJA else _GO_KEY).search(action[0])
        return (key["word"], _groups(names)) if key else _NOTHING
    return _in_jinja(action[0], names) if dialect is Dialect.JINJA else _in_go(action[0], text, names)


def _items(labels: Iterable[str], kind: Kind, detail: str) -> list[Completion]:
    return [Completion(label, kind, detail) for label in labels]


def _groups(names: Iterable[str]) -> list[Completion]:
    return _items(names, Kind.Variable, "group of the source")


def _in_jinja(action: str, names: Sequence[str]) -> _Proposals:
    if statement := _JINJA_STATEMENT.fullmatch(action):
        words = (*STATEMENTS, *(f"end{name}" for name in CLOSED))
        return statement["word"], _items(words, Kind.Keyword, "statement")
    if piped := _JINJA_FILTER.search(action):
        return piped["word"], _items(sorted(FILTERS), Kind.Function, "filter")
    if tested := _JINJA_TEST.search(action):
        return tested["word"], _items(sorted(TESTS), Kind.Function, "test")
    path = _JINJA_PATH.search(action)
    assert path, "the expression matches an empty text"
    return path["word"], _after(Dialect.JINJA, "groups", path["path"], names)


def _in_go(action: str, text: str, names: Sequence[str]) -> _Proposals:
    if path := _GO_PATH.search(action):
        return path["word"], _after(Dialect.GO, "Groups", path["path"], names)
    if variable := _GO_VARIABLE.search(action):
        declared = dict.fromkeys(_GO_DECLARED.findall(text))
        return variable["word"], _items(declared, Kind.Field, "declared above")
    word = _GO_WORD.search(action)
    if word is None:
        return _NOTHING
    members = [Completion(f".{name}", Kind.Field, detail) for name, detail in fields(Dialect.GO, "")]
    return word["word"], members + _items(sorted(vocabulary().functions), Kind.Function, "function")


def _after(dialect: Dialect, groups: str, dotted: str, names: Iterable[str]) -> list[Completion]:
    """Returns the fields of the variable before the last dot."""
    path = dotted.removesuffix(".")
    members = [Completion(name, Kind.Field, detail) for name, detail in fields(dialect, path)]
    return _groups(name for name in names if not name.isdecimal()) + members if path == groups else members


# Text after the cursor, which is not proposed again.
_FILLED = re.compile(r"""[ \t]*["`{]""")
_BEFORE_ARROW = re.compile(r"[ \t]*->")
_BEFORE_BRACE = re.compile(r"\w*\}")
_OPEN_BRACE = re.compile(r"\{\w*\Z")
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_WORD = re.compile(r"[A-Za-z_](?:[\w.]|-(?!>))*\Z")
_ALLOWING = re.compile(r"#\s*allow(?:-file)?\s*:(?:[^(]*[\s,:])?(?P<word>[^\s,:(]*)\Z")
_COMMENT_WORD = re.compile(r"#\s*(?P<word>[a-z-]*)\Z")
_ALLOWANCES = [
    Completion("allow:", Kind.Keyword, "silence checks for the statement or block"),
    Completion("allow-file:", Kind.Keyword, "silence checks for the file"),
]


def completions(source: SourceFile, offset: int, targets: Iterable[str] = ()) -> tuple[Span, list[Completion]]:
    """Returns the unfinished word at an offset of a file, and what may replace it; `targets` are the known names."""
    word = _WORD.search(source.text, 0, offset)
    reading = unfinished(source, offset)
    if reading.open is None:
        span = Span(source, word.start() if word else offset, offset)
        before = unfinished(source, span.start) if word else reading
        return span, list(_at_word(before, span, targets))
    span = Span(source, reading.open.start_pos or 0, offset)
    if reading.open.type != "COMMENT":
        begun, proposals = _in_string(span, reading)
    elif name := _ALLOWING.match(span.text):
        checks = [Completion(each.name, Kind.EnumMember, each.summary, each.manual) for each in CHECKS]
        begun, proposals = name["word"], checks
    else:
        unfinished_word = _COMMENT_WORD.match(span.text)
        begun, proposals = (unfinished_word["word"], _ALLOWANCES) if unfinished_word else _NOTHING
    return Span(source, offset - len(begun), offset), proposals


def _at_word(before: Unfinished, span: Span, targets: Iterable[str]) -> Iterator[Completion]:
    last = before.begun[-1].type if before.begun else ""
    if before.where is Where.HEADER and last == "TARGET":
        yield from (Completion(name, Kind.Module, "target") for name in dict.fromkeys(targets))
    elif last == "METHOD":
        yield from (Completion(method, Kind.Value) for method in METHODS)
    filled = _FILLED.match(span.source.text, span.end)
    for terminal, (detail, snippet) in _WORDS["keywords"].items():
        if terminal in before.accepts:
            # The snippets of these two are those of statements.
            is_bare = filled or (before.where is Where.TEST and terminal in {"REDIRECT", "GONE"})
            yield Completion(KEYWORDS[terminal], Kind.Keyword, detail, snippet="" if is_bare else snippet)
    arrow = _BEFORE_ARROW.match(span.source.text, span.end)
    if "ARROW" in before.accepts and span.start == span.end and not arrow:
        yield Completion("->", Kind.Keyword)


def _in_string(string: Span, reading: Unfinished) -> _Proposals:
    """Returns the completions at the end of an open string; only a template has some."""
    kinds = [token.type for token in reading.begun]
    if reading.where is not Where.REWRITE or "ARROW" not in kinds:
        return _NOTHING
    dialect = {"JINJA": Dialect.JINJA, "GO": Dialect.GO}.get(kinds[-1], Dialect.PLAIN)
    if dialect is Dialect.PLAIN and kinds[-1] != "ARROW":
        return _NOTHING
    text = string.text[1:].replace('\\"', '"') if string.text[0] == '"' else string.text[1:]
    pattern, _ = literal(string.source, reading.begun[kinds.index("ARROW") - 1])
    names = group_names(pattern.value)
    is_open = _OPEN_BRACE.search(text) and not _BEFORE_BRACE.match(string.source.text, string.end)
    if dialect is Dialect.PLAIN and is_open:
        names = [f"{name}}}" for name in names]
    return _in_template(dialect, text, names)


def group_names(source: str) -> Sequence[str]:
    """Returns the names of the groups of a source, or numbers of groups without a name."""
    try:
        names = parse(source).names
    except PatternError:
        # Only these are certain in an unfinished source.
        return list(dict.fromkeys(_NAMED.findall(source)))
    return list(dict.fromkeys(name or str(number) for number, name in enumerate(names, start=1)))


EXPRESSIONS: Mapping[str, Mapping[str, str]] = _WORDS["expressions"]
"""The words for parts of expressions, by their kind."""

BY_DIALECT: Mapping[Dialect, Mapping[str, str]] = {each: _WORDS.get(each.value, {}) for each in Dialect}
"""The variables of each dialect, with their descriptions."""


def fields(dialect: Dialect, path: str) -> Iterator[tuple[str, str]]:
    """Yields the fields of the variable at a path, or all variables for an empty path, each with its description."""
    for each, words in BY_DIALECT[dialect].items():
        parent, _, name = each.rpartition(".")
        if parent == path:
            yield name, words
