"""Templates that fail for people who need not sign in, or that let clients choose the directory of a key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from msgspec.structs import replace

from gotemplate.regexp.automaton import Budget, language
from gotemplate.regexp.proofs import Example, overlap
from tornado_proxy.config.model import Target
from tornado_proxy.lint.check import Category, LintFinding, check, shown
from tornado_proxy.lint.limits import MOST_NAMES_TRIED, OPEN_PATH_STEPS
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.routing.access import Access, Anyone, path_expression
from tornado_proxy.rules.diagnostic import Severity
from tornado_proxy.rules.model import RewriteError, UserRequired, ValueRequired
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import Request, RequestPath, User
from tornado_proxy.templates.template import TargetKeyRewriteData


@check(Category.SECURITY, Severity.WARNING, needs_configuration=True)
def missing_user(subject: Subject) -> Iterator[LintFinding]:
    """A template that reads the user, on a path that needs no sign-in."""
    budget = Budget(OPEN_PATH_STEPS)
    for rewrite, target, index in subject.rewrites:
        for request in islice(_refused(target, index, budget), 1):
            fact = f"this reads the user, but {shown(request)} needs no sign-in"
            advice = "protect the path with a resource that names a provider, or ask `if user` first"
            message = f"{fact}: without a user it is refused with 403"
            yield LintFinding(message, rewrite.statement.template.span, advice)


def _refused(target: TargetRules, index: int, budget: Budget) -> Iterator[str]:
    """Yields requests that need no sign-in and fail without a user, as `GET /path`."""
    configured = target.configured
    if configured is None or not target.rewrites[index].template.reads_user:
        return
    access = Access(configured.resources)
    for mount, key in _candidates(target, configured, index, budget):
        path = mount + key
        open_to = (m for m in configured.actions.methods if isinstance(access.guard(RequestPath(path), m), Anyone))
        for method in open_to:
            if target.taker(key) != index:
                continue
            try:
                request = Request(method, path=RequestPath(path))
                target.rule_set.apply(TargetKeyRewriteData(key, None, request, target.data))
            except RewriteError as error:
                if isinstance(error, UserRequired):  # an error that has no other reason
                    yield f"{method} {path}"


def _candidates(target: TargetRules, configured: Target, index: int, budget: Budget) -> Iterator[tuple[str, str]]:
    """Yields mounts, without their last slash, and keys below them that the rewrite may take."""
    keys = [target.example(index), *(test.key for test in target.rule_set.tests)]
    open_globs = [resource.path for resource in configured.resources if resource.white_list]
    text = target.rewrites[index].pattern.text
    is_anchored = text.startswith("^") and "|" not in text
    for mount in (path.rstrip("/") for path in configured.mount.paths):
        yield from ((mount, key) for key in keys if key)
        for glob in open_globs if is_anchored else ():
            paths = language(f"^{re.escape(mount)}{text[1:]}")
            answer = overlap(paths, language(path_expression(glob)), budget.portion())
            if isinstance(answer, Example):
                yield mount, answer.key[len(mount) :]


@check(Category.SECURITY, Severity.WARNING)
def missing_value(subject: Subject) -> Iterator[LintFinding]:
    """A template that reads a header or a query parameter, and fails for clients that send none."""
    for rewrite, target, index in subject.rewrites:
        tests = target.tested.get(rewrite.number, ())
        if rewrite.dialect is Dialect.PLAIN or any(isinstance(each.got, ValueRequired) for each in tests):
            continue  # such a test says that it is meant
        if (key := target.example(index)) is not None and (reason := _lacking(target, key)):
            message = f"{shown(key)} is refused with 400 if the client sends no value: {reason}"
            yield LintFinding(message, rewrite.statement.template.span, _DEFAULTS[rewrite.dialect])


_MEANT = "where refusing is meant, add a test that expects `error`"
_DEFAULTS = {
    Dialect.JINJA: f"write a default, such as `request.headers['x-team']|default('none')`; {_MEANT}",
    Dialect.GO: f'read it by `.Get "name"`, which is empty without one; {_MEANT}',
}


def _lacking(target: TargetRules, key: str) -> str | None:
    """Returns the error of a request that has no headers and no query; None without one."""
    for user in (None, _MEMBER):
        try:
            target.rule_set.apply(TargetKeyRewriteData(key, user, Request(path=RequestPath(key)), target.data))
        except ValueRequired as error:
            return str(error)
        except RewriteError:
            continue
    return None


_MEMBER = User("ann", email="ann@example.com", groups=("staff",), name="Ann", given_name="Ann", family_name="Lee")
_VALUE = "x/probe/value/y"
_INSERTED = "probe/value"
_QUOTED_OR_FIELD = re.compile(r"(?<=[\"'.])[A-Za-z][\w-]*")  # what may be the name of a header or of a query value
_HEADERS, _QUERY = re.compile(r"(?i)header|referer|useragent"), re.compile(r"(?i)query|formvalue|requesturi")
_EMAIL, _GROUPS = re.compile(r"(?i)(?:get)?email\b"), re.compile(r"(?i)(?:user\W{1,2}|get)groups\b")
_NAMES = re.compile(r"(?i)(?:user\W{1,2}|get|given_?|family_?)name\b")


@check(Category.SECURITY, Severity.WARNING)
def unsafe_insertion(subject: Subject) -> Iterator[LintFinding]:
    """A template that inserts a client's value, which may span several segments of the key."""
    for rewrite, target, index in subject.rewrites:
        key = target.example(index) if rewrite.dialect in _ADVICE else None
        if key is None:
            continue
        template, reported = rewrite.statement.template, set[str]()
        for what, place, request, user in _probes(template.value, key):
            if what not in reported and _INSERTED in str(target.result(key, request, user)).lower():
                reported.add(what)
                message = f"this inserts {what}: if it contains `/`, it spans several segments of the key"
                yield LintFinding(message, template.at(*place), _ADVICE[rewrite.dialect])


