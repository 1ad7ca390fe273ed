"""Fixtures that make sites of rewrites, each a pair of a source and a template, and decide about requests to them."""

from dataclasses import dataclass

import pytest

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules.diagnostic import SourceFile, Span
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.rules.tree import Dialect, Literal, RewriteStatement
from tornado_proxy.semantics.request import METHODS, User
from tornado_proxy.templates.template import compile_plain

EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


@dataclass(frozen=True)
class ScriptedTemplate:
    """A template with a fixed or computed result, or one that fails."""

    outcome: object
    text: str = "scripted"
    group_references: tuple = ()
    reads_user: bool = False

    def render(self, captures, data):
        """Returns the scripted outcome, or raises it."""
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
def scripted_template():
    """A class of templates with a scripted result."""
    return ScriptedTemplate


@pytest.fixture(scope="session")
def make_rule_set():
    """Makes a rule set of rewrites, each a source with a plain template or a scripted one."""

    def build(*pairs):
        rewrites = tuple(_rewrite(number, *pair) for number, pair in enumerate(pairs, 1))
        return RuleSet("site", rewrites)

    return build


@pytest.fixture(scope="session")
def make_site(make_rule_set):
    """Makes a site of rewrites and a configuration, with all methods enabled unless `actions` disable them."""

    def build(*pairs, bucket=None, mount="/", actions=EVERYTHING, resources=()):
        target = Target("site", Mount("", (mount,)), bucket or Bucket("bucket"), actions, tuple(resources))
        return Site(target, make_rule_set(*pairs))

    return build


@pytest.fixture(scope="session")
def decide_request():
    """Decides about a request line; `user` names the user who signs in, if the site requires a sign-in."""

    def decide(site, request, user=None, file_name=None):
        method, address = request.split(" ", 1)
        return simulate(Mounts([site]), read_request(address, method), None if user is None else User(user), file_name)

    return decide


@pytest.fixture(scope="session")
def resources_for():
    """Makes resources that give one user access to everything, after a sign-in."""
    return lambda name: [Resource("/**", METHODS, provider="staff", users=(BasicUser(name, Secret("test", "x")),))]
