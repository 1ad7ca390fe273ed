"""Checks of options that are valid one by one, but contradict each other, have no effect, or admit too many.

Targets that share a bucket are checked too: what one takes as an upload, another one serves, or runs as a template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from urllib.parse import urlsplit

from msgspec.structs import replace

from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.config import providers
from tornado_proxy.config.actions import Webhook
from tornado_proxy.config.document import ScalarNode, bare
from tornado_proxy.config.limits import SHORTEST_KEY
from tornado_proxy.config.model import PAGES, Bucket, HelperOptions, Mount, ObjectCache, PageOptions, Settings, Target
from tornado_proxy.config.options import SettingsSection, sections
from tornado_proxy.config.server import SUITES_OF_TLS13, Certificate, Cors, Ssl, Tracing, UrlConfig
from tornado_proxy.config.values import EVERY_INTERFACE, aws_objection, enumeration, mount_path
from tornado_proxy.rules.diagnostic import Diagnostic, Note, Severity, Span, did_you_mean
from tornado_proxy.rules.model import TRIED_PATH, fold
from tornado_proxy.semantics.request import WRITING

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PERCENT_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
_NO_WILDCARD = re.compile(r"[?\[{]")

_KINDS: dict[str, type[providers.Provider]] = {
    "basic": providers.BasicProvider,
    "oidc": providers.OidcProvider,
    "header": providers.HeaderProvider,
    "clientCertificate": providers.CertificateProvider,
}
"""The providers by the names of their options, in `authProviders` and in resources."""


def _quoted(section: SettingsSection) -> str:
    """Returns the name of a section in backticks, as it may be shown."""
    return f"`{bare(section.place.name)}`"


warning = partial(Diagnostic, severity=Severity.WARNING)
"""Makes a diagnostic that leaves the configuration usable."""


def _listeners(settings: Settings) -> Iterator[Diagnostic]:
    server, internal = settings.server, settings.internal_server
    overlap = server.address == internal.address or EVERY_INTERFACE & {server.address, internal.address}
    if overlap and server.port == internal.port != 0:
        second, first = (internal, server) if internal.place.has("port") else (server, internal)
        message = f"`server` and `internalServer` both listen on port {server.port}"
        notes = (Note("the other one", first.place.value("port")),) if first.place.has("port") else ()
        advice = "give one of them another port"
        yield Diagnostic("same-listener", message, second.place.value("port"), advice, notes)


def _rules(settings: Settings) -> Iterator[Diagnostic]:
    first: dict[str, Span | None] = {}
    for place, node in zip(settings.rules, settings.place.values("rules") if settings.rules else (), strict=True):
        if str(place) in first:
            message = f"the rules in `{bare(node)}` are listed twice"
            yield Diagnostic("duplicate-place", message, node, None, (Note("first listed here", first[str(place)]),))
        first.setdefault(str(place), node)


def _tls(settings: Settings) -> Iterator[Diagnostic]:
    for ssl in sections(settings, Ssl):
        if ssl.enabled and not ssl.certificates and not ssl.self_signed_hostnames:
            advice = "add `certificates`, or `selfSignedHostnames` to try it out"
            yield Diagnostic("no-certificate", "TLS has no certificate", ssl.place.key("enabled"), advice)
        if ssl.min_version > ssl.max_version:
            option = "minTLSVersion" if ssl.place.has("minTLSVersion") else "maxTLSVersion"
            message = f"`minTLSVersion` {ssl.min_version} is above `maxTLSVersion` {ssl.max_version}"
            yield Diagnostic("bad-value", message, ssl.place.key(option))
        elif ssl.min_version < "TLSv1.2":
            message = f"{ssl.min_version} is broken, and browsers no longer support it"
            advice = "leave it out, for TLS 1.2 and 1.3 (RFC 8996)"
            yield warning("old-tls", message, ssl.place.key("minTLSVersion"), advice)
        if ssl.max_version < "TLSv1.3" and ssl.cipher_suites and {*ssl.cipher_suites} <= {*SUITES_OF_TLS13}:
            message = f"`cipherSuites` has no suite of {ssl.max_version}, so nobody can connect"
            yield Diagnostic("bad-value", message, ssl.place.key("cipherSuites"), "add one, or leave it out")
        if ssl.client_auth != "none" and not ssl.client_cas:
            message = "client certificates cannot be verified: `clientCAs` is missing"
            advice = "such as `clientCAs: clients.pem`"
            yield Diagnostic("missing-option", message, ssl.place.key("clientAuth"), advice)
        elif ssl.client_cas and ssl.client_auth == "none":
            message = "`clientCAs` has no effect: clients are not asked for a certificate"
            advice = "add `clientAuth: request` or `clientAuth: require`"
            yield warning("no-effect", message, ssl.place.key("clientCAs"), advice)


def _certificates(settings: Settings) -> Iterator[Diagnostic]:
    """Checks that each certificate and each key is given exactly once."""
    for certificate in sections(settings, Certificate):
        for name in ("certificate", "privateKey"):
            both = certificate.place.has(name), certificate.place.has(f"{name}Url")
            if all(both):
                message = f"`{name}` and `{name}Url` are both given"
                yield Diagnostic("bad-value", message, certificate.place.key(name), "leave one of them out")
            elif not any(both):
                message = f"a certificate lacks `{name}` or `{name}Url`"
                yield Diagnostic("missing-option", message, certificate.place.key(name), Certificate.shape)
    for fetched in sections(settings, UrlConfig):
        if fetched.aws_endpoint and not fetched.aws_region:
            message = "`awsEndpoint` is given without `awsRegion`"
            yield Diagnostic("missing-option", message, fetched.place.key("awsEndpoint"), "add its region")


def _proxies(settings: Settings) -> Iterator[Diagnostic]:
    server, providers = settings.server, settings.header_providers
    advice = "add `server.trustedProxies`"
    if server.proxy_protocol and not server.trusted_proxies:
        message = "`proxyProtocol` has no effect: no proxy is trusted"
        yield warning("no-effect", message, server.place.key("proxyProtocol"), advice)
    if providers and not server.trusted_proxies:
        message = "nobody can sign in by headers: no proxy is trusted"
        yield warning("untrusted-headers", message, providers[0].place.name, advice)
    if any(network.endswith("/0") for network in server.trusted_proxies):
        message = "everyone is trusted as a proxy, so everyone can claim to be any user"
        advice = "name the addresses of your proxies"
        yield warning("trusted-everyone", message, server.place.key("trustedProxies"), advice)


def _cors(settings: Settings) -> Iterator[Diagnostic]:
    for cors in sections(settings, Cors):
        all_origins = cors.allow_all or not cors.allow_origins or "*" in cors.allow_origins
        if cors.enabled and cors.allow_credentials and all_origins:
            message = "`allowCredentials` has no effect: browsers refuse it together with every origin"
            node = cors.place.key("allowCredentials")
            yield warning("no-effect", message, node, "name the origins in `allowOrigins`")


def _open_secrets(settings: Settings) -> Iterator[Diagnostic]:
    """Reports secret headers of webhooks and traces that are sent over the network unencrypted."""
    hooks = [(each, "url", each.url) for each in sections(settings, Webhook) if each.secret_headers]
    traces = [(each, "endpoint", each.endpoint) for each in sections(settings, Tracing) if each.secret_headers]
    for section, option, url in (*hooks, *traces):
        split = urlsplit(url.reveal())
        if split.scheme == "http" and split.hostname not in _LOOPBACK:
            message = f"`{option}` is `http`, so `secretHeaders` can be read on the way"
            yield warning("open-secret", message, section.place.value(option), "use `https`")


def _mounts(settings: Settings) -> Iterator[Diagnostic]:
    if not settings.targets:
        key = settings.place.key("targets")
        yield warning("no-targets", "there are no targets, so every request is answered with 404", key)
    first: dict[tuple[str, str], Target] = {}
    for target in settings.targets:
        host = target.mount.host
        for path in target.mount.paths:
            other = first.setdefault((host, path), target)
            if other is not target:
                one, two = _quoted(other), _quoted(target)
                where = f"`{path}` of {f'the host `{host}`' if host else 'any host'}"
                message = f"targets {one} and {two} are both mounted at {where}"
                notes = (Note(f"{one} is mounted here", _mount_place(other, path)),)
                advice = "give one of them another path or host"
                yield Diagnostic("overlapping-mounts", message, _mount_place(target, path), advice, notes)


def _mount_place(target: Target, path: str) -> Span | None:
    """The first item that names a path; the target's name if the file has no paths."""
    if not target.mount.place.has("path"):
        return target.place.name
    texts = (each.text for each in target.mount.place.nodes("path") if isinstance(each, ScalarNode))
    return target.mount.place.values("path")[[*map(mount_path, texts)].index(path)]


