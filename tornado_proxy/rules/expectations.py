"""The tests of rules: compiled, run, and told about where they fail."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from tornado_proxy.rules import model, tree
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Note, Safety, Span, shortened
from tornado_proxy.rules.limits import LONGEST_SHOWN_KEY
from tornado_proxy.semantics.request import METHODS, READING, WRITING, Request, RequestPath, User, groups_of
from tornado_proxy.templates.template import TargetData, TargetKeyRewriteData


def compile_test(statement: tree.TestStatement) -> model.RuleTest | tuple[Diagnostic, ...]:
    """Returns the test of a statement, or its mistakes."""
    mistakes = tuple(_mistakes(statement))
    if mistakes:
        return mistakes
    key, clauses, expected = model.Key(statement.key.value), statement.clauses, statement.expected
    method, host = clauses.method.value if clauses.method else "GET", clauses.host.value if clauses.host else ""
    headers = tuple((name.value, value.value) for name, value in clauses.headers)
    result: str | tree.Verdict | model.Moved
    match expected:
        case tree.RedirectTo(location, status):
            result = model.Moved(status or tree.DEFAULT_STATUS, tree.read_location(location.value))
        case tree.Literal(value):
            result = value
        case _:
            result = expected
    return model.RuleTest(key, method, _user(clauses), host, headers, result, statement)


def _mistakes(statement: tree.TestStatement) -> Iterator[Diagnostic]:
    yield from _key_mistakes(statement.key)
    if isinstance(statement.expected, tree.Literal):
        yield from _key_mistakes(statement.expected, help="expect `error` if the result is refused")
    if isinstance(statement.expected, tree.RedirectTo):
        yield from _location_mistakes(statement.expected.location)
    if statement.clauses.method is not None:
        method = statement.clauses.method
        if method.value not in METHODS:
            listed = ", ".join(f"`{each}`" for each in METHODS)
            yield Diagnostic("bad-test", f"unknown method `{method.value}`", method.span, help=f"use {listed}")
        elif method.value in WRITING and statement.key.value.endswith("/"):
            message = f"the key of a `{method.value}` ends with the name of a file, not with `/`"
            yield Diagnostic("bad-test", message, statement.key.span, "add the name of the file")
    user, host = statement.clauses.user, statement.clauses.host
    if user is not None and (reason := model.segment_objection(user.value)) is not None:
        name = f"`{user.value}`" if user.value else "this user"
        message = f"{name} cannot sign in: the name {reason}"
        advice = "the service refuses such a name before it looks at the rules; a name is one segment of a path"
        yield Diagnostic("bad-test", message, user.span, advice)
    if host is not None and (reason := model.host_objection(host.value)) is not None:
        advice = "the service refuses such a request before it looks at the rules; a host is a name or an address"
        yield Diagnostic("bad-test", f"the host `{host.value}` {reason}", host.span, advice)
    for clause, literal in (("user-groups", statement.clauses.user_groups), ("email", statement.clauses.email)):
        if literal is not None and user is None:
            message = f"`{clause}` describes a user, but nobody is signed in"
            yield Diagnostic("bad-test", message, literal.span, 'name the user with `as "…"`')


def _location_mistakes(location: tree.Literal) -> Iterator[Diagnostic]:
    try:
        tree.read_location(location.value)
    except tree.NoLocation as error:
        yield Diagnostic("bad-test", f"the location {error}", location.span, tree.LEADS_TO)


def _key_mistakes(key: tree.Literal, help: str | None = None) -> Iterator[Diagnostic]:
    if not key.value.startswith("/"):
        advice = f'write "/{key.value}": a key is the path below the mount, with its leading slash'
        if "://" in key.value:
            advice = "a key is the path below the mount, without scheme, host and query"
        yield Diagnostic("bad-test", f"the key `{key.value}` does not begin with `/`", key.span, advice)
    elif (reason := model.objection(key.value)) is not None:
        yield Diagnostic("bad-test", f"the key {reason}", key.span, help=help)


def _user(clauses: tree.RequestClauses) -> User | None:
    """Returns the user of a test; one with an email address or groups is what s3-proxy calls a header user."""
    if clauses.user is None:
        return None
    if clauses.user_groups is None and clauses.email is None:
        return User(clauses.user.value)
    groups = groups_of(clauses.user_groups.value) if clauses.user_groups else ()
    return User(clauses.user.value, "HEADER", clauses.email.value if clauses.email else "", groups)


class TestOutcome(msgspec.Struct, frozen=True):
    """A rule test and the result for its key: rewritten, unchanged, or the error."""

    __test__ = False  # the name is the language's, not pytest's

    test: model.RuleTest
    got: model.Rewritten | model.RewriteError

    @property
    def rewrite(self) -> model.Rule | None:
        """The rule that took the key; None if none did."""
        return self.got.rewrite

    @property
    def passed(self) -> bool:
        """Whether the result is the expected one."""
        if isinstance(self.got, model.RewriteError):
            return self.test.expected is tree.Verdict.ERROR
        if self.test.expected is tree.Verdict.UNCHANGED:
            return self.got.rewrite is None
        if self.test.expected is tree.Verdict.GONE:
            return self.got.moved is not None and self.got.moved.location is None
        if isinstance(expected := self.test.expected, model.Moved):
            moved = self.got.moved
            return moved is not None and (moved.status, moved.location) == (expected.status, expected.location)
        return self.got.moved is None and self.got.key == expected


def evaluate(rule_set: model.RuleSet, test: model.RuleTest, target: TargetData | None = None) -> TestOutcome:
    """Runs a test; without `target`, its templates see nothing of the configuration.

    A key that a target with `tryFiles` tries is as good as the first.
    """
    data = target or TargetData(name=rule_set.target)
    # Templates see the whole path of a request; the key is what lies below the mount.
    mount = data.mount_paths[0].removesuffix("/") if data.mount_paths else ""

    def outcome(key: model.Key) -> TestOutcome:
        request = Request(method=test.method, host=test.host, path=RequestPath(mount + key), headers=test.headers)
        try:
            return TestOutcome(test, rule_set.apply(TargetKeyRewriteData(key, test.user, request, data)))
        except model.RewriteError as error:
            return TestOutcome(test, error)

    first = outcome(test.key)
    if (
        isinstance(first.got, model.RewriteError)
        or isinstance(test.expected, tree.Verdict | model.Moved)
        or test.method not in READING
    ):
        return first
    others = (outcome(key) for _, key in model.tried_keys(test.key, data.try_files))
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
    span = _expected_span(statement)
    key = _shown(outcome.test.key)
    if isinstance(got, model.RewriteError):
        fact = f"{key} is refused ({got})"
    elif got.moved and got.moved.location:
        fact = f"{key} is redirected to {_shown(str(got.moved.location))} with {got.moved.status}"
    elif got.moved:
        fact = f"{key} is gone"
    else:
        fact = f"{key} becomes {_shown(got.key)}" if got.rewrite else f"no rewrite matches {key}"
    written = tree.expected_text(expectation(got, span))
    fixes = (Fix("expect what happens", (Edit(span, written),), Safety.DISPLAY),) if span.text else ()
    return Diagnostic(FAILING_TEST, f"{fact}, {_expectation(outcome)}", span, advice, notes, fixes=fixes)


def expectation(got: model.Rewritten | model.RewriteError, span: Span) -> tree.Literal | tree.Verdict | tree.RedirectTo:
    """Returns what a test expects that passes with a result; its literals stand at `span`."""
    if isinstance(got, model.RewriteError):
        return tree.Verdict.ERROR
    if got.moved and got.moved.location:
        return tree.RedirectTo(tree.Literal(str(got.moved.location), span), got.moved.status)
    if got.moved:
        return tree.Verdict.GONE
    return tree.Literal(got.key, span) if got.rewrite else tree.Verdict.UNCHANGED


def _expected_span(statement: tree.TestStatement) -> Span:
    """Returns the place of what a test expects: at its end."""
    source, start, end = statement.span.source, statement.span.start, statement.span.end
    expected = statement.expected
    if isinstance(expected, tree.Literal):
        return expected.span
    if isinstance(expected, tree.RedirectTo):
        place = expected.location.span
        return Span(source, source.text.rfind("redirect", start, place.start), place.end)
    return Span(source, max(start, end - len(expected.value)), end)


def _expectation(outcome: TestOutcome) -> str:
    match outcome.test.expected:
        case tree.Verdict.UNCHANGED:
            return "but the test expects no rewrite to match"
        case tree.Verdict.ERROR:
            return "but the test expects an error"
        case tree.Verdict.GONE | model.Moved() as expected:
            words = expected.value if isinstance(expected, tree.Verdict) else f"{expected}"
            return f"but the test expects `{shortened(words, LONGEST_SHOWN_KEY)}`"
        case expected if isinstance(outcome.got, model.Rewritten) and outcome.got.rewrite and not outcome.got.moved:
            return f"not {_shown(expected)}"
        case expected:
            return f"but the test expects {_shown(expected)}"


def _shown(key: str) -> str:
    return f"`{shortened(key, LONGEST_SHOWN_KEY)}`"
