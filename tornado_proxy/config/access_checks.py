"""Checks of access: providers and resources that contradict themselves, have no effect, or admit too many."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.config import providers
from tornado_proxy.config.document import bare
from tornado_proxy.config.limits import SHORTEST_KEY
from tornado_proxy.config.reader import ValidationContext, warning
from tornado_proxy.config.values import enumeration
from tornado_proxy.rules.diagnostic import Diagnostic, Note, Span, did_you_mean
from tornado_proxy.semantics.request import WRITING

_NO_WILDCARD = re.compile(r"[?\[{]")

_KINDS: dict[str, type[providers.Provider]] = {
    "basic": providers.BasicProvider,
    "oidc": providers.OidcProvider,
    "header": providers.HeaderProvider,
    "clientCertificate": providers.CertificateProvider,
}
"""The providers by the names of their options, in `authProviders` and in resources."""


def _providers(context: ValidationContext) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for provider in context.settings.providers:
        if provider.name in seen:
            message = f"there is more than one provider {context.quoted_name(provider)}"
            advice = "give each provider a unique name"
            yield Diagnostic("duplicate-provider", message, context.name(provider), advice)
        seen.add(provider.name)
    ssl, certificates = context.settings.server.ssl, context.settings.certificate_providers
    if certificates and (ssl is None or not ssl.enabled or ssl.client_auth == "none"):
        message = "nobody can sign in by certificates: clients are not asked for one"
        advice = "add `clientAuth: request` and `clientCAs` to `server.ssl`"
        yield warning("unasked-certificates", message, context.name(certificates[0]), advice)


def _oidc_providers(context: ValidationContext) -> Iterator[Diagnostic]:
    """Checks that pages and cookies are a provider's own, and that the key of sessions cannot be guessed."""
    first: dict[str, str] = {}
    cookies: dict[tuple[str, str], str] = {}
    advice = f"add `sessionKey: {{env: NAME}}`, a secret of at least {SHORTEST_KEY} characters"
    for provider in context.settings.oidc_providers:
        name = context.name(provider)
        for path in provider.pages.values():
            if path.rstrip("/") in first:
                message = f"`{path}` is already a page of `{first[path.rstrip('/')]}`"
                yield Diagnostic("overlapping-pages", message, name, "give each page a path of its own")
            first.setdefault(path.rstrip("/"), provider.name)
        hosts = {
            target.mount.host
            for target in context.settings.targets
            if any(each.provider == provider.name for each in target.resources)
        }
        others = {cookies.setdefault((host, provider.cookie_name), provider.name) for host in hosts} - {provider.name}
        if others:
            message = f"`{min(others)}` has the same cookie: who signs in with one is signed out of the other"
            yield warning("shared-cookie", message, name, "give each provider a `cookieName` of its own")
        back = urlsplit(provider.redirect_url.reveal()).hostname if provider.redirect_url else None
        away = sorted(each for each in hosts if back and not _comes_back(provider, each, back))
        if away:
            message = f"who starts at `{away[0]}` cannot sign in: its cookies are not sent to the host of `redirectUrl`"
            help_ = "add a domain that both are in to `cookieDomains`"
            yield warning("sign-in-elsewhere", message, context.key(provider, "redirectUrl"), help_)
        option = next((each for each in ("sessionKey", "clientSecret") if context.is_set(provider, each)), None)
        if option is None:
            message = f"sessions of {context.quoted_name(provider)} have no key"
            yield Diagnostic("missing-option", message, name, advice)
        # Where secrets are not looked up, they are empty.
        elif 0 < len(provider.session_secret()) < SHORTEST_KEY:
            message = f"`{option}` has fewer than {SHORTEST_KEY} characters, too few for the key of sessions"
            yield Diagnostic("bad-value", message, context.key(provider, option), advice)


def _comes_back(provider: providers.OidcProvider, host: str, back: str) -> bool:
    """Whether a browser that starts a sign-in at a host has its cookies at the host to which the issuer sends it."""
    is_unknown = not host or "*" in host
    shared = (all(providers.contains_host(domain, each) for each in (host, back)) for domain in provider.bare_domains)
    return is_unknown or host == back.lower() or any(shared)


def _resources(context: ValidationContext) -> Iterator[Diagnostic]:
    """Checks that a resource either is open to everyone or names a provider."""
    for resource in context.sections(providers.Resource):
        asks = [option for option in ("provider", *_KINDS) if context.is_set(resource, option)]
        if resource.white_list and asks:
            message = f"`whiteList` and `{asks[0]}` contradict each other"
            notes = (Note(f"`{asks[0]}` is given here", context.key(resource, asks[0])),)
            node = context.key(resource, "whiteList")
            yield Diagnostic("contradiction", message, node, "leave one of them out", notes)
        elif resource.provider:
            yield from _demands(context, resource, resource.provider)
        elif not resource.white_list:
            message = "the resource has neither `provider` nor `whiteList`"
            advice = "add `provider` and `basic.credentials`, or `whiteList: true`"
            yield Diagnostic("undecided-resource", message, context.key(resource, "path"), advice)