def _percent_escapes(settings: Settings) -> Iterator[Diagnostic]:
    for section in (*sections(settings, Mount), *sections(settings, providers.Resource)):
        for node in section.place.values("path") if section.place.has("path") else ():
            if escape := _PERCENT_ESCAPE.search(bare(node)):
                message = f"`{escape.group()}` is not decoded: paths are compared after decoding"
                yield warning("percent-escape", message, node, "write the decoded character")


def _buckets(settings: Settings) -> Iterator[Diagnostic]:
    for bucket in sections(settings, Bucket):
        objection = aws_objection(bucket.name)
        if objection and bucket.s3_endpoint is None:
            node = bucket.place.value("name")
            message = f"`{bare(node)}` is not a valid bucket name on AWS"
            yield warning("bucket-name", message, node, objection)
        if bucket.anonymous and bucket.credentials is not None:
            message = "`credentials` have no effect: `anonymous` sends requests without them"
            yield warning("no-effect", message, bucket.place.key("credentials"))


def _caches(settings: Settings) -> Iterator[Diagnostic]:
    for cache in sections(settings, ObjectCache):
        if cache.max_object_size > cache.max_size:
            name = "maxObjectSize" if cache.place.has("maxObjectSize") else "maxSize"
            message = "objects up to `maxObjectSize` do not fit into the cache, whose `maxSize` is less"
            yield warning("no-effect", message, cache.place.key(name), "raise `maxSize`")