def _probes(text: str, key: str) -> Iterator[tuple[str, tuple[int, int], Request, User | None]]:
    """Yields values that a template may read, where, and a request and a user with a `/` in that value alone."""
    names = islice(_QUOTED_OR_FIELD.finditer(text), MOST_NAMES_TRIED)
    words = {word[0].lower(): word for word in reversed([*names])}
    plain = {"User-Agent" if word[0] == "UserAgent" else word[0]: "probe" for word in words.values()}
    user = User("ann", email="ann@example.com", groups=tuple(words), name="Ann", given_name="Ann", family_name="Lee")
    claims = (
        (_EMAIL, "an email address", replace(user, email=f"{_VALUE}@example.com")),
        (_GROUPS, "a group of the user", replace(user, groups=(_VALUE, *words))),
        (_NAMES, "a name of the user", replace(user, name=_VALUE, given_name=_VALUE, family_name=_VALUE)),
    )
    # A template may fail without the other values, or not read this one with them.
    for method, others in (("GET", {}), ("PUT", plain)):
        request = Request(method, path=RequestPath(key), headers=(*others.items(),), query=(*others.items(),))
        for name, word in zip(plain, words.values(), strict=True):
            values = (*{**others, name: _VALUE}.items(),)
            for who in (user, None):
                if _HEADERS.search(text):
                    yield f"the header `{name}`", word.span(), replace(request, headers=values), who
                if _QUERY.search(text):
                    asked = replace(request, raw_query="&".join(map("=".join, values)), query=values)
                    yield f"the query value `{name}`", word.span(), asked, who
        for mention, what, who in claims:
            if read := mention.search(text):
                yield what, read.span(), request, who


_ADVICE = {
    Dialect.JINJA: 'remove slashes with `| replace("/", "")`, or compare it with the values that you allow',
    Dialect.GO: 'remove slashes with `| replace "/" ""`, or compare it with the values that you allow',
}
