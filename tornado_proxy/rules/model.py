"""Keys, and the compiled form of rule files: rewrites, rule sets and their tests, and how both may fail."""

from __future__ import annotations

import re
import typing
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from typing import NewType

import msgspec

from gotemplate.regexp.matching import Captures, FirstMatch, Pattern
from gotemplate.template.errors import RenderError
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Span, shortened
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY, LONGEST_SHOWN_KEY
from tornado_proxy.rules.parser import Parsed
from tornado_proxy.rules.tree import Dialect, Document, Literal, RewriteStatement, TestStatement, Verdict, string_text
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


def fold(path: str, folding: Sequence[KeyFolding]) -> str:
    """Returns a path as a store reads it."""
    for name, folded in _FOLDINGS.items():
        if name in folding:
            path = folded(path)
    return path


def fold_objection(path: str, folding: Sequence[KeyFolding]) -> str | None:
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
    """A key that could not be rewritten; the text says why."""

    def __init__(self, message: str, rewrite: Rewrite) -> None:
        super().__init__(message)
        self.rewrite = rewrite


class InvalidResult(RewriteError):
    """The template's result cannot be a key; `result` is the text that was refused."""

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


Making = tuple[str, Dialect, str, tuple[str, ...]]
"""All that a pattern and a template are made of: source, dialect, template, and the helpers of a Go template."""


@dataclass(frozen=True, slots=True)
class Rewrite:
    """An ordered pair of source pattern and target template; `number` counts from 1 within its target."""

    number: int
    name: str | None
    pattern: Pattern
    dialect: Dialect
    template: Template
    statement: RewriteStatement = field(repr=False, compare=False)

    @property
    def span(self) -> Span:
        """Its place in the rule file."""
        return self.statement.span

    @property
    def label(self) -> str:
        """Its name or number, as in logs, metrics and `explain`."""
        return self.name or f"#{self.number}"

    @property
    def making(self) -> Making:
        """All that its results depend on; its name and its place are not among it."""
        return self.pattern.text, self.dialect, self.template.text, getattr(self.template, "helpers", ())