def _tried_files(settings: Settings) -> Iterator[Diagnostic]:
    for target in settings.targets:
        get = target.actions.get
        if not get.try_files:
            continue
        key = get.place.key("config.tryFiles")
        if TRIED_PATH not in get.try_files:
            message = f"no file is served at its own address: `tryFiles` lacks `{TRIED_PATH}`"
            yield warning("no-effect", message, key, f'begin with it, such as `["{TRIED_PATH}", "{TRIED_PATH}.html"]`')
        if not get.index_document and any(each.endswith("/") for each in get.try_files):
            message = "a path of `tryFiles` that ends in `/` has no effect: the target has no `indexDocument`"
            yield warning("no-effect", message, key, "add `indexDocument: index.html`")


def _uploads(settings: Settings) -> Iterator[Diagnostic]:
    for target in settings.targets:
        put = target.actions.put
        # A form of S3 has no condition that the key is new.
        if put.direct_uploads and not put.allow_override:
            message = "`directUploads` needs `allowOverride`: an upload straight to S3 replaces what is there"
            advice = "add `allowOverride: true`, or leave `directUploads` out"
            yield Diagnostic("contradiction", message, put.place.key("config.directUploads"), advice)
        if put.place.has("config") and not put.place.has("enabled"):
            node = target.actions.place.key("PUT")
            yield warning("no-effect", "`PUT` is configured but not enabled", node, "add `enabled: true`")


def _providers(settings: Settings) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for provider in settings.providers:
        if provider.name in seen:
            message = f"there is more than one provider {_quoted(provider)}"
            advice = "give each provider a unique name"
            yield Diagnostic("duplicate-provider", message, provider.place.name, advice)
        seen.add(provider.name)
    ssl, certificates = settings.server.ssl, settings.certificate_providers
    if certificates and (ssl is None or not ssl.enabled or ssl.client_auth == "none"):
        message = "nobody can sign in by certificates: clients are not asked for one"
        advice = "add `clientAuth: request` and `clientCAs` to `server.ssl`"
        yield warning("unasked-certificates", message, certificates[0].place.name, advice)


