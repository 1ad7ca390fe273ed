"""Converts resources, and the providers that users sign in with."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from tornado_proxy.config import values
from tornado_proxy.config.providers import SHORTEST_KEY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.tools.convert.options import OptionOutcome, Section, password, reference, refusal
from tornado_proxy.tools.convert.output import Setting

KINDS = ("oidc", "header", "basic")
"""The kinds of providers, in the order in which s3-proxy takes what a resource demands."""

PRIVATE_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Networks of which nothing arrives from the Internet (RFC 1918, RFC 4193): where a proxy in front mostly is."""


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers by kind and name here, and their names by kind and name in s3-proxy."""

    settings: Mapping[str, Mapping[str, Setting]]
    names: Mapping[tuple[str, str], str]

    def __contains__(self, name: object) -> bool:
        return any((kind, name) in self.names for kind in KINDS)


def providers(root: Section, new_key: Callable[[], str]) -> Providers:
    """The ways to sign in; `new_key` makes the secret of sessions that have none.

    In s3-proxy a name counts within its kind only; here, a second one of that name gets its kind behind it.
    """
    making = _Making(new_key)
    section = root.section("authProviders")
    settings: dict[str, dict[str, Setting]] = {}
    names: dict[tuple[str, str], str] = {}
    for kind in ("basic", "oidc", "header"):
        part = section.section(kind) if section else None
        for name, each in part.named() if part else ():
            here = f"{name}-{kind}" if name in names.values() else name
            names[kind, name] = here
            settings.setdefault(kind, {})[here] = making.provider(kind, name, each)
            if here != name:
                each.remark(OptionOutcome.ADAPTED, "", f"another provider is called `{name}`: it is `{here}`")
    return Providers(settings, names)


@dataclass(frozen=True, slots=True)
class _Making:
    new_key: Callable[[], str] = field(repr=False)

    def provider(self, kind: str, name: str, section: Section) -> Setting:
        match kind:
            case "oidc":
                return self._oidc(name, section)
            case "header":
                return _header(section)
            case _:
                return {"realm": section.text("realm") or name}

    def _oidc(self, name: str, section: Section) -> Setting:
        settings: dict[str, Setting] = {"issuerUrl": _required(section, "issuerUrl", values.http_url)}
        settings["clientID"] = _required(section, "clientID", values.line)
        secret = reference(section.section("clientSecret"))
        if secret is not None:
            settings["clientSecret"] = secret
        self._add_key(secret, section, settings)
        if ":" in section.text("state"):
            raise refusal(section.place("state"), "`state` holds a `:`, so that s3-proxy does not start")
        for option in ("groupClaim", "cookieName"):
            if text := section.text(option):
                settings[option] = text
        for option in ("scopes", "cookieDomains"):
            if texts := [each.value for each in section.texts(option)]:
                settings[option] = texts
        for option in ("emailVerified", "cookieSecure"):
            if section.flag(option):
                settings[option] = True
        return settings | _pages(name, section)

    def _add_key(self, secret: Setting | None, section: Section, settings: dict[str, Setting]) -> None:
        """The key of sessions, where the client's secret is none: s3-proxy encrypts nothing."""
        written = str(secret.get("value", "")) if isinstance(secret, Mapping) else ""
        if secret is not None and (not written or len(written) >= SHORTEST_KEY):
            return
        settings["sessionKey"] = {"value": self.new_key()}
        why = "`clientSecret` is too short for a key" if written else "there is no `clientSecret`"
        message = f"sessions are encrypted with a `sessionKey` that was made at random, since {why}"
        advice = "keep it elsewhere, such as `sessionKey: {env: NAME}`"
        section.remark(OptionOutcome.ADAPTED, "clientSecret", message, advice)


def _pages(name: str, section: Section) -> dict[str, Setting]:
    """The provider's pages: s3-proxy puts the path of `redirectUrl` in front of the callback's."""
    login = section.text("loginPath") or f"/auth/{name}"
    callback = section.text("callbackPath") or f"/auth/{name}/callback"
    pages: dict[str, Setting] = {}
    if url := section.text("redirectUrl"):
        parts = urlsplit(_required(section, "redirectUrl", values.http_url))
        callback = posixpath.normpath(posixpath.join("/", parts.path, callback.lstrip("/")))
        pages["redirectUrl"] = url if parts.path in ("", "/") else f"{parts.scheme}://{parts.netloc}"
    if "/" in (login, callback) or login == callback:
        message = f"`{login}` and `{callback}` cannot be the pages of a login, so that s3-proxy does not start"
        raise refusal(section.span, message)
    try:
        return pages | {"loginPath": values.page_path(login), "callbackPath": values.page_path(callback)}
    except InvalidValue as misfit:
        raise refusal(section.span, f"a page of `{section.path}` {misfit.message}", misfit.help) from None


def _header(section: Section) -> Setting:
    settings: dict[str, Setting] = {
        option: _required(section, option, values.header_name) for option in ("usernameHeader", "emailHeader")
    }
    if section.text("groupsHeader"):
        settings["groupsHeader"] = _required(section, "groupsHeader", values.header_name)
    return settings


def _required(section: Section, option: str, check: Callable[[str], str]) -> str:
    """An option without which s3-proxy does not start either."""
    text = section.text(option)
    if not text:
        raise refusal(section.place(option), f"`{section.path}.{option}` is missing")
    try:
        return check(text)
    except InvalidValue as misfit:
        raise refusal(section.place(option), f"`{section.path}.{option}` {misfit.message}", misfit.help) from None


