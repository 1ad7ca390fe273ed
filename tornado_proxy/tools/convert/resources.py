"""Converts resources and the providers that users sign in with; what has no equivalent is closed."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tornado_proxy.config.limits import SHORTEST_KEY
from tornado_proxy.config.providers import Authorization, HeaderProvider, OidcProvider
from tornado_proxy.config.secrets import HASHES
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.options import NotConvertible, Section, Setting, present, reference

KINDS = ("oidc", "header", "basic")
"""The kinds of providers; s3-proxy uses the first that a resource has."""

PRIVATE_NETWORKS = ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
"""Networks without traffic from the Internet (RFC 1918, RFC 4193); most proxies in front are in one of them."""


class Providers(msgspec.Struct, frozen=True):
    """The providers by kind and name here, and their names here by kind and name in s3-proxy."""

    settings: Mapping[str, Mapping[str, Setting]]
    names: Mapping[tuple[str, str], str]


def providers(root: Section, new_key: Callable[[], str]) -> Providers:
    """Converts the ways to sign in; `new_key` makes the secret of sessions that have none.

    In s3-proxy a name must be unique within its kind only; here, the kind is appended to a name that is taken.
    """
    settings: dict[str, dict[str, Setting]] = {}
    names: dict[tuple[str, str], str] = {}
    for kind in ("basic", "oidc", "header"):
        for name, each in root.section("authProviders").section(kind).named():
            here = f"{name}-{kind}" if name in names.values() else name
            names[kind, name] = here
            settings.setdefault(kind, {})[here] = _provider(kind, name, each, new_key)
            if here != name:
                each.adapted("", f"another provider is named `{name}`: this one is `{here}`")
    return Providers(settings, names)


def _provider(kind: str, name: str, section: Section, new_key: Callable[[], str]) -> Setting:
    if kind == "basic":
        return {"realm": section.text("realm") or name}
    if kind == "header":
        return section.translated(HeaderProvider)
    if ":" in section.text("state"):  # not needed otherwise: each login here has a state of its own
        section.refused("state", f"`{section.path}.state` contains a `:`")
    settings = section.translated(OidcProvider)
    if "." in (claim := section.text("groupClaim")):
        message = f"groups are also found in members of claims, by the dots of `{claim}`; s3-proxy asks for one claim"
        section.changed("groupClaim", message)
    secret = reference(section.section("clientSecret"))
    written = str(secret.get("value", "")) if secret else ""
    if secret is None or 0 < len(written) < SHORTEST_KEY:
        settings["sessionKey"] = {"value": new_key()}
        why = "`clientSecret` is too short for a key" if written else "there is no `clientSecret`"
        message = f"sessions are encrypted with a random `sessionKey`, because {why}; s3-proxy does not encrypt them"
        section.adapted("clientSecret", message, "move it, such as to `sessionKey: {env: NAME}`")
    callback = section.text("callbackPath") or f"/auth/{name}/callback"
    if url := section.text("redirectUrl"):  # s3-proxy prepends its path to the callback's
        split = urlsplit(url)
        callback = posixpath.normpath(posixpath.join("/", split.path, callback.lstrip("/")))
        settings["redirectUrl"] = url if split.path in ("", "/") else f"{split.scheme}://{split.netloc}"
    return {**settings, "loginPath": section.text("loginPath") or f"/auth/{name}", "callbackPath": callback}


_AS_SENT = re.compile(r"/[A-Za-z0-9._~!$&'()+,;=:@/*-]*")
_DEEP = re.compile(r"/\*\*(?=/|$)")
_TWO_ENDS = re.compile(r"([^*]*)\*\*([^*]+)")
_LONE_STAR = re.compile(r"(?<!\*)\*(?!\*)")


def globs_here(glob: str) -> tuple[str, ...]:
    """Returns the globs that cover the same paths here together; none if no globs do.

    s3-proxy's matcher (github.com/gobwas/glob) compares the two ends of `/a/**/b` without their lengths, so that it
    covers `/a/b`, whose beginning and end overlap.
    """
    if not _AS_SENT.fullmatch(glob) or "***" in glob:
        return ()
    # Here `/a/**` covers `/a` too, as a mount does; there it covers only what is below.
    here = [glob if glob == "/**" else _DEEP.sub("/*/**", glob)]
    if ends := _TWO_ENDS.fullmatch(glob):
        start, end = ends.groups()
        overlaps = (shared for shared in range(1, min(len(start), len(end)) + 1) if start.endswith(end[:shared]))
        here += (start + end[shared:] for shared in overlaps)
    return tuple(here)


def apart(one: str, other: str) -> bool:
    """Returns whether two globs of s3-proxy certainly have no path in common, because their beginnings differ."""
    first, second = (re.split(r"[^A-Za-z0-9._~/-]", glob, maxsplit=1)[0] for glob in (one, other))
    return not (first.startswith(second) or second.startswith(first))


CLOSED = "closed-until-reviewed"

Resource = Mapping[str, Setting]


def resources(target: Section, providers: Providers, enabled: Sequence[str]) -> tuple[bool, list[Resource]]:
    """Returns whether a target has resources at all, and the converted ones; `enabled` are its methods."""
    done: list[Resource] = []
    missing: list[tuple[str, frozenset[str]]] = []  # the globs and methods of omitted ones
    sections = target.sections("resources")
    for section in sections:
        _refuse(section, target.section("mount").texts("path"), providers)
        glob, methods = section.text("path"), _methods(section)
        covered = f"{' and '.join(methods)} of `{glob}`" if methods else f"`{glob}`"
        if "HEAD" in enabled and "GET" not in enabled:
            # A resource for GET covers HEAD here.
            methods = [each for each in methods if each != "GET"]
        in_doubt = any(not theirs.isdisjoint(methods) and not apart(other, glob) for other, theirs in missing)
        try:
            converted = _resource(section, providers, methods, in_doubt=in_doubt)
        except NotConvertible as reason:
            missing.append((glob, frozenset(methods)))
            section.closed("", f"{covered} is closed to everyone: {reason}")
            continue
        done += converted
        here = " and ".join(f"`{each['path']}`" for each in converted)
        section.carried("", f"{covered} as {here}")
        if "HEAD" in enabled and "GET" in methods and "HEAD" not in methods:
            section.changed("methods", "HEAD is allowed with GET; s3-proxy needs it to be named")
        if "PUT" in methods and not glob.endswith("*"):
            message = f"access is checked with the path of an uploaded file too, which `{glob}` may not cover"
            section.changed("path", message)
    return bool(sections), done


def signs_in(section: Section) -> bool:
    """Returns whether a resource has a way to sign in."""
    return any(section.section(kind) for kind in KINDS)


def _refuse(section: Section, mounts: Sequence[str], providers: Providers) -> None:
    """Records why s3-proxy does not start with a resource."""
    kinds, name = [kind for kind in KINDS if section.section(kind)], section.text("provider")
    known = {(kind, name) in providers.names for kind in kinds} or {name in {each for _, each in providers.names}}
    objections = {
        "has a method that is none": bool({*section.texts("methods")} - {*METHODS}),
        "has neither `oidc`, `header` nor `basic`, and no `whiteList: true`": (
            not kinds and not section.flag("whiteList")
        ),
        f"has the provider `{name}`, which is not one of `authProviders`": bool(name) and known != {True},
        f"has the path `{section.text('path')}`, which is not below a mount path": (
            not section.text("path").startswith(tuple(mounts))
        ),
        "has both rules and a policy server": any(
            section.section(kind).sections("authorizationAccesses")
            and section.section(kind).section("authorizationOPAServer")
            for kind in kinds
        ),
    }
    for message in [message for message, holds in objections.items() if holds][:1]:
        section.refused("", f"`{section.path}` {message}")


def single_resource(section: Section, mounts: Sequence[str], providers: Providers) -> Resource | None:
    """Converts the resource of the page of all targets; returns None if it has no equivalent."""
    _refuse(section, mounts, providers)
    try:
        converted = _resource(section, providers, _methods(section))
        if len(converted) == 1:
            return converted[0]
        reason = "only several resources here would cover its paths"
    except NotConvertible as error:
        reason = str(error)
    section.closed("", f"the page of all targets is closed to everyone: {reason}")
    return None


def closed(mount: str, enabled: Sequence[str]) -> tuple[Resource, str]:
    """Returns a resource that closes its target to everyone, and the method that must be disabled for that.

    A path that no resource covers is closed. This one covers a method that is disabled, at a path without a meaning.
    """
    off = next((each for each in ("DELETE", "PUT", "HEAD") if each not in enabled), "HEAD")
    return {"path": f"{mount}{CLOSED}", "methods": [off], "whiteList": True}, off


def _methods(section: Section) -> list[str]:
    """Returns the methods that a resource covers: GET by default, and none if the list is empty."""
    return list(dict.fromkeys(section.texts("methods", ["GET"])))


def _resource(
    section: Section, providers: Providers, methods: Sequence[str], *, in_doubt: bool = False
) -> list[Resource]:
    """Converts a resource, to one for each glob that it needs here; raises `NotConvertible`."""
    if in_doubt:
        raise NotConvertible("it may cover requests of an earlier one that is left out")
    if not methods:
        raise NotConvertible("it names no method that is enabled")
    glob = section.text("path")
    here = globs_here(glob)
    who = _who(section, providers)
    if not here:
        raise NotConvertible(f"no glob here covers the paths of `{glob}`, or it is written as clients encode paths")
    if _LONE_STAR.search(glob):
        message = f"`*` in `{glob}` stops at `/`, as in s3-proxy since April 2026; before, it matched slashes too"
        section.changed("path", message, "if yours is older, write `**`, and review the rest")
    return [{"path": each, "methods": list(methods), **who} for each in here]


def _who(section: Section, providers: Providers) -> Resource:
    """Converts access; of several ways, s3-proxy uses OIDC, then headers, then basic authentication, then anyone."""
    anyone, provider = section.flag("whiteList"), section.text("provider")
    kind = next((each for each in KINDS if section.section(each)), None)
    if kind is None:
        return {"whiteList": anyone}
    demanded = section.section(kind)
    if not provider and not anyone:
        raise NotConvertible("it names no `provider`, without which s3-proxy starts only before version 4.18")
    name = providers.names.get((kind, provider))
    if name is None:
        raise NotConvertible(f"its `provider` is not one of `authProviders.{kind}`")
    if kind == "basic":
        if anyone:
            section.adapted("whiteList", "it has no effect beside `basic`, as in s3-proxy")
        return {"provider": name, "basic": {"credentials": _users(demanded)}}
    if anyone:
        message = f"the rules of `{kind}` hold beside it; s3-proxy lets everyone pass who signs in"
        section.changed("whiteList", message)
    settings = _authorization(kind, demanded)
    return {"provider": name, kind: settings} if settings else {"provider": name}


def _authorization(kind: str, section: Section) -> dict[str, Setting]:
    """Converts the rules for users who signed in; the result is empty if everyone may pass."""
    settings: dict[str, Any] = section.translated(Authorization)
    rules: list[dict[str, Setting]] = settings.get("authorizationAccesses", [])
    if any(not rule.keys() & {"group", "email"} for rule in rules):
        raise NotConvertible("a rule has neither `group` nor `email`, and is about nobody")
    if section.section("authorizationOPAServer") and "url" not in settings.get("authorizationOPAServer", {}):
        raise NotConvertible("its policy server has no `url`")
    # s3-proxy compiles the expressions for `oidc` only; with `header` it fails at the first one.
    served = rules if kind == "oidc" else [*takewhile(lambda rule: "regexp" not in rule, rules)]
    if len(served) < len(rules):
        if not served:
            raise NotConvertible("s3-proxy answers 500 for a `regexp` in the rules of `header`, and it is the first")
        message = "s3-proxy answers 500 where it comes to a `regexp` of `header`: nobody passes by it or a later rule"
        section.sections("authorizationAccesses")[len(served)].closed("", message)
    # If a rule has a group and an email address, either is enough, so it becomes two.
    split = [
        {name: rule[name], **{flag: rule[flag] for flag in ("regexp", "forbidden") if flag in rule}}
        for rule in served
        for name in ("group", "email")
        if name in rule
    ]
    return present({**settings, "authorizationAccesses": split})


def _users(basic: Section) -> list[Setting]:
    users: dict[str, Setting] = {}
    for section in basic.sections("credentials"):
        name, password = section.text("user"), reference(section.section("password"))
        # A hash would be taken for one here, so another text would be the password; s3-proxy knows no hashes.
        if password is None or str(password.get("value", "")).startswith(HASHES):
            reason = "a password that looks like a hash, and would be taken for one" if password else "no password"
            section.left_out("", f"the user `{name}` is left out: it has {reason}")
        else:
            users.setdefault(name, {"user": name, "password": password})  # of several of one name the first counts
    if not users:
        raise NotConvertible("it has no user that tornado-proxy accepts")
    return list(users.values())
