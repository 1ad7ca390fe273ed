"""Keys, and the compiled form of rule files: rewrites, rule sets and their tests, and how both may fail."""

from __future__ import annotations

import re
import typing
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import InitVar, dataclass, field
from functools import lru_cache, partial
from typing import ClassVar, NewType
from urllib.parse import unquote

import msgspec

from gotemplate.regexp.matching import Captures, FirstMatch, Pattern
from gotemplate.template.errors import RenderError, unmarked
from tornado_proxy.rules import tree
from tornado_proxy.rules.diagnostic import Diagnostic, SourceFile, Span
from tornado_proxy.rules.limits import FOLDED_KEPT, LONGEST_OBJECT_KEY
from tornado_proxy.rules.parser import Parsed
from tornado_proxy.semantics.request import READING, Request, RequestPath, StatusError, User
from tornado_proxy.templates.template import (
    MissingUserError,
    MissingValueError,
    TargetData,
    TargetKeyRewriteData,
    Template,
)

Key = NewType("Key", str)  # the decoded path below the mount, starting with `/`, which rules get and produce

# The C0 and C1 controls and DEL: none can be typed, each can split a header or a log line.
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_DOT_SEGMENT = r"(?:^|/)\.\.?(?:/|$)"
_SURROGATE = r"[\ud800-\udfff]"

_ANY = re.compile(f"{_CONTROL}|{_DOT_SEGMENT}|{_SURROGATE}")


def objection(text: str) -> str | None:
    """Returns why a text cannot be a key, as a fact without a full stop; None if it can."""
    reason = path_objection(text)
    if reason is None and len(text.encode()) > LONGEST_OBJECT_KEY + 1:
        return f"is longer than {LONGEST_OBJECT_KEY} bytes"
    return reason


def path_objection(text: str) -> str | None:
    """Returns why a text of any length cannot be a path; None if it can."""
    # Most texts are keys, which these tests show in a tenth of the time; controls and surrogates are not printable.
    if (text.isprintable() and "/." not in text and text[:1] != ".") or not _ANY.search(text):
        return None
    if re.search(_CONTROL, text):
        return "contains a control character"
    if re.search(_DOT_SEGMENT, text):
        return "contains a `.` or `..` segment"
    return "is not valid Unicode"


def segment_objection(name: str) -> str | None:
    """Returns why a text cannot be one segment of a path, such as a file's or a user's name; None if it can."""
    if not name:
        return "is empty"
    return "contains a `/`" if "/" in name else path_objection(name)


TRIED_PATH = "$path"
"""The requested key without its closing slash, in `tryFiles` of a target."""


def tried_keys(key: str, templates: Iterable[str]) -> Iterator[tuple[str, Key]]:
    """Yields the templates of `tryFiles` with what they make of a key; an ending of the root names nothing."""
    for template in templates:
        tried = Key(template.replace(TRIED_PATH, key.removesuffix("/")))
        if tried.startswith("/") and not path_objection(tried):
            yield template, tried


KeyFolding = typing.Literal["emptySegments", "backslashes", "case", "unicode", "trailingDots"]
"""A difference between keys that a store does not see."""

_FOLDINGS: dict[KeyFolding, Callable[[str], str]] = {
    "backslashes": lambda path: path.replace("\\", "/"),
    "case": str.casefold,
    "unicode": partial(unicodedata.normalize, "NFKC"),
    # Of a segment that has nothing else, they are no ending.
    "trailingDots": partial(re.compile(r"(?<![/. ])[. ]+(?=/|\Z)").sub, ""),
    "emptySegments": partial(re.compile("//+").sub, "/"),
}

_ONLY_DOTS = re.compile(r"/[. ]+(?:/|\Z)")


@lru_cache(FOLDED_KEPT)  # a request asks for its path and its key several times
def fold(path: str, folding: tuple[KeyFolding, ...]) -> str:
    """Returns a path as a store reads it."""
    for name, folded in _FOLDINGS.items():
        if name in folding:
            path = folded(path)
    return path


