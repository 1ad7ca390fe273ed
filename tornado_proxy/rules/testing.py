"""Rule tests: compiled from `test` statements, and evaluated against the rules of their target."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.tree import Literal, RequestClauses, TestStatement, Verdict
from tornado_proxy.rules.keys import Key, host_objection, objection, segment_objection
from tornado_proxy.rules.model import Rewrite, RewriteError, Rewritten, RuleSet, RuleTest
from tornado_proxy.templates.template import RequestData, TargetData, TargetKeyRewriteData, User

METHODS: Final = ("GET", "HEAD", "PUT", "DELETE")
"""The methods that act on objects; a test may name one of them."""

_ABSOLUTE = re.compile(r"https?://[^/?#]*(?P<path>/[^?#]*)?", re.IGNORECASE)


def compile_test(statement: TestStatement) -> RuleTest | tuple[Diagnostic, ...]:
    """The test of a statement, or its mistakes."""
    mistakes = tuple(_mistakes(statement))
    if mistakes:
        return mistakes
    clauses, expected = statement.clauses, statement.expected
    return RuleTest(
        key=Key(statement.key.value),
        method=clauses.method.value if clauses.method else "GET",
        user=_user(clauses),
        host=clauses.host.value if clauses.host else "",
        headers=tuple((name.value, value.value) for name, value in clauses.headers),
        expected=expected if isinstance(expected, Verdict) else expected.value,
        statement=statement,
    )


def _mistakes(statement: TestStatement) -> Iterator[Diagnostic]:
    yield from _key_mistakes(statement.key)
    if isinstance(statement.expected, Literal):
        yield from _key_mistakes(statement.expected, help="expect `error` where the result is refused")
    clauses = statement.clauses
    if clauses.method is not None:
        yield from _method_mistakes(clauses.method, statement.key)
    yield from _request_mistakes(clauses)


def _request_mistakes(clauses: RequestClauses) -> Iterator[Diagnostic]:
    user, host = clauses.user, clauses.host
    if user is not None and (reason := segment_objection(user.value)) is not None:
        message = f"`{user.value}` cannot sign in: the name {reason}"
        advice = "the service refuses such a name before it asks any rule; a name is one segment of a path"
        yield Diagnostic("bad-test", message, user.span, advice)
    if host is not None and (reason := host_objection(host.value)) is not None:
        advice = "the service refuses such a request before it asks any rule; a host is a name or an address"
        yield Diagnostic("bad-test", f"the host `{host.value}` {reason}", host.span, advice)
    for clause, literal in (("user-groups", clauses.user_groups), ("email", clauses.email)):
        if literal is not None and clauses.user is None:
            yield Diagnostic(
                "bad-test",
                f"`{clause}` says something of a user, but nobody is signed in",
                literal.span,
                help='name the user with `as "…"`',
            )


def _key_mistakes(key: Literal, help: str | None = None) -> Iterator[Diagnostic]:
    if not key.value.startswith("/"):
        address = _ABSOLUTE.match(key.value)
        advice = f'write "/{key.value}": a key is the path below the mount, with its leading slash'
        if address is not None:
            advice = f'write "{address["path"] or "/"}": a key is the path alone, without scheme, host and query'
        yield Diagnostic("bad-test", f"the key `{key.value}` does not begin with `/`", key.span, advice)
    elif (reason := objection(key.value)) is not None:
        yield Diagnostic("bad-test", f"the key {reason}", key.span, help=help)


def _method_mistakes(method: Literal, key: Literal) -> Iterator[Diagnostic]:
    if method.value not in METHODS:
        listed = ", ".join(f"`{each}`" for each in METHODS)
        yield Diagnostic("bad-test", f"unknown method `{method.value}`", method.span, help=f"use {listed}")
    elif method.value in ("PUT", "DELETE") and key.value.endswith("/"):
        yield Diagnostic(
            "bad-test",
            f"the key of a `{method.value}` ends in the file's name, not in `/`",
            key.span,
            help="add the name of the file",
        )


def _user(clauses: RequestClauses) -> User | None:
    """Who asks; one with an email or groups is what s3-proxy calls a header user."""
    if clauses.user is None:
        return None
    if clauses.user_groups is None and clauses.email is None:
        return User(clauses.user.value)
    listed = clauses.user_groups.value if clauses.user_groups else ""
    groups = tuple(group for each in listed.split(",") if (group := each.strip()))
    return User(clauses.user.value, "HEADER", clauses.email.value if clauses.email else "", groups)


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """A rule test and the result for its key: rewritten, unchanged, or the error."""

    __test__ = False  # the name is the language's, not pytest's

    test: RuleTest
    got: Rewritten | RewriteError

    @property
    def rewrite(self) -> Rewrite | None:
        """The rewrite that took the key; None where none matched."""
        return self.got.rewrite

    @property
    def passed(self) -> bool:
        """Whether what became of the key is what the test expects."""
        if isinstance(self.got, RewriteError):
            return self.test.expected is Verdict.ERROR
        if self.test.expected is Verdict.UNCHANGED:
            return self.got.rewrite is None
        return self.got.key == self.test.expected


def evaluate(rule_set: RuleSet, test: RuleTest, target: TargetData | None = None) -> TestOutcome:
    """Ask the rules of a target what its test asks; what a configuration says of the target is unknown without one."""
    known = target or TargetData(name=rule_set.target)
    # Templates see the whole path of a request; the key is what lies below the mount.
    mount = known.mount_paths[0].removesuffix("/") if known.mount_paths else ""
    request = RequestData(method=test.method, host=test.host, path=mount + test.key, headers=test.headers)
    try:
        return TestOutcome(test, rule_set.apply(TargetKeyRewriteData(test.key, test.user, request, known)))
    except RewriteError as error:
        return TestOutcome(test, error)
