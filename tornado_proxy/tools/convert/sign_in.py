"""Converts the ways to sign in, and who may pass of those who signed in by OpenID Connect or by headers."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tornado_proxy.config import values
from tornado_proxy.config.providers import SHORTEST_KEY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.tools.convert.options import Section, refusal
from tornado_proxy.tools.convert.output import Setting
from tornado_proxy.tools.convert.report import OptionOutcome, Remarks
from tornado_proxy.tools.convert.values import reference

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


def providers(root: Section, new_key: Callable[[], str], remarks: Remarks) -> Providers:
    """The ways to sign in; `new_key` makes the secret of sessions that have none.

    In s3-proxy a name counts within its kind only; here, a second one of that name gets its kind behind it.
    """
    making = _Making(new_key, remarks)
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
                remarks.add(
                    OptionOutcome.ADAPTED, each.path, each.span, f"another provider is called `{name}`: it is `{here}`"
                )
    return Providers(settings, names)


@dataclass(frozen=True, slots=True)
class _Making:
    new_key: Callable[[], str] = field(repr=False)
    remarks: Remarks = field(repr=False)

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
        secret = reference(section.section("clientSecret"), self.remarks)
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
        cure = "keep it elsewhere, such as `sessionKey: {env: NAME}`"
        self.remarks.add(
            OptionOutcome.ADAPTED, f"{section.path}.clientSecret", section.place("clientSecret"), message, cure
        )


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


def trusted_proxies(given: Providers, root: Section, remarks: Remarks) -> Mapping[str, Setting]:
    """Whose headers about the client are believed: s3-proxy believes everybody's host, scheme and user."""
    if "header" not in given.settings:
        return {"trustedProxies": list(PRIVATE_NETWORKS)}
    section = root.section("authProviders")
    assert section is not None, "a provider was found there"
    message = (
        f"headers that name a user are believed from {', '.join(PRIVATE_NETWORKS)} only, s3-proxy believes everybody"
    )
    cure = "leave nothing in `server.trustedProxies` but the proxy that signs users in"
    remarks.add(OptionOutcome.CHANGED, f"{section.path}.header", section.place("header"), message, cure)
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