class Rewritten(msgspec.Struct, frozen=True):
    """The new key, and the rewrite that made it with captures and raw result; None if no rewrite matched."""

    key: Key
    rewrite: Rewrite | None = None
    captures: Captures | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A compiled `test` statement: a request's key and data, and the expected result."""

    key: Key
    method: str
    user: User | None
    host: str
    headers: tuple[tuple[str, str], ...]
    expected: str | Verdict
    statement: TestStatement = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rewrites of a target in order: the first that matches is applied, once. Automata of `before` are reused."""

    target: str
    rewrites: tuple[Rewrite, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    before: InitVar[FirstMatch | None] = None
    first_match: FirstMatch = field(init=False, repr=False, compare=False)

    def __post_init__(self, before: FirstMatch | None) -> None:
        object.__setattr__(self, "first_match", FirstMatch([each.pattern for each in self.rewrites], known=before))

    def taker(self, key: str) -> Rewrite | None:
        """Returns the rewrite that takes a key."""
        match = self.first_match.find(key)
        return self.rewrites[match[0]] if match else None

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
        """Rewrites `data.key` and checks the result; raises `RewriteError`."""
        match = self.first_match.find(data.key)
        if match is None:
            return Rewritten(Key(data.key))
        index, captures = match
        rewrite = self.rewrites[index]
        try:
            text = rewrite.template.render(captures, data)
        except MissingUserError as error:
            raise UserRequired(str(error), rewrite) from error
        except MissingValueError as error:
            raise ValueRequired(str(error), rewrite) from error
        except RenderError as error:
            raise TemplateFailed(str(error), rewrite) from error
        if not text:
            raise InvalidResult("the result is empty", rewrite, text)
        key = text if text.startswith("/") else f"/{text}"
        # A directory stays a directory: a listing of `/a` would show `/a-secret/` too.
        if data.key.endswith("/") and data.request.method in READING and not key.endswith("/"):
            key += "/"
        reason = objection(key)
        if reason is not None:
            raise InvalidResult(f"the result {reason}", rewrite, text)
        return Rewritten(Key(key), rewrite, captures, text)


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """Rule files together: rule sets are in the order of first blocks, `parsed` is to be reused after an edit."""

    documents: tuple[Document, ...]
    rule_sets: Mapping[str, RuleSet]
    diagnostics: tuple[Diagnostic, ...] = ()
    parsed: tuple[Parsed, ...] = field(default=(), repr=False)


class TestOutcome(msgspec.Struct, frozen=True):
    """A rule test and the result for its key: rewritten, unchanged, or the error."""

    __test__ = False  # the name is the language's, not pytest's

    test: RuleTest
    got: Rewritten | RewriteError

    @property
    def rewrite(self) -> Rewrite | None:
        """The rewrite that matched the key; None if none did."""
        return self.got.rewrite

    @property
    def passed(self) -> bool:
        """Whether the result is the expected one."""
        if isinstance(self.got, RewriteError):
            return self.test.expected is Verdict.ERROR
        if self.test.expected is Verdict.UNCHANGED:
            return self.got.rewrite is None
        return self.got.key == self.test.expected


def evaluate(rule_set: RuleSet, test: RuleTest, target: TargetData | None = None) -> TestOutcome:
    """Runs a test; without `target`, its templates see nothing of the configuration.

    A key that a target with `tryFiles` tries is as good as the first.
    """
    data = target or TargetData(name=rule_set.target)
    # Templates see the whole path of a request; the key is what lies below the mount.
    mount = data.mount_paths[0].removesuffix("/") if data.mount_paths else ""

    def outcome(key: Key) -> TestOutcome:
        request = Request(method=test.method, host=test.host, path=RequestPath(mount + key), headers=test.headers)
        try:
            return TestOutcome(test, rule_set.apply(TargetKeyRewriteData(key, test.user, request, data)))
        except RewriteError as error:
            return TestOutcome(test, error)

    first = outcome(test.key)
    if isinstance(first.got, RewriteError) or isinstance(test.expected, Verdict) or test.method not in READING:
        return first
    others = (outcome(key) for _, key in tried_keys(test.key, data.try_files))
    return first if first.passed else next((each for each in others if each.passed), first)


FAILING_TEST = "failing-test"
"""The code of a rule test that fails, in the linter and in the service."""


def failure(outcome: TestOutcome) -> Diagnostic:
    """Returns the diagnostic of a test that failed."""
    rewrite, statement, got = outcome.rewrite, outcome.test.statement, outcome.got
    notes = (Note(f"`{rewrite.label}` takes the key", rewrite.span),) if rewrite else ()
    advice = (
        f"change `{rewrite.label}`, or what the test expects" if rewrite else "write a rewrite for it, or expect that"
    )
    if isinstance(statement.expected, Literal):
        span = statement.expected.span
    else:
        source, start, end = statement.span.source, statement.span.start, statement.span.end
        span = Span(source, max(start, end - len(statement.expected.value)), end)
    key = _shown(outcome.test.key)
    if isinstance(got, RewriteError):
        fact, written = f"{key} is refused ({got})", Verdict.ERROR.value
    elif got.rewrite:
        fact, written = f"{key} becomes {_shown(got.key)}", string_text(Literal(got.key, span))
    else:
        fact, written = f"no rewrite matches {key}", Verdict.UNCHANGED.value
    fixes = (Fix("expect what happens", (Edit(span, written),), Safety.DISPLAY),) if span.text else ()
    return Diagnostic(FAILING_TEST, f"{fact}, {_expectation(outcome)}", span, advice, notes, fixes=fixes)


def _expectation(outcome: TestOutcome) -> str:
    match outcome.test.expected:
        case Verdict.UNCHANGED:
            return "but the test expects no rewrite to match"
        case Verdict.ERROR:
            return "but the test expects an error"
        case expected if outcome.rewrite and not isinstance(outcome.got, RewriteError):
            return f"not {_shown(expected)}"
        case expected:
            return f"but the test expects {_shown(expected)}"


def _shown(key: str) -> str:
    return f"`{shortened(key, LONGEST_SHOWN_KEY)}`"
