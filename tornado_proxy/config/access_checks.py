"""Checks of who may do what: resources that contradict themselves, can never decide, or leave a door open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tornado_proxy.config.context import ValidationContext
from tornado_proxy.config.document import Node
from tornado_proxy.config.model import Provider, Resource
from tornado_proxy.config.providers import (
    SHORTEST_KEY,
    BasicProvider,
    CertificateProvider,
    HeaderProvider,
    OidcProvider,
)
from tornado_proxy.config.redaction import enumeration
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.syntax import PatternError
from tornado_proxy.lang.diagnostic import Diagnostic, did_you_mean

_NO_WILDCARD = re.compile(r"[?\[{]")


_KINDS = ("basic", "oidc", "header", "clientCertificate")
"""The kinds of providers, which are names of options, too."""


def _kind(provider: Provider) -> str:
    types: tuple[type[Provider], ...] = (BasicProvider, OidcProvider, HeaderProvider, CertificateProvider)
    return _KINDS[types.index(type(provider))]


def _providers_settled(context: ValidationContext) -> bool:
    return context.settled(context.settings, "authProviders", *(f"authProviders.{kind}" for kind in _KINDS))


def _decisions(context: ValidationContext) -> Iterator[Diagnostic]:
    """A resource is open to everyone or names a provider: not both, not neither."""
    for resource in context.settings.resources:
        if not context.settled(resource, "provider", "whiteList", *_KINDS):
            continue
        asks = [option for option in ("provider", *_KINDS) if context.given(resource, option)]
        if resource.white_list and asks:
            message = f"`whiteList` and `{asks[0]}` contradict each other"
            note = (f"`{asks[0]}` is given here", context.key(resource, asks[0]))
            yield context.error(
                "contradiction", message, context.key(resource, "whiteList"), "leave one of them out", note
            )
        elif not resource.white_list and not resource.provider:
            yield _undecided(context, resource)


def _undecided(context: ValidationContext, resource: Resource) -> Diagnostic:
    for kind in _KINDS:
        if context.given(resource, kind):
            advice = f"name one of `authProviders.{kind}`"
            return context.error("missing-option", f"`{kind}` needs a `provider`", context.key(resource, kind), advice)
    message = "the resource has neither `provider` nor `whiteList`"
    advice = "add `provider` and `basic.credentials`, or `whiteList: true`"
    return context.error("undecided-resource", message, context.key(resource, "path"), advice)


def _providers(context: ValidationContext) -> Iterator[Diagnostic]:
    names = [each.name for each in context.settings.providers]
    if not _providers_settled(context):
        return
    for resource in context.settings.resources:
        if resource.provider and resource.provider not in names:
            node = context.value(resource, "provider")
            advice = _instead_of(resource.provider, names)
            yield context.error("unknown-provider", f"unknown provider `{context.text(node)}`", node, advice)


def _instead_of(name: str, names: list[str]) -> str:
    near = did_you_mean(name, names)
    if near:
        return f"did you mean `{near}`?"
    return f"the providers are {enumeration(names)}" if names else "declare it in `authProviders`"


def _kinds(context: ValidationContext) -> Iterator[Diagnostic]:
    """What a resource demands fits its provider."""
    kinds = {each.name: _kind(each) for each in context.settings.providers}
    for resource in context.settings.resources:
        kind = kinds.get(resource.provider or "")
        for option in _KINDS if kind and _providers_settled(context) else ():
            if option != kind and context.given(resource, option):
                key = context.key(resource, option)
                message = f"`{option}` does not fit the provider `{context.text(context.value(resource, 'provider'))}`"
                yield context.error("contradiction", message, key, f"it is one of `authProviders.{kind}`")


def _credentials(context: ValidationContext) -> Iterator[Diagnostic]:
    others = {each.name for each in context.settings.providers if _kind(each) != "basic"}
    for resource in context.settings.resources:
        asks = resource.provider and not resource.white_list and resource.provider not in others
        if asks and not resource.users and context.settled(resource, "basic", "basic.credentials"):
            node = context.key(resource, "provider")
            message = "the resource has a `provider` but no users"
            yield context.error("missing-credentials", message, node, "add `basic.credentials`")


def _duplicate_users(context: ValidationContext) -> Iterator[Diagnostic]:
    for resource in context.settings.resources:
        first: dict[str, Node] = {}
        for user in (each for each in resource.users if context.settled(each, "user")):
            node = context.value(user, "user")
            if user.user in first:
                message = f"the user `{context.text(node)}` is listed twice, and only the first password counts"
                note = ("first listed here", first[user.user])
                yield context.error("duplicate-user", message, node, None, note)
            first.setdefault(user.user, node)


def _unused_providers(context: ValidationContext) -> Iterator[Diagnostic]:
    used = {resource.provider for resource in context.settings.resources}
    if not context.settled(context.settings, "authProviders", "targets"):
        return
    for provider in context.settings.providers:
        if provider.name not in used:
            key = context.name_key(f"authProviders.{_kind(provider)}", provider.name)
            message = f"no resource uses the provider `{context.text(key)}`"
            yield context.warning("unused-provider", message, key)


def _access_rules(context: ValidationContext) -> Iterator[Diagnostic]:
    for resource in context.settings.resources:
        for rule in resource.authorization.accesses if resource.authorization else ():
            named = [option for option in ("group", "email") if context.given(rule, option)]
            if len(named) != 1 and context.settled(rule, "group", "email"):
                message = "a rule names either a `group` or an `email`"
                advice = "make two rules of it" if named else "such as `{group: editors}`"
                yield context.error("access-rule", message, context.key(rule, "group"), advice)
            elif rule.regexp:
                try:
                    compile_pattern(rule.group or rule.email or "")
                except PatternError as error:
                    yield context.error("bad-pattern", str(error), context.value(rule, named[0]), error.help)


def _sign_in_pages(context: ValidationContext) -> Iterator[Diagnostic]:
    """Every page of a provider has a path of its own."""
    first: dict[str, str] = {}
    for provider in context.settings.oidc_providers:
        key = context.name_key("authProviders.oidc", provider.name)
        for path in (provider.login_path, provider.callback_path, provider.logout_path):
            if path.rstrip("/") in first:
                message = f"`{path}` is more than one page: one of `{first[path.rstrip('/')]}` already"
                yield context.error("overlapping-pages", message, key, "give each page a path of its own")
            first.setdefault(path.rstrip("/"), provider.name)


def _session_keys(context: ValidationContext) -> Iterator[Diagnostic]:
    """Every session is encrypted with a secret that nobody finds by trying."""
    advice = f"add `sessionKey: {{env: NAME}}`, a secret of at least {SHORTEST_KEY} characters"
    for provider in context.settings.oidc_providers:
        if not context.settled(provider, "sessionKey", "clientSecret"):
            continue
        option = next((each for each in ("sessionKey", "clientSecret") if context.given(provider, each)), None)
        if option is None:
            key = context.name_key("authProviders.oidc", provider.name)
            message = f"sessions of `{context.text(key)}` have no key"
            yield context.error("missing-option", message, key, advice)
        # Where secrets are not looked up, they are empty.
        elif 0 < len(provider.session_secret()) < SHORTEST_KEY:
            message = f"`{option}` has fewer than {SHORTEST_KEY} characters, too few for the key of sessions"
            yield context.error("bad-value", message, context.key(provider, option), advice)


def _provider_names(context: ValidationContext) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for provider in context.settings.providers:
        if provider.name in seen:
            key = context.name_key(f"authProviders.{_kind(provider)}", provider.name)
            message = f"there is more than one provider `{context.text(key)}`"
            yield context.error("duplicate-provider", message, key, "give each a name of its own")
        seen.add(provider.name)


def _trusted_proxies(context: ValidationContext) -> Iterator[Diagnostic]:
    server, providers = context.settings.server, context.settings.header_providers
    if not context.settled(context.settings, "server") or not context.settled(server, "trustedProxies"):
        return
    if providers and not server.trusted_proxies:
        key = context.name_key("authProviders.header", providers[0].name)
        message = "nobody can sign in by headers: no proxy is trusted"
        yield context.warning("untrusted-headers", message, key, "add `server.trustedProxies`")
    if any(network.endswith("/0") for network in server.trusted_proxies):
        key = context.key(server, "trustedProxies")
        message = "everyone is trusted as a proxy, so everyone can claim to be anybody"
        yield context.warning("trusted-everyone", message, key, "name the addresses of your proxies")


def _unasked_certificates(context: ValidationContext) -> Iterator[Diagnostic]:
    server, providers = context.settings.server, context.settings.certificate_providers
    if not providers or not context.settled(context.settings, "server") or not context.settled(server, "ssl"):
        return
    if server.ssl is None or not server.ssl.enabled or server.ssl.client_auth == "none":
        key = context.name_key("authProviders.clientCertificate", providers[0].name)
        message = "nobody can sign in by certificates: no client is asked for one"
        advice = "add `clientAuth: request` and `clientCAs` to `server.ssl`"
        yield context.warning("unasked-certificates", message, key, advice)


def _globs(context: ValidationContext) -> Iterator[Diagnostic]:
    pairs = [(target, resource) for target in context.settings.targets for resource in target.resources]
    for target, resource in pairs:
        node = context.value(resource, "path")
        if not context.settled(resource, "path"):
            continue
        found = _NO_WILDCARD.search(resource.path)
        if found:
            message = f"`{found.group()}` is not a wildcard in a glob"
            advice = "`*` matches any part of one segment, `**` any number of segments"
            yield context.warning("glob-syntax", message, node, advice)
        mounts = target.mount.paths
        if context.settled(target, "mount") and not any(_may_cover(resource.path, mount) for mount in mounts):
            message = f"the glob covers nothing of target `{context.text(context.name_key('targets', target.name))}`"
            advice = f"a glob covers the whole request path, the mount included: {enumeration(mounts)}"
            yield context.warning("outside-mount", message, node, advice)


def _may_cover(glob: str, mount: str) -> bool:
    """Whether a path below a mount may match, judged by what stands before the first wildcard."""
    literal, wildcard, _ = glob.partition("*")
    if not wildcard:
        return f"{glob}/".startswith(mount)
    return literal.startswith(mount) or mount.startswith(literal)


def _unreachable(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        earlier: list[Resource] = []
        for resource in target.resources:
            covering = [each for each in earlier if _covers(each.path, resource.path)]
            taken = {method for each in covering for method in each.methods}
            if taken.issuperset(resource.methods) and context.settled(target, "resources"):
                node = context.value(resource, "path")
                message = f"`{context.text(node)}` is never used: an earlier resource matches first"
                note = ("this one matches its requests", context.value(covering[0], "path"))
                advice = "move the special resource above the general one"
                yield context.warning("unreachable-resource", message, node, advice, note)
            earlier.append(resource)


def _covers(general: str, special: str) -> bool:
    """Whether one glob takes all paths of another, where that is plain to see."""
    directory = general.removesuffix("/**")
    plain = directory != general and "*" not in directory
    return general == special or (plain and f"{special}/".startswith(f"{directory}/"))


def _open_writes(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        writes = [method for method in target.actions.methods if method in {"PUT", "DELETE"}]
        if writes and not target.resources and context.settled(target, "resources"):
            name = context.text(context.name_key("targets", target.name))
            message = f"everyone may {enumeration(writes)} in target `{name}`"
            advice = "restrict access with `resources`, or allow everyone there with `whiteList: true`"
            yield context.warning("open-writes", message, context.key(target.actions, writes[0]), advice)


def _isolation(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        get = target.actions.get
        if not get.user_isolation or not context.settled(target, "resources"):
            continue
        key = context.key(get, "config")
        if not target.resources:
            message = "`userIsolation` needs users, and nobody has to sign in"
            advice = "add `resources` with a `provider`"
            yield context.error("isolation-without-users", message, key, advice)
        for resource in (each for each in target.resources if each.white_list):
            message = "`userIsolation` refuses everyone here: nobody signs in"
            yield context.warning("isolation-without-users", message, context.key(resource, "whiteList"))


def _uncovered_methods(context: ValidationContext) -> Iterator[Diagnostic]:
    for target in context.settings.targets:
        covered = {method for resource in target.resources for method in resource.methods}
        for method in target.actions.methods:
            known = target.resources and context.settled(target, "resources", "actions")
            if known and method not in covered and method != "HEAD":
                message = f"`{method}` is enabled, but no resource covers it, so nobody may use it"
                advice = f"add `{method}` to the `methods` of a resource"
                yield context.warning("uncovered-method", message, context.key(target, "resources"), advice)


CHECKS: tuple[Callable[[ValidationContext], Iterator[Diagnostic]], ...] = (
    _decisions,
    _providers,
    _kinds,
    _provider_names,
    _access_rules,
    _sign_in_pages,
    _session_keys,
    _trusted_proxies,
    _unasked_certificates,
    _credentials,
    _duplicate_users,
    _unused_providers,
    _globs,
    _unreachable,
    _open_writes,
    _uncovered_methods,
    _isolation,
)
"""The checks of this module."""