def _demands(context: ValidationContext, resource: providers.Resource, name: str) -> Iterator[Diagnostic]:
    """Checks that the provider of a resource exists, and that the options of the resource fit it."""
    node = context.values(resource, "provider")[0]
    provider = next((each for each in context.settings.providers if each.name == name), None)
    if provider is None:
        names = [each.name for each in context.settings.providers]
        near = did_you_mean(name, names)
        others = f"the providers are {enumeration(names)}" if names else "declare it in `authProviders`"
        advice = f"did you mean `{near}`?" if near else others
        yield Diagnostic("unknown-provider", f"unknown provider `{bare(node)}`", node, advice)
        return
    kind = next(option for option, each in _KINDS.items() if isinstance(provider, each))
    for option in _KINDS:
        if option != kind and context.is_set(resource, option):
            message = f"`{option}` does not fit the provider `{bare(node)}`"
            advice = f"it is one of `authProviders.{kind}`"
            yield Diagnostic("contradiction", message, context.key(resource, option), advice)
    if kind == "basic" and not resource.users:
        message, key = "the resource has a `provider` but no users", context.key(resource, "provider")
        yield Diagnostic("missing-credentials", message, key, "add `basic.credentials`")


def _users(context: ValidationContext) -> Iterator[Diagnostic]:
    for resource in context.sections(providers.Resource):
        first: dict[str, Span] = {}
        for user in resource.users:
            node = context.values(user, "user")[0]
            if user.user in first:
                message = f"the user `{bare(node)}` is listed twice, and only the first password counts"
                yield Diagnostic("duplicate-user", message, node, None, (Note("first listed here", first[user.user]),))
            first.setdefault(user.user, node)
    for rule in context.sections(providers.AccessRule):
        named = [option for option in ("group", "email") if context.is_set(rule, option)]
        if len(named) != 1:
            message = "a rule names either a `group` or an `email`"
            advice = "make two rules of it" if named else "such as `{group: editors}`"
            yield Diagnostic("access-rule", message, context.key(rule, "group"), advice)
        elif rule.regexp:
            try:
                compile_pattern(rule.group or rule.email or "")
            except PatternError as error:
                yield Diagnostic("bad-pattern", str(error), context.values(rule, named[0])[0], error.help)


def _globs(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        mounts = target.mount.paths
        earlier: list[providers.Resource] = []
        for resource in target.resources:
            node = context.values(resource, "path")[0]
            if wildcard := _NO_WILDCARD.search(resource.path):
                message = f"`{wildcard.group()}` is not a wildcard in a glob"
                advice = "`*` matches any part of one segment, `**` any number of segments"
                yield warning("glob-syntax", message, node, advice)
            if not any(_may_cover(resource.path, mount) for mount in mounts):
                message = f"the glob covers nothing of target {context.quoted_name(target)}"
                advice = f"a glob covers the whole request path, the mount included: {enumeration(mounts)}"
                yield warning("outside-mount", message, node, advice)
            covering = [each for each in earlier if _covers(each.path, resource.path)]
            if {method for each in covering for method in each.methods}.issuperset(resource.methods):
                message = f"`{bare(node)}` is never used: an earlier resource matches first"
                notes = (Note("this one matches its requests", context.values(covering[0], "path")[0]),)
                advice = "move the special resource above the general one"
                yield warning("unreachable-resource", message, node, advice, notes)
            earlier.append(resource)


def _may_cover(glob: str, mount: str) -> bool:
    """Whether a path below a mount may match, judged by the text before the first wildcard."""
    literal, wildcard, _ = glob.partition("*")
    if not wildcard:
        return f"{glob}/".startswith(mount)
    return literal.startswith(mount) or mount.startswith(literal)


def _covers(general: str, special: str) -> bool:
    """Whether one glob plainly matches all paths that another matches."""
    directory = general.removesuffix("/**")
    plain = directory != general and "*" not in directory
    return general == special or (plain and f"{special}/".startswith(f"{directory}/"))


def _methods(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        methods = target.actions.methods
        covered = {method for resource in target.resources for method in resource.methods}
        writes = [method for method in methods if method in WRITING]
        if writes and not target.resources:
            message = f"everyone may {enumeration(writes)} in target {context.quoted_name(target)}"
            advice = "restrict access with `resources`, or allow everyone there with `whiteList: true`"
            yield warning("open-writes", message, context.key(target.actions, writes[0]), advice)
        for method in (each for each in methods if target.resources and each not in covered and each != "HEAD"):
            message = f"`{method}` is enabled, but no resource covers it, so nobody may use it"
            advice = f"add `{method}` to the `methods` of a resource"
            yield warning("uncovered-method", message, context.key(target, "resources"), advice)


def _isolation(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        get = target.actions.get
        if get.user_isolation and not target.resources:
            message = "`userIsolation` needs users, and nobody has to sign in"
            advice = "add `resources` with a `provider`"
            yield Diagnostic("isolation-without-users", message, context.key(get, "config"), advice)
        for resource in target.resources:
            if get.user_isolation and resource.white_list:
                message = "`userIsolation` refuses everyone here: nobody signs in"
                yield warning("isolation-without-users", message, context.key(resource, "whiteList"))


CHECKS = (_providers, _oidc_providers, _resources, _users, _globs, _methods, _isolation)
"""The checks of this module."""