def trusted_proxies(given: Providers, root: Section) -> Mapping[str, Setting]:
    """Whose headers about the client are believed: s3-proxy believes everybody's host, scheme and user."""
    if "header" not in given.settings:
        return {"trustedProxies": list(PRIVATE_NETWORKS)}
    section = root.section("authProviders")
    assert section is not None, "a provider was found there"
    message = (
        f"headers that name a user are believed from {', '.join(PRIVATE_NETWORKS)} only, s3-proxy believes everybody"
    )
    advice = "leave nothing in `server.trustedProxies` but the proxy that signs users in"
    section.remark(OptionOutcome.CHANGED, "header", message, advice)
    return {"trustedProxies": list(PRIVATE_NETWORKS)}


def authorization(section: Section) -> Mapping[str, Setting]:
    """Who may pass of those who signed in; empty where everybody may. Raises `PatternError` and `Unreadable`."""
    rules = [rule for each in section.sections("authorizationAccesses") for rule in _rules(each)]
    server = section.section("authorizationOPAServer")
    if server is None:
        return {"authorizationAccesses": rules} if rules else {}
    if rules:
        raise refusal(section.span, f"`{section.path}` has rules and a policy server, so that s3-proxy does not start")
    policy: dict[str, Setting] = {"url": _required(server, "url", values.http_url)}
    tags = server.section("tags")
    if tags and (pairs := tags.pairs()):
        policy["tags"] = pairs
    return {"authorizationOPAServer": policy}


def _rules(section: Section) -> list[Setting]:
    """The rules of one: of a group and an email address together, either is enough."""
    flags: dict[str, Setting] = {name: True for name in ("regexp", "forbidden") if section.flag(name)}
    given = [(option, text) for option in ("group", "email") if (text := section.text(option))]
    if not given:
        raise refusal(
            section.span, f"`{section.path}` has neither `group` nor `email`, so that s3-proxy does not start"
        )
    if "regexp" in flags:
        for _, text in given:
            compile_pattern(text)
    return [{option: text, **flags} for option, text in given]


_AS_SENT = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@/*-]*")
_DEEP = re.compile(r"/\*\*(?=/|$)")


def glob_here(glob: str) -> str | None:
    """The glob that covers the same paths here, or None."""
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
    """A resource that cannot be converted; the text is the reason."""


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


def resources(target: Section, providers: Providers, *, head: bool) -> tuple[bool, list[Resource]]:
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
            done.append(_resource(section, providers))
            message = f"{' and '.join(methods)} of `{glob}` as `{done[-1]['path']}`"
            section.remark(OptionOutcome.CARRIED, "", message)
            if head and "GET" in methods and "HEAD" not in methods:
                message = "HEAD is allowed with GET; s3-proxy asks for it by name"
                section.remark(OptionOutcome.CHANGED, "methods", message, place=section.span)
            if "PUT" in methods and not glob.endswith("*"):
                message = f"an upload is asked about with its file's name too, which `{glob}` may not cover"
                section.remark(OptionOutcome.CHANGED, "path", message, place=section.span)
        except _Unsayable as reason:
            section.settle()
            missing.append(_LeftOut(glob, frozenset(methods)))
            message = f"{' and '.join(methods)} of `{glob}` is closed to everyone: {reason}"
            section.remark(OptionOutcome.CLOSED, "", message)
    return bool(sections), done


def single_resource(section: Section, mounts: Sequence[str], providers: Providers) -> Resource | None:
    """The resource of the page of all targets; None where it has no equivalent. Raises `Unreadable`."""
    _check(section, mounts, providers)
    try:
        return _resource(section, providers)
    except _Unsayable as reason:
        section.settle()
        message = f"the page of all targets is closed to everyone: {reason}"
        section.remark(OptionOutcome.CLOSED, "", message)
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


def _resource(section: Section, providers: Providers) -> Resource:
    """The resource; raises `_Unsayable` and `Unreadable`."""
    glob = section.text("path")
    here = glob_here(glob)
    who = _who(section, providers)
    if here is None:
        raise _Unsayable(f"`{glob}` covers paths that no glob covers here, or is written as clients encode paths")
    if stops_at_slashes(glob):
        message = f"`*` in `{glob}` stops at `/`, as in s3-proxy since April 2026; before, it went across"
        advice = "if yours is older, write `**`, and look at what comes after it"
        section.remark(OptionOutcome.CHANGED, "path", message, advice)
    return {"path": here, "methods": list(dict.fromkeys(_methods(section))), **who}


def _who(section: Section, providers: Providers) -> Resource:
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
    users = _users(demanded)
    if not users:
        raise _Unsayable("no user of it can sign in here")
    return {"provider": name, "basic": {"credentials": users}}


def _demanded(kind: str, section: Section) -> Resource:
    try:
        settings = authorization(section)
    except PatternError as error:
        raise _Unsayable(f"a rule's expression cannot be converted: {error}") from None
    return {kind: settings} if settings else {}


def _users(basic: Section) -> list[Setting]:
    users: dict[str, Setting] = {}
    for section in basic.sections("credentials"):
        name = section.text("user")
        secret = password(section.section("password"))
        reason = _objection(name, known=name in users, secret=secret)
        if reason is None and secret is not None:
            users[name] = {"user": name, "password": secret}
        else:
            section.remark(OptionOutcome.LEFT_OUT, "", f"the user `{name}` cannot sign in: {reason}")
    return list(users.values())


def _objection(name: str, *, known: bool, secret: Setting | None) -> str | None:
    try:
        values.user_name(name)
    except InvalidValue as misfit:
        return f"the name {misfit.message}"
    if known:
        return "the name is listed twice, and the first counts"
    return None if secret is not None else "there is no password"
