"""Converts resources, so that nothing is opened that s3-proxy keeps closed.

In both, the first resource that matches path and method decides, and where a target has resources and none matches,
nobody may make the request. So a resource that cannot be converted is left out together with every later one that may
match the same requests: those requests are closed to everyone.

s3-proxy matches globs (github.com/gobwas/glob, with `/` as separator) against the raw request line: percent-encoded,
with the query. Here a glob matches the decoded path. The two agree on globs of characters that clients send unencoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tornado_proxy.config import values
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.goregex.errors import PatternError
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.sign_in import KINDS, Providers, authorization
from tornado_proxy.tools.convert.values import password

_AS_SENT = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@/*-]*")
_DEEP = re.compile(r"/\*\*(?=/|$)")


def glob_here(glob: str) -> str | None:
    """The glob that covers the same paths here; None where there is none."""
    if not _AS_SENT.fullmatch(glob) or "***" in glob:
        return None
    # Here `/a/**` covers `/a` too, as a mount does; there it covers only what is below.
    return glob if glob == "/**" else _DEEP.sub("/*/**", glob)


def stops_at_slashes(glob: str) -> bool:
    """Whether a glob has a lone `*`, which in older versions of s3-proxy went across slashes."""
    return re.search(r"(?<!\*)\*(?!\*)", glob) is not None


def apart(one: str, other: str) -> bool:
    """Whether two globs, as s3-proxy reads them, certainly cover no path together: they begin differently."""
    first, second = _certain(one), _certain(other)
    return not (first.startswith(second) or second.startswith(first))


def _certain(glob: str) -> str:
    """What every path begins with that a glob covers, decoded or not."""
    found = re.match(r"[A-Za-z0-9._~/-]*", glob)
    assert found
    return found[0]


CLOSED = "closed-until-reviewed"

Resource = Mapping[str, Setting]


class _LeftOut(NamedTuple):
    glob: str
    methods: frozenset[str]


class _Unsayable(Exception):
    """A resource that cannot be said here; the text is the reason."""


def _check(section: Section, mounts: Sequence[str], providers: Providers) -> None:
    """Raises `Unreadable` where s3-proxy refuses a resource of something mounted at these paths."""
    objection = _objection_there(section, mounts, providers)
    if objection:
        raise refusal(section.span, f"`{section.path}` {objection}, so that s3-proxy does not start")


def _objection_there(section: Section, mounts: Sequence[str], providers: Providers) -> str | None:
    kinds = [kind for kind in KINDS if kind in section]
    name, anyone = section.text("provider"), section.flag("whiteList")
    unknown = sorted(set(_methods(section)) - {"GET", "HEAD", "PUT", "DELETE"})
    misfits = [kind for kind in kinds if name and (kind, name) not in providers.names]
    objections = {
        f"has the method `{''.join(unknown[:1])}`": unknown,
        "says neither who may nor that anyone may": not kinds and not anyone,
        "has no `provider`": not name and not anyone,
        f"has the provider `{name}`, which is not one of `authProviders`": name and name not in providers,
        f"has the provider `{name}`, which is not one of `authProviders.{''.join(misfits[:1])}`": misfits,
        "does not begin with a path of the mount": not any(section.text("path").startswith(each) for each in mounts),
    }
    return next((text for text, holds in objections.items() if holds), None)


def _methods(section: Section) -> list[str]:
    return [each.value for each in section.texts("methods")] or ["GET"]


def resources(target: Section, providers: Providers, remarks: Remarks, *, head: bool) -> tuple[bool, list[Resource]]:
    """Whether a target has resources at all, and those that are carried over; `head` where it answers HEAD."""
    done: list[Resource] = []
    missing: list[_LeftOut] = []
    sections = target.sections("resources")
    mount = target.section("mount")
    mounts = [each.value for each in mount.texts("path")] if mount else []
    for section in sections:
        glob, methods = section.text("path"), _methods(section)
        _check(section, mounts, providers)
        try:
            _check_apart(_LeftOut(glob, frozenset(methods)), missing)
            done.append(_resource(section, providers, remarks))
            message = f"{' and '.join(methods)} of `{glob}` as `{done[-1]['path']}`"
            remarks.add(OptionOutcome.CARRIED, section.path, section.span, message)
            if head and "GET" in methods and "HEAD" not in methods:
                message = "HEAD is allowed with GET; s3-proxy asks for it by name"
                remarks.add(OptionOutcome.CHANGED, f"{section.path}.methods", section.span, message)
            if "PUT" in methods and not glob.endswith("*"):
                message = f"an upload is asked about with its file's name too, which `{glob}` may not cover"
                remarks.add(OptionOutcome.CHANGED, f"{section.path}.path", section.span, message)
        except _Unsayable as reason:
            section.settle()
            missing.append(_LeftOut(glob, frozenset(methods)))
            message = f"{' and '.join(methods)} of `{glob}` is closed to everyone: {reason}"
            remarks.add(OptionOutcome.CLOSED, section.path, section.span, message)
    return bool(sections), done


def single_resource(section: Section, mounts: Sequence[str], providers: Providers, remarks: Remarks) -> Resource | None:
    """The resource of the page of all targets; None where it has no equivalent. Raises `Unreadable`."""
    _check(section, mounts, providers)
    try:
        return _resource(section, providers, remarks)
    except _Unsayable as reason:
        section.settle()
        message = f"the page of all targets is closed to everyone: {reason}"
        remarks.add(OptionOutcome.CLOSED, section.path, section.span, message)
        return None


def _check_apart(one: _LeftOut, missing: Sequence[_LeftOut]) -> None:
    """Raise `_Unsayable` if a resource may decide where one that is left out did."""
    if any(each.methods & one.methods and not apart(each.glob, one.glob) for each in missing):
        raise _Unsayable("it may cover requests of an earlier one that is left out")


def closed(mount: str, enabled: Sequence[str]) -> tuple[Resource, str]:
    """A resource that lets nobody use anything, since there is one, and the method that must be off for that.

    It speaks of a method that is not enabled, at a path that nobody asks for.
    """
    methods = ("DELETE", "PUT", "HEAD", "GET")
    off = next((each for each in methods if each not in enabled), "HEAD")
    return {"path": f"{mount}{CLOSED}", "methods": [off], "whiteList": True}, off


def _resource(section: Section, providers: Providers, remarks: Remarks) -> Resource:
    """The resource; raises `_Unsayable` and `Unreadable`."""
    glob = section.text("path")
    here = glob_here(glob)
    who = _who(section, providers, remarks)
    if here is None:
        raise _Unsayable(f"`{glob}` covers paths that no glob covers here, or is written as clients encode paths")
    if stops_at_slashes(glob):
        message = f"`*` in `{glob}` stops at `/`, as in s3-proxy since April 2026; before, it went across"
        cure = "if yours is older, write `**`, and look at what comes after it"
        remarks.add(OptionOutcome.CHANGED, f"{section.path}.path", section.place("path"), message, cure)
    return {"path": here, "methods": list(dict.fromkeys(_methods(section))), **who}


def _who(section: Section, providers: Providers, remarks: Remarks) -> Resource:
    """Who may; of several ways s3-proxy takes OIDC, then headers, then basic authentication, then anyone."""
    demands = next(((kind, found) for kind in KINDS if (found := section.section(kind))), None)
    provider = section.text("provider")
    if demands is None:
        if section.flag("whiteList"):
            return {"whiteList": True}
        raise _Unsayable("it says neither who may nor that anyone may")
    kind, demanded = demands
    name = providers.names.get((kind, provider))
    if name is None:
        raise _Unsayable(f"it names no provider of `authProviders.{kind}`")
    if kind != "basic":
        return {"provider": name, **_demanded(kind, demanded)}
    users = _users(demanded, remarks)
    if not users:
        raise _Unsayable("no user of it can sign in here")
    return {"provider": name, "basic": {"credentials": users}}


def _demanded(kind: str, section: Section) -> Resource:
    try:
        settings = authorization(section)
    except PatternError as error:
        raise _Unsayable(f"a rule's expression cannot be said here: {error}") from None
    return {kind: settings} if settings else {}


def _users(basic: Section, remarks: Remarks) -> list[Setting]:
    users: dict[str, Setting] = {}
    for section in basic.sections("credentials"):
        name = section.text("user")
        secret = password(section.section("password"), remarks)
        reason = _objection(name, known=name in users, secret=secret)
        if reason is None and secret is not None:
            users[name] = {"user": name, "password": secret}
        else:
            remarks.add(
                OptionOutcome.LEFT_OUT, section.path, section.span, f"the user `{name}` cannot sign in: {reason}"
            )
    return list(users.values())


def _objection(name: str, *, known: bool, secret: Setting | None) -> str | None:
    try:
        values.user_name(name)
    except InvalidValue as misfit:
        return f"the name {misfit.message}"
    if known:
        return "the name is listed twice, and the first counts"
    return None if secret is not None else "there is no password"