def fold_objection(path: str, folding: tuple[KeyFolding, ...]) -> str | None:
    r"""Returns why a path cannot be a key once it is folded, such as `/a\..\b`; None if it can."""
    folded = fold(path, folding)
    if "trailingDots" in folding and _ONLY_DOTS.search(folded):
        return "has a segment of dots and spaces only"
    if f"{folded}/".startswith("/.sgwtmp/"):
        # Of uploads that are not complete, whatever their paths: it lists, reads and removes them there.
        return "is where versitygw keeps the parts of uploads"
    return None if folded == path else path_objection(folded)


# RFC 3986 3.2.2, with the port and an address's brackets, and without the comma, which separates joined headers.
_STRANGE = r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+;=:\[\]%-]"


def host_objection(text: str) -> str | None:
    """Returns why a text cannot be a host, as a fact without a full stop; None if it can."""
    character = re.search(_STRANGE, text)
    if character is None:
        return None
    return f"contains `{character[0]}`" if character[0].isprintable() else "contains a control character"


class RewriteError(StatusError):
    """A key that could not be rewritten, or led elsewhere; the text says why."""

    def __init__(self, message: str, rewrite: Rewrite) -> None:
        super().__init__(message)
        self.rewrite = rewrite


class InvalidResult(RewriteError):
    """The template's result cannot be a key or a location; `result` is the text that was refused."""

    status = 400  # the client chose what the template inserted

    def __init__(self, message: str, rewrite: Rewrite, result: str) -> None:
        super().__init__(message, rewrite)
        self.result = result


class UserRequired(RewriteError):
    """The template reads from the user, but nobody is signed in."""

    status = 403


class ValueRequired(RewriteError):
    """The template reads a header or a query parameter that the client did not send."""

    status = 400
    public_message = "The request lacks a header or a parameter that this address needs"


class TemplateFailed(RewriteError):
    """The template failed: an undefined name, a limit, an error that it raised itself."""

    status = 500


Making = tuple[str, tree.Dialect, str, tuple[str, ...]]
"""All that a result is made of: kind and source, dialect, template, and the helpers of a Go template."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An ordered pair of source pattern and target template; `number` counts from 1 within its target.

    One of another kind than `rewrite` answers a request instead of changing its key.
    """

    number: int
    name: str | None
    pattern: Pattern
    dialect: tree.Dialect
    template: Template
    statement: tree.RewriteStatement = field(repr=False)  # compared: it has the kind, and the words of a redirect

    @property
    def span(self) -> Span:
        """Its place in the rule file."""
        return self.statement.span

    @property
    def label(self) -> str:
        """Its name or number, as in logs, metrics and `explain`."""
        return self.name or f"#{self.number}"

    @property
    def kind(self) -> tree.RuleKind:
        """What it does with a key."""
        return self.statement.kind

    @property
    def source_text(self) -> str:
        """The source as written."""
        return self.pattern.text

    @property
    def result_text(self) -> str:
        """The template as written."""
        return self.template.text

    @property
    def making(self) -> Making:
        """All that its results depend on; its name and its place are not among it."""
        words = "" if self.kind is tree.RuleKind.REWRITE else f"{self.kind.value} {self.statement.redirecting} "
        return words + self.pattern.text, self.dialect, self.template.text, getattr(self.template, "helpers", ())


@dataclass(frozen=True, slots=True)
class AddressList:
    """Exact addresses, and where each leads: to a location, or in a list of rewrites to a key."""

    number: int  # as a rewrite's
    statement: tree.ListStatement
    source: SourceFile = field(repr=False)
    # By address, in lower case where case does not count: the number of the line, the result, the status.
    lines: Mapping[str, tuple[int, str, int]] = field(repr=False)
    doubles: tuple[tuple[int, int], ...] = ()  # numbers of lines without effect, with that of the line before

    name: ClassVar[None] = None
    dialect: ClassVar[tree.Dialect] = tree.Dialect.PLAIN
    result_text: ClassVar[str] = ""

    @property
    def label(self) -> str:
        """The name of the file, as in logs, metrics and `explain`."""
        return self.statement.file.value

    @property
    def span(self) -> Span:
        """The place of its statement."""
        return self.statement.span

    @property
    def kind(self) -> tree.RuleKind:
        """What it does with a key."""
        return self.statement.kind

    @property
    def source_text(self) -> str:
        """What it takes."""
        return self.label

    @property
    def making(self) -> Making:
        """All that its results depend on."""
        words = f"{self.kind.value} {self.statement.redirecting} {self.statement.any_case} {self.label}"
        return words, self.dialect, self.source.text, ()

    def find(self, key: str) -> ListedAddress | None:
        """Returns the line that takes a key."""
        line = self.lines.get(key.casefold() if self.statement.any_case else key)
        return ListedAddress(self, *line) if line else None

    def __iter__(self) -> Iterator[tuple[str, ListedAddress]]:
        """Yields each address with its line."""
        return ((address, ListedAddress(self, *line)) for address, line in self.lines.items())


