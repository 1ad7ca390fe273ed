"""Sites made of pairs: a source expression and a plain template, or what a template is scripted to do."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.lang.diagnostic import SourceFile, Span
from tornado_proxy.lang.tree import Dialect, Literal, RewriteStatement
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules.model import METHODS, Rewrite, RuleSet
from tornado_proxy.templates.template import User, compile_plain

EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


@dataclass(frozen=True)
class Scripted:
    """A template with a fixed or computed result, or one that fails."""

    outcome: object
    text: str = "scripted"
    group_references: tuple = ()
    reads_user: bool = False

    def render(self, captures, data):
        """What was scripted."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome(data) if callable(self.outcome) else self.outcome


def _rewrite(number, source, target):
    pattern = compile_pattern(source)
    file = SourceFile("site.rules", f"rewrite `{source}` -> …")
    span = Span(file, 0, len(file.text))
    if isinstance(target, str):
        template, dialect = compile_plain(target), Dialect.PLAIN
    else:
        template, dialect = target, Dialect.JINJA
    statement = RewriteStatement(None, Literal(source, span), dialect, Literal(template.text, span), span)
    return Rewrite(number, None, pattern, dialect, template, statement)


@pytest.fixture(scope="session")
def scripted():
    """A template with a scripted result."""
    return Scripted


@pytest.fixture(scope="session")
def rule_set():
    """A rule set of pairs."""

    def build(*pairs):
        rewrites = tuple(_rewrite(number, *pair) for number, pair in enumerate(pairs, 1))
        return RuleSet("site", rewrites)

    return build


@pytest.fixture(scope="session")
def site(rule_set):
    """A site of rewrites and a configuration; every method is enabled unless `actions` say otherwise."""

    def build(*pairs, bucket=None, mount="/", actions=EVERYTHING, resources=()):
        target = Target("site", Mount("", (mount,)), bucket or Bucket("bucket"), actions, tuple(resources))
        return Site(target, rule_set(*pairs))

    return build


@pytest.fixture(scope="session")
def decided():
    """The decision about a request for a raw path and query; a user that is named signs in, if the site asks."""

    def decide(site, request, user=None, file_name=None):
        method, address = request.split(" ", 1)
        return simulate(Mounts([site]), read_request(address, method), None if user is None else User(user), file_name)

    return decide


@pytest.fixture(scope="session")
def signed_in():
    """Resources that let one user use everything, once signed in."""
    return lambda name: [Resource("/**", METHODS, provider="staff", users=(BasicUser(name, Secret("test", "x")),))]