def _oidc_providers(settings: Settings) -> Iterator[Diagnostic]:
    """Checks that pages and cookies are a provider's own, and that the key of sessions cannot be guessed."""
    first: dict[str, str] = {}
    cookies: dict[tuple[str, str], str] = {}
    advice = f"add `sessionKey: {{env: NAME}}`, a secret of at least {SHORTEST_KEY} characters"
    for provider in settings.oidc_providers:
        name = provider.place.name
        for path in provider.pages.values():
            if path.rstrip("/") in first:
                message = f"`{path}` is already a page of `{first[path.rstrip('/')]}`"
                yield Diagnostic("overlapping-pages", message, name, "give each page a path of its own")
            first.setdefault(path.rstrip("/"), provider.name)
        hosts = {
            target.mount.host
            for target in settings.targets
            if any(each.provider == provider.name for each in target.resources)
        }
        others = {cookies.setdefault((host, provider.cookie_name), provider.name) for host in hosts} - {provider.name}
        if others:
            message = f"`{min(others)}` has the same cookie: who signs in with one is signed out of the other"
            yield warning("shared-cookie", message, name, "give each provider a `cookieName` of its own")
        back = urlsplit(provider.redirect_url.reveal()).hostname if provider.redirect_url else None
        away = sorted(each for each in hosts if back and not provider.comes_back(each, back))
        if away:
            message = f"who starts at `{away[0]}` cannot sign in: its cookies are not sent to the host of `redirectUrl`"
            help_ = "add a domain that both are in to `cookieDomains`"
            yield warning("sign-in-elsewhere", message, provider.place.key("redirectUrl"), help_)
        option = next((each for each in ("sessionKey", "clientSecret") if provider.place.has(each)), None)
        if option is None:
            message = f"sessions of {_quoted(provider)} have no key"
            yield Diagnostic("missing-option", message, name, advice)
        # Where secrets are not looked up, they are empty.
        elif 0 < len(provider.session_secret()) < SHORTEST_KEY:
            message = f"`{option}` has fewer than {SHORTEST_KEY} characters, too few for the key of sessions"
            yield Diagnostic("bad-value", message, provider.place.key(option), advice)


def _resources(settings: Settings) -> Iterator[Diagnostic]:
    """Checks that a resource either is open to everyone or names a provider."""
    for resource in sections(settings, providers.Resource):
        asks = [option for option in ("provider", *_KINDS) if resource.place.has(option)]
        if resource.white_list and asks:
            message = f"`whiteList` and `{asks[0]}` contradict each other"
            notes = (Note(f"`{asks[0]}` is given here", resource.place.key(asks[0])),)
            node = resource.place.key("whiteList")
            yield Diagnostic("contradiction", message, node, "leave one of them out", notes)
        elif resource.provider:
            yield from _demands(settings, resource, resource.provider)
        elif not resource.white_list:
            message = "the resource has neither `provider` nor `whiteList`"
            advice = "add `provider` and `basic.credentials`, or `whiteList: true`"
            yield Diagnostic("undecided-resource", message, resource.place.key("path"), advice)


def _demands(settings: Settings, resource: providers.Resource, name: str) -> Iterator[Diagnostic]:
    """Checks that the provider of a resource exists, and that the options of the resource fit it."""
    node = resource.place.value("provider")
    provider = next((each for each in settings.providers if each.name == name), None)
    if provider is None:
        names = [each.name for each in settings.providers]
        near = did_you_mean(name, names)
        others = f"the providers are {enumeration(names)}" if names else "declare it in `authProviders`"
        advice = f"did you mean `{near}`?" if near else others
        yield Diagnostic("unknown-provider", f"unknown provider `{bare(node)}`", node, advice)
        return
    kind = next(option for option, each in _KINDS.items() if isinstance(provider, each))
    for option in _KINDS:
        if option != kind and resource.place.has(option):
            message = f"`{option}` does not fit the provider `{bare(node)}`"
            advice = f"it is one of `authProviders.{kind}`"
            yield Diagnostic("contradiction", message, resource.place.key(option), advice)
    if kind == "basic" and not resource.users:
        message, key = "the resource has a `provider` but no users", resource.place.key("provider")
        yield Diagnostic("missing-credentials", message, key, "add `basic.credentials`")


