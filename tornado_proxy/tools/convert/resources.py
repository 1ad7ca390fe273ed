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
from tornado_proxy.tools.convert.options import Section
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import Outcome, Remarks
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


class _Reason(Exception):
    """Why a resource cannot be said here."""


def resources(
    target: Section, providers: Sequence[str], remarks: Remarks, *, head: bool
) -> tuple[bool, list[Resource]]:
    """Whether a target has resources at all, and those that are carried over; `head` where it answers HEAD."""
    done: list[Resource] = []
    missing: list[_LeftOut] = []
    sections = target.sections("resources")
    for section in sections:
        glob, methods = section.text("path"), [each.value for each in section.texts("methods")] or ["GET"]
        try:
            _check_apart(_LeftOut(glob, frozenset(methods)), missing)
            done.append(_resource(section, glob, methods, providers, remarks))
            message = f"{' and '.join(methods)} of `{glob}` as `{done[-1]['path']}`"
            remarks.add(Outcome.CARRIED, section.path, section.span, message)
            if head and "GET" in methods and "HEAD" not in methods:
                message = "HEAD is allowed with GET; s3-proxy asks for it by name"
                remarks.add(Outcome.CHANGED, f"{section.path}.methods", section.span, message)
            if "PUT" in methods and not glob.endswith("*"):
                message = f"an upload is asked about with its file's name too, which `{glob}` may not cover"
                remarks.add(Outcome.CHANGED, f"{section.path}.path", section.span, message)
        except _Reason as reason:
            section.settle()
            missing.append(_LeftOut(glob, frozenset(methods)))
            message = f"{' and '.join(methods)} of `{glob}` is closed to everyone: {reason}"
            remarks.add(Outcome.CLOSED, section.path, section.span, message)
    return bool(sections), done


def single_resource(section: Section, providers: Sequence[str], remarks: Remarks) -> Resource | None:
    """The resource of the page of all targets; None where it has no equivalent."""
    glob, methods = section.text("path"), [each.value for each in section.texts("methods")] or ["GET"]
    try:
        return _resource(section, glob, methods, providers, remarks)
    except _Reason as reason:
        section.settle()
        message = f"the page of all targets is closed to everyone: {reason}"
        remarks.add(Outcome.CLOSED, section.path, section.span, message)
        return None


def _check_apart(one: _LeftOut, missing: Sequence[_LeftOut]) -> None:
    """Raise `_Reason` if a resource may decide where one that is left out did."""
    if any(each.methods & one.methods and not apart(each.glob, one.glob) for each in missing):
        raise _Reason("it may cover requests of an earlier one that is left out")


def closed(mount: str, enabled: Sequence[str]) -> tuple[Resource, str]:
    """A resource that lets nobody use anything, since there is one, and the method that must be off for that.

    It speaks of a method that is not enabled, at a path that nobody asks for.
    """
    methods = ("DELETE", "PUT", "HEAD", "GET")
    off = next((each for each in methods if each not in enabled), "HEAD")
    return {"path": f"{mount}{CLOSED}", "methods": [off], "whiteList": True}, off


def _resource(
    section: Section, glob: str, methods: Sequence[str], providers: Sequence[str], remarks: Remarks
) -> Resource:
    here = glob_here(glob)
    who = _who(section, providers, remarks)
    unknown = set(methods) - {"GET", "HEAD", "PUT", "DELETE"}
    if here is None:
        raise _Reason(f"`{glob}` covers paths that no glob covers here, or is written as clients encode paths")
    if unknown:
        raise _Reason(f"there is no method `{min(unknown)}`")
    if stops_at_slashes(glob):
        message = f"`*` in `{glob}` stops at `/`, as in s3-proxy since April 2026; before, it went across"
        cure = "if yours is older, write `**`, and look at what comes after it"
        remarks.add(Outcome.CHANGED, f"{section.path}.path", section.place("path"), message, cure)
    return {"path": here, "methods": list(dict.fromkeys(methods)), **who}


def _who(section: Section, providers: Sequence[str], remarks: Remarks) -> Resource:
    """Who may; of several ways s3-proxy takes OIDC, then headers, then basic authentication, then anyone."""
    other = next((each for each in ("oidc", "header") if each in section), None)
    basic = section.section("basic")
    provider = section.text("provider")
    anyone = section.flag("whiteList")
    if other is not None:
        raise _Reason(f"there is no authentication by `{other}` yet")
    if basic is None:
        if anyone:
            return {"whiteList": True}
        raise _Reason("it says neither who may nor that anyone may")
    if provider not in providers:
        raise _Reason(f"the provider `{provider}` is none of `authProviders.basic`")
    users = _users(basic, remarks)
    if not users:
        raise _Reason("no user of it can sign in here")
    return {"provider": provider, "basic": {"credentials": users}}


def _users(basic: Section, remarks: Remarks) -> list[Setting]:
    users: dict[str, Setting] = {}
    for section in basic.sections("credentials"):
        name = section.text("user")
        secret = password(section.section("password"), remarks)
        reason = _objection(name, known=name in users, secret=secret)
        if reason is None and secret is not None:
            users[name] = {"user": name, "password": secret}
        else:
            remarks.add(Outcome.LEFT_OUT, section.path, section.span, f"the user `{name}` cannot sign in: {reason}")
    return list(users.values())


def _objection(name: str, *, known: bool, secret: Setting | None) -> str | None:
    try:
        values.user_name(name)
    except InvalidValue as misfit:
        return f"the name {misfit.message}"
    if known:
        return "the name is listed twice, and the first counts"
    return None if secret is not None else "there is no password"