class ListedAddress(msgspec.Struct, frozen=True):
    """A line of a list; it is counted and named as its list."""

    within: AddressList
    line: int
    result_text: str
    status: int

    name: ClassVar[None] = None
    dialect: ClassVar[tree.Dialect] = tree.Dialect.PLAIN

    @property
    def number(self) -> int:
        """The number of its list."""
        return self.within.number

    @property
    def label(self) -> str:
        """The label of its list."""
        return self.within.label

    @property
    def kind(self) -> tree.RuleKind:
        """What its list does with a key."""
        return self.within.kind

    @property
    def source_text(self) -> str:
        """What its list takes."""
        return self.within.label

    @property
    def making(self) -> Making:
        """All that its result depends on."""
        words = f"{self.kind.value} {self.within.statement.redirecting} {self.status}"
        return words, self.dialect, self.result_text, ()

    @property
    def span(self) -> Span:
        """Its place in the list."""
        return line_span(self.within.source, self.line)


def line_span(source: SourceFile, number: int) -> Span:
    """Returns the place of a line, from 1, without its end."""
    start = source.offset(number, 1)
    return Span(source, start, start + len(source.line(number).rstrip()))


Counted = Rewrite | AddressList
"""What stands in a list of rules."""

Rule = Rewrite | ListedAddress
"""What takes a key: a rewrite of any kind, or a line of a list."""


class Moved(msgspec.Struct, frozen=True):
    """The answer of a rule that is no rewrite: 410 without a location, or the status of a redirect."""

    status: int
    location: tree.RedirectLocation | None = None
    if_missing: bool = False  # only where nothing is at the key
    keeps_query: bool = True

    def __str__(self) -> str:
        return f"redirect {self.status} {self.location}" if self.location else "gone"


_GONE = Moved(410)