def _users(settings: Settings) -> Iterator[Diagnostic]:
    for resource in sections(settings, providers.Resource):
        first: dict[str, Span | None] = {}
        for user in resource.users:
            node = user.place.value("user")
            if user.user in first:
                message = f"the user `{bare(node)}` is listed twice, and only the first password counts"
                yield Diagnostic("duplicate-user", message, node, None, (Note("first listed here", first[user.user]),))
            first.setdefault(user.user, node)
    for rule in sections(settings, providers.AccessRule):
        named = [option for option in ("group", "email") if rule.place.has(option)]
        if len(named) != 1:
            message = "a rule names either a `group` or an `email`"
            advice = "make two rules of it" if named else "such as `{group: editors}`"
            yield Diagnostic("access-rule", message, rule.place.key("group"), advice)
        elif rule.regexp:
            try:
                compile_pattern(rule.group or rule.email or "")
            except PatternError as error:
                yield Diagnostic("bad-pattern", str(error), rule.place.value(named[0]), error.help)


def _globs(settings: Settings) -> Iterator[Diagnostic]:
    for target in settings.targets:
        mounts = target.mount.paths
        earlier: list[providers.Resource] = []
        for resource in target.resources:
            node = resource.place.value("path")
            if mistaken := _NO_WILDCARD.search(resource.path):
                message = f"`{mistaken.group()}` is not a wildcard in a glob"
                advice = "`*` matches any part of one segment, `**` any number of segments"
                yield warning("glob-syntax", message, node, advice)
            # Judged by the text before the first wildcard.
            literal, wildcard, _ = resource.path.partition("*")
            covering = (f"{literal}/".startswith(mount) for mount in mounts)
            if wildcard:
                covering = (literal.startswith(mount) or mount.startswith(literal) for mount in mounts)
            if not any(covering):
                message = f"the glob covers nothing of target {_quoted(target)}"
                advice = f"a glob covers the whole request path, the mount included: {enumeration(mounts)}"
                yield warning("outside-mount", message, node, advice)
            before = [each for each in earlier if _covers(each.path, resource.path)]
            if {method for each in before for method in each.methods}.issuperset(resource.methods):
                message = f"`{bare(node)}` is never used: an earlier resource matches first"
                note = Note("this one matches its requests", before[0].place.value("path"))
                advice = "move the special resource above the general one"
                yield warning("unreachable-resource", message, node, advice, (note,))
            earlier.append(resource)


def _covers(general: str, special: str) -> bool:
    """Whether one glob plainly matches all paths that another matches."""
    directory = general.removesuffix("/**")
    plain = directory != general and "*" not in directory
    return general == special or (plain and f"{special}/".startswith(f"{directory}/"))


def _methods(settings: Settings) -> Iterator[Diagnostic]:
    for target in settings.targets:
        methods = target.actions.methods
        covered = {method for resource in target.resources for method in resource.methods}
        writes = [method for method in methods if method in WRITING]
        if writes and not target.resources:
            message = f"everyone may {enumeration(writes)} in target {_quoted(target)}"
            advice = "restrict access with `resources`, or allow everyone there with `whiteList: true`"
            yield warning("open-writes", message, target.actions.place.key(writes[0]), advice)
        for method in (each for each in methods if target.resources and each not in covered and each != "HEAD"):
            message = f"`{method}` is enabled, but no resource covers it, so nobody may use it"
            advice = f"add `{method}` to the `methods` of a resource"
            yield warning("uncovered-method", message, target.place.key("resources"), advice)


def _isolation(settings: Settings) -> Iterator[Diagnostic]:
    for target in settings.targets:
        get = target.actions.get
        if get.user_isolation and not target.resources:
            message = "`userIsolation` needs users, and nobody has to sign in"
            advice = "add `resources` with a `provider`"
            yield Diagnostic("isolation-without-users", message, get.place.key("config"), advice)
        for resource in target.resources:
            if get.user_isolation and resource.white_list:
                message = "`userIsolation` refuses everyone here: nobody signs in"
                yield warning("isolation-without-users", message, resource.place.key("whiteList"))


_PORTS = {"http": 80, "https": 443}
_AWS = ".amazonaws.com"


