"""The frozen syntax tree of one rule file, with its comments; tokens become names and strings, and texts again.

Spans, the form of strings and blank lines are fields of the nodes that are never compared: two documents are equal if
they have the same meaning. `blank_before` is whether a blank line is directly above; comments are above their node.

A document is printed in the one canonical layout. Each statement is on a line of its own, indented by four spaces. In a
*group* (consecutive statements of one kind, without a blank line or a comment between them) the arrows are aligned, and
so are names and dialects. Blank lines between statements are kept, one at most; one separates blocks.

A redirect leads to a *location*. What a template inserts stands between two marks, so that it can be told from the
rule's own words: only these name a scheme and a host, and begin a query or a fragment. Inserted texts are
percent-encoded (RFC 3986 2.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, assert_never
from urllib.parse import quote

import msgspec
from lark import Token

from gotemplate.template.errors import INSERTED, INSERTED_END
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span, padded, width
from tornado_proxy.rules.limits import WIDEST_HEAD


class Dialect(Enum):
    """The language of a template."""

    PLAIN = "plain"
    JINJA = "jinja"
    GO = "go"


class Verdict(Enum):
    """An expectation of a test other than a key."""

    UNCHANGED = "unchanged"
    ERROR = "error"
    GONE = "gone"


class RuleKind(Enum):
    """What a rule does with a key that its source takes."""

    REWRITE = "rewrite"  # changes it, unseen by the client
    REDIRECT = "redirect"  # answers with another address
    GONE = "gone"  # answers that there is nothing any more (RFC 9110 15.5.11)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its text from `#` to the end of the line, without trailing space."""

    text: str
    span: Span = field(compare=False, repr=False)
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A name or a string as written and as meant; `offsets` has the place of each code point, and of the end."""

    value: str
    span: Span = field(compare=False, repr=False)
    raw: bool = field(default=False, compare=False)  # written between backticks
    offsets: Sequence[int] = field(default=(), compare=False, repr=False)

    def at(self, start: int, end: int | None = None) -> Span:
        """The span in the file of a part of the value, by code-point offsets within it."""
        if not self.offsets:
            return self.span
        last = len(self.offsets) - 1
        first = self.offsets[min(start, last)]
        return Span(self.span.source, first, max(first, self.offsets[min(start if end is None else end, last)]))


REDIRECTS = {301: 308, 302: 307, 303: None, 307: 307, 308: 308}
"""The statuses of redirects (RFC 9110 15.4), each with the one by which a write keeps its method and body."""

DEFAULT_STATUS = 302
"""The status of a redirect that names none: a mistake in it can be taken back."""


class Redirecting(msgspec.Struct, frozen=True):
    """The words of a redirect beside its source and template."""

    status: int | None = None  # one of `REDIRECTS`; None stands for `DEFAULT_STATUS`
    if_missing: bool = False  # only where nothing is at the address
    keeps_query: bool = True  # that of the request is added, unless the result has one


NO_WORDS = Redirecting()


@dataclass(frozen=True, slots=True)
class RewriteStatement:
    """`rewrite [NAME] SOURCE -> [jinja|go] TEMPLATE`, or one of its kinds that answer instead.

    These are `redirect [if missing] [STATUS] [NAME] SOURCE -> [jinja|go] TEMPLATE [without query]` and
    `gone [NAME] SOURCE`, which has an empty template.
    """

    name: Literal | None
    source: Literal
    dialect: Dialect
    template: Literal
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # on lines of their own, above
    trailing: Comment | None = None  # at the end of the last line
    blank_before: bool = field(default=False, compare=False, repr=False)
    kind: RuleKind = RuleKind.REWRITE
    redirecting: Redirecting = NO_WORDS


@dataclass(frozen=True, slots=True)
class ListStatement:
    """`redirects [if missing] [STATUS] FILE [ignoring case] [without query]` or `rewrites FILE [ignoring case]`."""

    kind: RuleKind
    file: Literal
    any_case: bool
    redirecting: Redirecting
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()
    trailing: Comment | None = None
    blank_before: bool = field(default=False, compare=False, repr=False)


class RequestClauses(msgspec.Struct, frozen=True):
    """The clauses of a test about its request: `as`, `method`, `host`, `header` (repeated), `user-groups`, `email`."""

    user: Literal | None = None
    method: Literal | None = None
    host: Literal | None = None
    headers: tuple[tuple[Literal, Literal], ...] = ()
    user_groups: Literal | None = None
    email: Literal | None = None


class RedirectTo(msgspec.Struct, frozen=True):
    """An expectation of a test: a redirect, with its location below the mount or a URL."""

    location: Literal
    status: int | None = None  # as in a redirect


@dataclass(frozen=True, slots=True)
class TestStatement:
    """`test KEY [clauses] -> KEY | unchanged | error | gone | redirect [STATUS] LOCATION`."""

    __test__ = False  # the name is the language's, not pytest's

    key: Literal
    clauses: RequestClauses
    expected: Literal | Verdict | RedirectTo
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()
    trailing: Comment | None = None
    blank_before: bool = field(default=False, compare=False, repr=False)


Statement = RewriteStatement | ListStatement | TestStatement


@dataclass(frozen=True, slots=True)
class TargetBlock:
    """`target NAME { … }`."""

    name: Literal
    statements: tuple[Statement, ...]
    span: Span = field(compare=False, repr=False)
    comments: tuple[Comment, ...] = ()  # above the block
    opening: Comment | None = None  # behind `{`
    closing: tuple[Comment, ...] = ()  # on lines of their own, above `}`
    trailing: Comment | None = None  # behind `}`
    blank_before: bool = field(default=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Document:
    """One rule file: its blocks in order, and the comments after the last."""

    source: SourceFile = field(compare=False)
    blocks: tuple[TargetBlock, ...] = ()
    closing: tuple[Comment, ...] = ()


# A pair of surrogates first: it is one character.
_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.", re.DOTALL)
_MEANINGS = {"\\\\": "\\", '\\"': '"', "\\n": "\n", "\\t": "\t"}


def literal(source: SourceFile, token: Token) -> tuple[Literal, Diagnostic | None]:
    """Returns the literal of a NAME, STRING or RAW token, and a diagnostic for a string with an invalid escape."""
    start = token.start_pos or 0
    span = Span(source, start, start + len(token))
    if token.type == "NAME":
        return Literal(str(token), span, offsets=range(span.start, span.end + 1)), None
    inner, raw = token[1:-1], token.type == "RAW"
    if raw and "\r\n" in inner:
        # As in Go's raw strings: the value does not depend on the file's line ends.
        kept = [index for index, character in enumerate(inner) if inner[index : index + 2] != "\r\n"]
        offsets = (*(span.start + 1 + index for index in kept), span.end - 1)
        return Literal("".join(inner[index] for index in kept), span, raw=True, offsets=offsets), None
    if not raw and "\\" in inner:
        return _unescaped(inner, span), _bad_escape(inner, span)
    return Literal(inner, span, raw, range(span.start + 1, span.end)), None


def _unescaped(inner: str, span: Span) -> Literal:
    """Returns the value of a string with escapes; an invalid escape is kept."""
    value: list[str] = []
    offsets: list[int] = []
    end = 0
    for escape in _ESCAPE.finditer(inner):
        meaning = _meaning(escape.group())
        if meaning is not None:
            value += (inner[end : escape.start()], meaning)
            offsets += range(end, escape.start() + 1)
            end = escape.end()
    value.append(inner[end:])
    offsets += range(end, len(inner) + 1)
    return Literal("".join(value), span, offsets=tuple([span.start + 1 + offset for offset in offsets]))


def _meaning(escape: str) -> str | None:
    r"""The character of an escape; None for an invalid one: `\.`, too few digits, half of a surrogate pair."""
    if len(escape) == 2:
        return _MEANINGS.get(escape)
    units = bytes.fromhex(escape.replace("\\u", ""))
    try:
        return units.decode("utf-16-be")
    except UnicodeDecodeError:
        return None


def _bad_escape(inner: str, span: Span) -> Diagnostic | None:
    """Returns the diagnostic of the first bad escape; its help is for the whole string."""
    bad = next((each for each in _ESCAPE.finditer(inner) if _meaning(each.group()) is None), None)
    if bad is None:
        return None
    escape, message = bad.group(), f"invalid escape `{bad.group()}`"
    if escape[1].isdecimal():
        advice = f"write `${{{escape[1]}}}` in a plain template for what the group captured"
    elif escape.startswith("\\u"):
        advice = "write the character itself, or `\\uXXXX`; above U+FFFF it takes a pair, as in `\\uD83D\\uDE00`"
    elif "`" in inner:
        advice = f'write `\\{escape}`; a string knows `\\\\`, `\\"`, `\\n`, `\\t` and `\\uXXXX`'
    else:
        intended = inner.replace('\\"', '"')
        advice = f"write the string between backticks, where a backslash is literal: `{intended}`"
    return Diagnostic("bad-escape", message, span.part(1 + bad.start(), 1 + bad.end()), advice)


_NAME = re.compile(r"[A-Za-z_](?:[A-Za-z0-9_.]|-(?!>))*")
# Controls, spaces that are not the space, invisible marks; a fixed list, so that every Python prints the same.
_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\xa0\xad\u1680\u2000-\u200b\u200e\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff]"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_NOT_RAW = re.compile(r"[`\r]")


def name_text(name: Literal) -> str:
    """Returns a name as it is printed: without quotes if possible."""
    return name.value if _NAME.fullmatch(name.value) else _quoted(name.value)


def string_text(string: Literal) -> str:
    """Returns a string as it is printed: between backticks or quotes."""
    value = string.value
    needs_escapes = ("\\" in value or '"' in value) and not _INVISIBLE.search(value)
    is_raw = (string.raw or needs_escapes) and not _NOT_RAW.search(value)
    return f"`{value}`" if is_raw else _quoted(value)


def _quoted(value: str) -> str:
    escaped = "".join(_ESCAPES.get(character, character) for character in value)
    return '"' + _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", escaped) + '"'


_INDENT = " " * 4


def print_document(document: Document) -> str:
    """Returns the text of a document; it parses to an equal document, which is printed as the same text."""
    lines: list[str] = []
    for part in (*map(_block_lines, document.blocks), _comment_lines(document.closing, "", first=True)):
        written = [*part]
        lines += ["", *written] if lines and written else written
    return "".join(f"{line}\n" for line in lines)


def _block_lines(block: TargetBlock) -> Iterator[str]:
    yield from _above(block, "", first=True)
    head = f"target {name_text(block.name)} {{"
    if not (block.opening or block.statements or block.closing):
        yield _with_comment(f"{head}}}", block.trailing)
        return
    yield _with_comment(head, block.opening)
    for group in _groups(block.statements):
        yield from _above(group[0], _INDENT, first=group[0] is block.statements[0])
        for statement, line in zip(group, group_lines(group), strict=True):
            yield _with_comment(_INDENT + line, statement.trailing)
    yield from _comment_lines(block.closing, _INDENT, first=not block.statements)
    yield _with_comment("}", block.trailing)


def _groups(statements: Iterable[Statement]) -> list[list[Statement]]:
    groups: list[list[Statement]] = []
    for statement in statements:
        if not groups or statement.comments or statement.blank_before or _kind(statement) != _kind(groups[-1][-1]):
            groups.append([])
        groups[-1].append(statement)
    return groups


def _kind(statement: Statement) -> tuple[object, ...]:
    if isinstance(statement, TestStatement):
        return (TestStatement,)
    return type(statement), statement.kind, statement.redirecting.if_missing


def _above(node: Statement | TargetBlock, indent: str, *, first: bool) -> Iterator[str]:
    """Yields the comments and blank lines above a node; a file or block never begins with a blank line."""
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


class _Cells(NamedTuple):
    """The columns of a printed statement. A text that it lacks is empty; without a result, its arrow is left out."""

    keyword: str  # with what stands before the name
    name: str
    request: str  # the text before the arrow
    dialect: str = ""
    result: str = ""


def group_lines(group: Sequence[Statement]) -> list[str]:
    """The text of each statement of a group; a raw string may make it several lines."""
    rows = [_cells(statement) for statement in group]
    keywords, names, dialects = (_widest(row[each] for row in rows) for each in (0, 1, 3))
    heads = [f"{_column(row.keyword, keywords)}{_column(row.name, names)}{row.request}" for row in rows]
    arrow = _widest(head for head in heads if _is_aligned(head))
    return [
        f"{padded(head, arrow) if _is_aligned(head) else head} -> {_column(row.dialect, dialects)}{row.result}"
        if row.result
        else head
        for head, row in zip(heads, rows, strict=True)
    ]


def _cells(statement: Statement) -> _Cells:
    match statement:
        case RewriteStatement(name, source, dialect, template):
            # Behind `redirect`, a bare `if` would begin `if missing`.
            is_if = statement.kind is RuleKind.REDIRECT and name is not None and name.value == "if"
            named = '"if"' if is_if else name_text(name) if name else ""
            shown = named, string_text(source)
            if statement.kind is RuleKind.GONE:
                return _Cells(opening(statement), *shown)
            written_in = "" if dialect is Dialect.PLAIN else dialect.value
            result = f"{string_text(template)}{_without_query(statement.redirecting)}"
            return _Cells(opening(statement), *shown, written_in, result)
        case ListStatement(_, file, any_case, redirecting):
            words = f"{string_text(file)}{' ignoring case' if any_case else ''}{_without_query(redirecting)}"
            return _Cells(opening(statement), "", words)
        case TestStatement(key, clauses, expected):
            return _Cells("test", "", " ".join((string_text(key), *_clauses(clauses))), "", expected_text(expected))
        case _:
            assert_never(statement)


def opening(statement: RewriteStatement | ListStatement) -> str:
    """Returns the words that say what a rule does, such as `redirect if missing 301`."""
    missing, status = " if missing" if statement.redirecting.if_missing else "", statement.redirecting.status
    several = "s" if isinstance(statement, ListStatement) else ""
    return f"{statement.kind.value}{several}{missing}{f' {status}' if status else ''}"


def _without_query(redirecting: Redirecting) -> str:
    return "" if redirecting.keeps_query else " without query"


def expected_text(expected: Literal | Verdict | RedirectTo) -> str:
    """Returns what a test expects as it is printed."""
    match expected:
        case Verdict():
            return expected.value
        case RedirectTo(location, status):
            return f"redirect {f'{status} ' if status else ''}{string_text(location)}"
        case _:
            return string_text(expected)


def _clauses(clauses: RequestClauses) -> Iterator[str]:
    headers = [(f"header {string_text(name)}", value) for name, value in clauses.headers]
    before = [("as", clauses.user), ("method", clauses.method), ("host", clauses.host)]
    for words, literal in [*before, *headers, ("user-groups", clauses.user_groups), ("email", clauses.email)]:
        if literal:
            yield f"{words} {name_text(literal) if words == 'method' else string_text(literal)}"


def _widest(texts: Iterable[str]) -> int:
    return max(map(width, texts), default=0)


def _column(text: str, columns: int) -> str:
    """Returns a cell of a column with the space after it; the column may be absent."""
    return f"{padded(text, columns)} " if columns else ""


def _is_aligned(head: str) -> bool:
    return "\n" not in head and width(head) <= WIDEST_HEAD


_HOST = re.compile(
    r"https?://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|\Z)", re.IGNORECASE
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PIECE = re.compile(f"{INSERTED}([^{INSERTED}{INSERTED_END}]*){INSERTED_END}|([^{INSERTED}{INSERTED_END}]+)")
_PARTS = re.compile(r"([^?#]*)((?:\?[^#]*)?)(.*)")
# RFC 3986 2.2: what an author writes for what it means, and what of an inserted text means nothing in path and query.
_AS_WRITTEN, _AS_INSERTED = "/!$&'()*+,;=:@~?#[]%", "/!$()*,:=@~"
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

LEADS_TO = 'write a path below the mount, "/new/$1", or a URL, "https://example.org/new/$1"'
"""What an author does whose rule leads nowhere."""


class NoLocation(ValueError):
    """A text that leads nowhere; the message says why, as a fact about it."""


class RedirectLocation(msgspec.Struct, frozen=True):
    """Where a redirect leads, percent-encoded: `path` is below the mount, or a URL."""

    path: str
    query: str = ""  # with its `?`
    fragment: str = ""  # with its `#`

    @property
    def is_url(self) -> bool:
        """Whether it names a host."""
        return not self.path.startswith("/")

    def __str__(self) -> str:
        return f"{self.path}{self.query}{self.fragment}"


def read_location(text: str) -> RedirectLocation:
    """Returns where a text leads in which marks are around what is inserted; raises `NoLocation`."""
    own = text.partition(INSERTED)[0]
    if is_url := _SCHEME.match(own) is not None:
        if not own.lower().startswith(("http://", "https://")):
            raise NoLocation("is neither a path nor a URL of `http` or `https`")
        if not _HOST.match(text):
            raise NoLocation("does not name its host in the rule's own words")
    elif own.startswith("//"):
        raise NoLocation("begins with `//`, which would name a host")
    pieces = [*_PIECE.finditer(text)]
    if sum(len(each[0]) for each in pieces) != len(text):
        raise NoLocation("has what it inserts in disorder")
    encoded = "".join(
        quote(each[1], _AS_INSERTED, errors="replace")
        if each[2] is None
        else _BARE_PERCENT.sub("%25", quote(each[2], _AS_WRITTEN, errors="replace"))
        for each in pieces
    )
    if not is_url and not encoded.startswith("/"):
        encoded = f"/{encoded}"
    parts = _PARTS.fullmatch(encoded)
    assert parts is not None, "what ends a line is encoded"
    return RedirectLocation(*parts.groups())
