"""The compiled form of rule files: rewrites, rule sets and their tests, all frozen, and how a rewrite may fail.

RewriteError
├── RefusedResult      the result is not a key: a dot segment, a control character, too long, empty   → 400
├── UserRequired       the template reads from the user where nobody is signed in                  → 403
└── TemplateFailed     any other failure of the template                                           → 500
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import InitVar, dataclass, field

from tornado_proxy.goregex.matching import Captures, FirstMatch, Pattern
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.source import Span
from tornado_proxy.lang.tree import Dialect, RewriteStatement, TestStatement, Verdict
from tornado_proxy.rules.keys import Key, objection
from tornado_proxy.templates.template import (
    MissingUserError,
    RenderError,
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    Template,
    User,
)


class RewriteError(Exception):
    """A key that could not be rewritten; names the rewrite, and says why."""

    def __init__(self, message: str, rewrite: Rewrite) -> None:
        super().__init__(message)
        self.rewrite = rewrite


class RefusedResult(RewriteError):
    """The template's result cannot be a key; `result` is the text that was refused."""

    def __init__(self, message: str, rewrite: Rewrite, result: str) -> None:
        super().__init__(message, rewrite)
        self.result = result


class UserRequired(RewriteError):
    """The template reads from the user where nobody is signed in."""


class TemplateFailed(RewriteError):
    """The template failed: an undefined name, a limit, an error that it raised itself."""


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
        """What logs, metrics and explain call it: its name, or its number."""
        return self.name or f"#{self.number}"


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of a key: the new key, and the rewrite that made it with its captures and its template's raw result.

    The three are None where no rewrite matched.
    """

    key: Key
    rewrite: Rewrite | None = None
    captures: Captures | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class RuleTest:
    """A compiled `test` statement: a request's key and data, and what it must become."""

    key: Key
    method: str
    user: User | None
    host: str
    headers: tuple[tuple[str, str], ...]
    expected: str | Verdict
    statement: TestStatement = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rewrites of one target in order, compiled; the first whose source matches decides, and is applied once.

    What can be found as one that is `known` finds it is taken over from there.
    """

    target: str
    rewrites: tuple[Rewrite, ...] = ()
    tests: tuple[RuleTest, ...] = ()
    known: InitVar[FirstMatch | None] = None
    first_match: FirstMatch = field(init=False, repr=False, compare=False)

    def __post_init__(self, known: FirstMatch | None) -> None:
        object.__setattr__(self, "first_match", FirstMatch([each.pattern for each in self.rewrites], known=known))

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
        """What becomes of a decoded key, for callers that have no request at hand; raises `RewriteError`."""
        request = RequestData(method=method, host=host, path=key, headers=headers)
        who = User(user) if isinstance(user, str) else user
        return self.apply(TargetKeyRewriteData(key, who, request, target or TargetData(name=self.target)))

    def apply(self, data: TargetKeyRewriteData) -> Rewritten:
        """What becomes of `data.key`, checked: the first rewrite's result, or the key itself; raises `RewriteError`."""
        found = self.render(data)
        if found is None:
            return Rewritten(Key(data.key))
        rewrite, captures, text = found
        return Rewritten(_checked(text, data, rewrite), rewrite, captures, text)

    def render(self, data: TargetKeyRewriteData) -> tuple[Rewrite, Captures, str] | None:
        """The first rewrite that matches, its captures and its raw result, unchecked; None where none matches."""
        match = self.first_match.find(data.key)
        if match is None:
            return None
        index, captures = match
        rewrite = self.rewrites[index]
        try:
            return rewrite, captures, rewrite.template.render(captures, data)
        except MissingUserError as error:
            raise UserRequired(str(error), rewrite) from error
        except RenderError as error:
            raise TemplateFailed(str(error), rewrite) from error


def _checked(text: str, data: TargetKeyRewriteData, rewrite: Rewrite) -> Key:
    if not text:
        raise RefusedResult("the result is empty", rewrite, text)
    key = text if text.startswith("/") else f"/{text}"
    # A directory stays one: the listing of `/a` would otherwise show `/a-secret/` too.
    if data.key.endswith("/") and data.request.method in ("GET", "HEAD") and not key.endswith("/"):
        key += "/"
    reason = objection(key)
    if reason is not None:
        raise RefusedResult(f"the result {reason}", rewrite, text)
    return Key(key)


@dataclass(frozen=True, slots=True)
class Compiled:
    """All rule sets by target name, in the order of their first blocks, and the diagnostics of the files."""

    rule_sets: Mapping[str, RuleSet]
    diagnostics: tuple[Diagnostic, ...] = ()