class Uploads:
    """The places of buckets to which targets take uploads; rules may give an upload any key below a target's prefix."""

    def __init__(self, targets: Iterable[Target]) -> None:
        placed = ((_places(each.bucket, _prefix(each.bucket)), each) for each in targets if each.actions.put.enabled)
        last_first = sorted(placed, key=itemgetter(0))[::-1]  # the first one of a place replaces the others
        self._taken = {places[-1]: target for places, target in last_first}
        self._around = {place: target for places, target in last_first for place in places}

    def above(self, bucket: Bucket, key: str) -> Target | None:
        """Returns a target that takes uploads to an object key, such as a template's; None if there is none."""
        return next((self._taken[each] for each in _places(bucket, key) if each in self._taken), None)

    def within(self, bucket: Bucket) -> Target | None:
        """Returns a target that takes uploads to what is served of a bucket; None if there is none."""
        prefix = _prefix(bucket)
        return self.above(bucket, prefix) or self._around.get(_places(bucket, prefix)[-1])


def _places(bucket: Bucket, key: str) -> list[tuple[str, str, str]]:
    """Returns the directories of an object key from above, each with its bucket and the host and port of its store."""
    scheme = "http" if bucket.disable_ssl else "https"
    endpoint = bucket.s3_endpoint or ""
    url = urlsplit(endpoint if "://" in endpoint else f"{scheme}://{endpoint}")
    host = url.hostname or ""
    store = "" if host.endswith(_AWS) else f"{host}:{url.port or _PORTS.get(url.scheme)}" if host else ""
    path = fold(f"/{key}", bucket.folding)
    return [(bucket.name, store, path[: at + 1]) for at, character in enumerate(path) if character == "/"]


def _prefix(bucket: Bucket) -> str:
    return f"{'/' if bucket.leading_slash else ''}{bucket.prefix}"


def resolved(settings: Settings) -> Settings:
    """Returns settings in which files that another target takes as uploads are attachments, unless the file decides."""
    uploads, targets = Uploads(settings.targets), []
    for target in settings.targets:
        get = target.actions.get
        if get.active_content == "auto" and not target.actions.put.enabled and uploads.within(target.bucket):
            get = replace(get, active_content="attachment")
        targets.append(replace(target, actions=replace(target.actions, get=get)))
    return replace(settings, targets=tuple(targets))


def _served(settings: Settings) -> Iterator[Diagnostic]:
    uploads = Uploads(settings.targets)
    served: dict[str, tuple[Target, list[Target]]] = {}  # by the target that takes the uploads
    for target in settings.targets:
        uploader = uploads.within(target.bucket)
        is_decided = target.actions.get.place.has("config.activeContent") or target.actions.put.enabled
        if uploader is not None and not is_decided and target.actions.get.enabled:
            served.setdefault(uploader.name, (uploader, []))[1].append(target)
    for uploader, targets in served.values():
        other, names = _quoted(uploader), ", ".join(map(_quoted, targets))
        of = f" of {names}" if targets[1:] else ""
        message = f"HTML, SVG and other active files{of} are attachments, since target {other} takes uploads here"
        advice = "set `activeContent: inline` if you trust those who upload, else `attachment`"
        note = Note("the uploads are enabled here", uploader.actions.place.key("PUT"))
        yield warning("shared-uploads", message, targets[0].place.key("bucket"), advice, (note,))


def exposed_templates(target: Target, uploads: Uploads) -> Iterator[tuple[PageOptions | HelperOptions, Target]]:
    """Yields the templates of a target that uploads can replace, each with a target that takes them."""
    pages = (getattr(target.templates, name) for name in PAGES if name != "target_list")
    for each in (*filter(None, pages), *target.templates.helpers):
        reaching = uploads.above(target.bucket, each.path) if each.path and each.in_bucket else None
        if reaching is not None and target.actions.get.active_content != "inline":
            yield each, reaching


def _templates(settings: Settings) -> Iterator[Diagnostic]:
    uploads = Uploads(settings.targets)
    for target in settings.targets:
        for template, uploader in exposed_templates(target, uploads):
            other, node = _quoted(uploader), template.place.value("path")
            message = f"pages of this template run no scripts, since target {other} takes uploads to its key"
            advice = "move it out of the prefix, or set `activeContent: inline` if you trust those who upload"
            yield warning("shared-uploads", message, node, advice)


CHECKS = (
    *(_listeners, _rules, _tls, _certificates, _proxies, _cors, _open_secrets),
    *(_mounts, _percent_escapes, _buckets, _caches, _tried_files, _uploads),
    *(_providers, _oidc_providers, _resources, _users, _globs, _methods, _isolation),
    *(_served, _templates),
)
"""The checks of this module."""