class Rewritten(msgspec.Struct, frozen=True):
    """The new key, and the rule that made it with captures and raw result; None if no rule takes the key.

    `moved` is the answer of a rule that is no rewrite, which leaves the key as it is.
    """

    key: Key
    rewrite: Rule | None = None
    captures: Captures | None = None
    result: str | None = None
    moved: Moved | None = None


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A compiled `test` statement: a request's key and data, and the expected result."""

    key: Key
    method: str
    user: User | None
    host: str
    headers: tuple[tuple[str, str], ...]
    expected: str | tree.Verdict | Moved
    statement: tree.TestStatement = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules of a target in order: the first that takes a key is applied, once. Automata of `before` are reused."""

    target: str
    rewrites: tuple[Rewrite, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    lists: tuple[AddressList, ...] = ()
    before: InitVar[FirstMatch | None] = None
    first_match: FirstMatch = field(init=False, repr=False, compare=False)

    def __post_init__(self, before: FirstMatch | None) -> None:
        object.__setattr__(self, "first_match", FirstMatch([each.pattern for each in self.rewrites], known=before))

    @property
    def counted(self) -> tuple[Counted, ...]:
        """All of them in order."""
        return tuple(sorted((*self.lists, *self.rewrites), key=lambda each: each.number))

    def take(self, key: str) -> tuple[Rule, Captures | None] | None:
        """Returns the rule that takes a key, and the captures of one with a source."""
        match = self.first_match.find(key)
        for each in self.lists:
            if (match is None or each.number < self.rewrites[match[0]].number) and (line := each.find(key)):
                return line, None
        return (self.rewrites[match[0]], match[1]) if match else None

    def taker(self, key: str) -> Rule | None:
        """Returns the rule that takes a key."""
        taken = self.take(key)
        return taken[0] if taken else None

    def rewrite(  # noqa: PLR0913 - a library's caller names what its templates read, and no more
        self,
        key: str,
        *,
        user: User | str | None = None,
        method: str = "GET",
        host: str = "",
        headers: tuple[tuple[str, str], ...] = (),
        target: TargetData | None = None,
    ) -> Rewritten:
        """Rewrites a decoded key, for callers that have no request; raises `RewriteError`."""
        request = Request(method=method, host=host, path=RequestPath(key), headers=headers)
        who = User(user) if isinstance(user, str) else user
        return self.apply(TargetKeyRewriteData(key, who, request, target or TargetData(name=self.target)))

    def apply(self, data: TargetKeyRewriteData) -> Rewritten:
        """Applies the rule that takes `data.key`, and checks its result; raises `RewriteError`."""
        taken = self.take(data.key)
        if taken is None:
            return Rewritten(Key(data.key))
        rule, captures = taken
        if rule.kind is tree.RuleKind.GONE:
            return Rewritten(Key(data.key), rule, captures, moved=_GONE)
        if captures is None:
            assert isinstance(rule, ListedAddress)
            if rule.kind is tree.RuleKind.REDIRECT:
                words = rule.within.statement.redirecting
                moved = Moved(rule.status, tree.read_location(rule.result_text), words.if_missing, words.keeps_query)
                return Rewritten(Key(data.key), rule, None, rule.result_text, moved)
            return Rewritten(_as_asked(rule.result_text, data), rule, None, rule.result_text)
        assert isinstance(rule, Rewrite)
        if rule.kind is tree.RuleKind.REDIRECT:
            text = _rendered(rule, captures, data, marked=True)
            moved, written = _moved(rule, text), unmarked(text)
            return Rewritten(Key(data.key), rule, captures, written, moved)
        text = _rendered(rule, captures, data)
        if not text:
            raise InvalidResult("the result is empty", rule, text)
        key = _as_asked(text if text.startswith("/") else f"/{text}", data)
        reason = objection(key)
        if reason is not None:
            raise InvalidResult(f"the result {reason}", rule, text)
        return Rewritten(key, rule, captures, text)


def _rendered(rewrite: Rewrite, captures: Captures, data: TargetKeyRewriteData, *, marked: bool = False) -> str:
    try:
        render = rewrite.template.render
        return render(captures, data, marked=True) if marked else render(captures, data)
    except MissingUserError as error:
        raise UserRequired(str(error), rewrite) from error
    except MissingValueError as error:
        raise ValueRequired(str(error), rewrite) from error
    except RenderError as error:
        raise TemplateFailed(str(error), rewrite) from error


def _as_asked(key: str, data: TargetKeyRewriteData) -> Key:
    """Returns the new key; a directory stays a directory: a listing of `/a` would show `/a-secret/` too."""
    is_file = data.key.endswith("/") and data.request.method in READING and not key.endswith("/")
    return Key(f"{key}/" if is_file else key)


def _moved(rule: Rewrite, text: str) -> Moved:
    """Returns the redirect of a rule with the marked result of its template; raises `InvalidResult`."""
    words, written = rule.statement.redirecting, unmarked(text)
    try:
        location = tree.read_location(text)
    except tree.NoLocation as error:
        raise InvalidResult(f"the result {error}", rule, written) from error
    if reason := path_objection(unquote(location.path)):
        raise InvalidResult(f"the result {reason}", rule, written)
    return Moved(words.status or tree.DEFAULT_STATUS, location, words.if_missing, words.keeps_query)


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Rule files together: rule sets are in the order of first blocks, `parsed` is to be reused after an edit."""

    documents: tuple[tree.Document, ...]
    rule_sets: Mapping[str, RuleSet]
    diagnostics: tuple[Diagnostic, ...] = ()
    parsed: tuple[Parsed, ...] = field(default=(), repr=False)

    def pieces(self) -> Iterator[object]:
        """Yields all that is many or large, to be freed one by one."""
        for document in self.documents:
            for block in document.blocks:
                yield from block.statements
        for rules in self.rule_sets.values():
            yield from (*rules.rewrites, *rules.tests, *rules.lists, *rules.first_match.sets, rules.first_match)
