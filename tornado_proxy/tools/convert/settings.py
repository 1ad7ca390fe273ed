"""Converts the service's own options, its targets and their actions; closes a target if necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import msgspec

from tornado_proxy.config import values
from tornado_proxy.config.actions import CannedAcl
from tornado_proxy.config.quantities import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.go_targets import Surroundings, ignores_client
from tornado_proxy.tools.convert.options import (
    WORDS,
    OptionOutcome,
    Section,
    Setting,
    key_pair,
    present,
    reference,
    remark_on_relative,
)
from tornado_proxy.tools.convert.pages import PageConversion
from tornado_proxy.tools.convert.resources import Providers, closed, resources
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, rewrites

_LOOPBACK = "127.0.0.1"
_PORTS = {"server": 8080, "internalServer": 9090}
_FILE_ENDINGS = {"certificate": "crt", "privateKey": "key"}  # with the endings of their files
_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9
_LONGEST_AGE = 86400  # seconds; no browser keeps the answer to a preflight for longer


def listener(name: str, root: Section, files: dict[str, str]) -> dict[str, Setting]:
    """Converts `server` or `internalServer`; texts of certificates and keys are added to `files`."""
    section = root.section(name)
    settings: dict[str, Setting] = {"listenAddr": _address(section), "port": section.whole("port", _PORTS[name])}
    settings |= _ssl(section, files)
    if name == "server":
        settings |= _cors(section) | _cache(section) | {"compress": _compression(section)}
    return settings


def _address(section: Section) -> str:
    address = section.text("listenAddr")
    try:
        return values.listen_address(address)
    except InvalidValue as misfit:
        section.changed("listenAddr", f"`{address}` {misfit.message}: the service listens on {_LOOPBACK} now")
        return _LOOPBACK


def _ssl(server: Section, files: dict[str, str]) -> dict[str, Setting]:
    section = server.enabled("ssl")
    if not section:
        return {}
    certificates = [
        _certificate(each, f"certificates/{server.path}-{number}", files)
        for number, each in enumerate(section.sections("certificates"), start=1)
    ]
    settings = section.copied(texts="minTLSVersion maxTLSVersion", lists="selfSignedHostnames cipherSuites")
    return {"ssl": present({"certificates": certificates}) | settings}


def _certificate(section: Section, stem: str, files: dict[str, str]) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    for name, ending in _FILE_ENDINGS.items():
        if text := section.text(name):
            files[f"{stem}.{ending}"] = text
            settings[f"{name}Url"] = f"{stem}.{ending}"
            continue
        settings |= section.copied(texts=f"{name}Url")
        remark_on_relative(section, f"{name}Url")
        if config := section.section(f"{name}UrlConfig"):
            settings[f"{name}UrlConfig"] = _url_config(config)
    return settings


def _url_config(section: Section) -> dict[str, Setting]:
    settings = section.copied(texts="awsRegion awsEndpoint", flags="awsDisableSSL")
    if duration := section.seconds("httpTimeout"):
        settings["httpTimeout"] = f"{duration * 1000:.0f}ms"
    return settings | present({"awsCredentials": key_pair(section.section("awsCredentials"))})


def _cors(server: Section) -> dict[str, Setting]:
    section = server.enabled("cors")
    if not section:
        return {}
    section.flag("debug")  # concerns s3-proxy's log only
    settings = section.copied(
        flags="enabled allowAll allowCredentials optionsPassthrough",
        lists="allowOrigins allowMethods allowHeaders exposeHeaders",
    )
    if age := _at_most(_LONGEST_AGE, section, "maxAge", 0):
        settings["maxAge"] = max(0, age)
    return {"cors": settings}


def _at_most(most: int, section: Section, name: str, default: int) -> int:
    number = section.whole(name, default)
    if number > most:
        section.adapted(name, f"`{number}` is `{most}` here, which has the same effect")
    return min(number, most)


def _cache(server: Section) -> dict[str, Setting]:
    section = server.section("cache")
    if not section or section.flag("noCacheEnabled"):
        section.settle()
        return {"cache": {"noCacheEnabled": True}}
    headers = section.copied(texts="expires cacheControl pragma xAccelExpires")
    return {"cache": headers} if headers else {}


def _compression(server: Section) -> Mapping[str, Setting]:
    section = server.section("compress")
    if not section.flag("enabled", default=True):
        section.settle()
        return {"enabled": False}
    settings: dict[str, Setting] = {"minSize": 0}  # s3-proxy compresses the smallest answers too
    level = _at_most(_HIGHEST_LEVEL, section, "level", _DEFAULT_LEVEL)
    if level != _DEFAULT_LEVEL:
        settings["level"] = level
    types: list[Setting] = []
    for each in section.texts("types"):
        try:
            types.append(values.media_type(each))
        except InvalidValue as misfit:
            section.left_out("types", f"a type {misfit.message}", misfit.help)
    return settings | present({"types": types})


_SHORTEST = 0.1  # seconds

# s3-proxy's time-outs: our names, and the differences of ours.
_TIMEOUTS = {
    "idleTimeout": ("idleTimeout", ""),
    "readHeaderTimeout": ("headerTimeout", ""),
    "readTimeout": ("bodyTimeout", "how long a client may send nothing, not how long a whole request may take"),
    "writeTimeout": ("sendTimeout", "how long a client may take nothing, not how long a whole answer may take"),
}


def limits(root: Section) -> dict[str, Setting]:
    """Converts the time-outs of the server; ours bound the time without progress, not a whole request or answer."""
    timeouts = root.section("server").section("timeouts")
    settings: dict[str, Setting] = {}
    for name, (here, difference) in _TIMEOUTS.items():
        duration = timeouts.seconds(name)
        if duration and not _SHORTEST <= duration <= DAY:
            message = f"`{timeouts.text(name)}` is not between a tenth of a second and a day"
            timeouts.left_out(name, message)
        elif duration:
            settings[here] = int(duration) if duration == int(duration) else f"{duration * 1000:.0f}ms"
            if difference:
                timeouts.changed(name, f"`limits.{here}` is {difference}")
    return settings


LEVELS = {
    **{each: each for each in ("debug", "info", "warning", "error")},
    "trace": "debug",
    "warn": "warning",
    "fatal": "error",
    "panic": "error",
}
"""Our level for each of s3-proxy's."""


def log(root: Section) -> dict[str, Setting]:
    """Converts the log, which is JSON by default in s3-proxy."""
    section = root.section("log")
    level = section.text("level", "info")
    here = LEVELS[level.lower()]
    if here != level:
        section.adapted("level", f"the level `{level}` is `{here}` here")
    return {"level": here, "format": "json" if section.text("format", "json") == "json" else "text"}


_FATES = tuple(
    (re.compile(pattern, re.IGNORECASE), OptionOutcome(outcome), message)
    for outcome, messages in WORDS["options"].items()
    for pattern, message in messages.items()
)
UNKNOWN = "this is not a known option of s3-proxy"


def fate(path: str) -> tuple[OptionOutcome, str]:
    """Returns the outcome for an option that no other part converts, and the reason."""
    fates = ((outcome, message) for pattern, outcome, message in _FATES if pattern.fullmatch(path))
    return next(fates, (OptionOutcome.LEFT_OUT, UNKNOWN))


Actions = dict[str, dict[str, Setting]]


def actions(target: Section, pages: PageConversion) -> Actions:
    """Converts the actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    if not section:
        return {name: {"enabled": name == "GET"} for name in METHODS}
    return {name: _action(name, section.section(name), pages) for name in METHODS}


def _action(name: str, section: Section, pages: PageConversion) -> dict[str, Setting]:
    enabled = section.flag("enabled")
    config = section.section("config")
    settings: dict[str, Setting] = {}
    if name == "GET":
        settings = _get(config) | pages.headers(config, "streamedFileHeaders")
    if name == "PUT" and enabled:
        settings = _put(section, config)
    if hooks := [hook for each in config.sections("webhooks") if (hook := _webhook(each))]:
        settings["webhooks"] = hooks
    if not enabled:
        section.settle()
    return {"enabled": enabled, "config": settings} if settings else {"enabled": enabled}


# Options of GET whose effect differs, and the difference.
_DIFFERENCES = {
    "redirectWithTrailingSlashForNotFoundFile": (
        "a missing file is redirected only if there is a directory of that name; s3-proxy always redirects"
    ),
    "disableListing": "a directory is answered with 403; s3-proxy shows an empty one",
}


def _get(config: Section) -> dict[str, Setting]:
    flags = " ".join((*_DIFFERENCES, "redirectToSignedUrl", "userIsolation"))
    # s3-proxy joins it to the directory as a path, so slashes at its ends have no effect.
    index = config.kept("indexDocument", lambda text: values.index_document(text.strip("/")))
    settings = index | config.copied(flags=flags)
    for name, difference in _DIFFERENCES.items():
        if name in settings:
            config.changed(name, difference)
    if "userIsolation" in settings:
        settings |= config.copied(lists="userIsolationAdmins")
    if duration := config.seconds("signedUrlExpiration"):
        if 1 <= duration <= 7 * DAY and duration == int(duration):
            settings["signedUrlExpiration"] = int(duration)
        else:
            text = config.text("signedUrlExpiration")
            message = f"`{text}` is not a whole number of seconds up to 7 days, as S3 demands; it is 15 minutes now"
            config.left_out("signedUrlExpiration", message)
    return settings


_OF_UPLOADS = (
    (
        "the path of an upload has to end in `/`: without, the answer is 400; s3-proxy adds the slash",
        "let the clients add it, or set `rawUploads: true`, which stores the body sent to a path without it",
    ),
    (
        "files that browsers might run, such as HTML and SVG, are sent as attachments if uploads are enabled",
        "if you trust those who upload, set `activeContent: inline` in GET's `config`",
    ),
)
_METHODS_OF_WEBHOOKS = ("POST", "PATCH", "PUT", "DELETE")
_SYSTEM = ("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "expires")


def _put(action: Section, config: Section) -> dict[str, Setting]:
    for message, advice in _OF_UPLOADS:
        action.changed("", message, advice)
    if not config:
        message = "files may be replaced, as s3-proxy's code allows if PUT has no `config`; its documentation differs"
        action.changed("config", message, "set `allowOverride: false` unless you want that")
        return {"allowOverride": True}
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride")}
    metadata, system = config.section("metadata"), config.section("systemMetadata")
    own = {"metadata": _templates(metadata, tuple(metadata.pairs())), "systemMetadata": _templates(system, _SYSTEM)}
    return settings | present(own) | _templates(config, ("storageClass",)) | config.kept("cannedACL", _canned_acl)


def _templates(section: Section, names: tuple[str, ...]) -> dict[str, Setting]:
    return {name: text for each in names for name, text in section.kept(each, values.property_template).items()}


def _canned_acl(text: str) -> str:
    if text not in get_args(CannedAcl):
        raise InvalidValue("is not a canned ACL of objects")
    return text


def _check_call(method: str, retries: int) -> None:
    if method not in _METHODS_OF_WEBHOOKS:
        raise InvalidValue(f"has the method `{method}`", f"{', '.join(_METHODS_OF_WEBHOOKS)} work")
    if retries < 0:
        raise InvalidValue("has a negative `retryCount`, with which s3-proxy never calls it")


def _webhook(section: Section) -> Mapping[str, Setting]:
    """Converts a webhook; the result is empty if the call has no equivalent."""
    pairs, secrets = section.section("headers").pairs(), section.section("secretHeaders")
    try:
        _check_call(section.text("method"), section.whole("retryCount", 0))
        values.http_url(section.text("url"))
        values.header_values(tuple(pairs.items()))
        values.header_pairs(tuple((name, "") for name, _ in secrets.named()))
    except InvalidValue as misfit:
        section.settle()
        section.left_out("", f"the webhook is left out: it {misfit.message}", misfit.help)
        return {}
    named = present({name: reference(each) for name, each in secrets.named()})
    count = min(section.whole("retryCount", 0), 100)
    settings = section.copied(texts="method url")
    settings |= present({"headers": pairs, "secretHeaders": named, "retryCount": count})
    for name in ("defaultWaitTime", "maxWaitTime"):
        if (duration := section.seconds(name)) > 0:
            settings[name] = f"{min(duration, DAY) * 1000:.0f}ms"
    return settings


_PORT = re.compile(r":[0-9]+\Z")
_MOST_KEYS = 10_000
_LEAST_PART, _MOST_PART = 5, 5120  # MiB


class Unservable(Exception):
    """A target that cannot be converted; the text is the reason."""


class ConvertedTarget(msgspec.Struct, frozen=True):
    """A target's settings, its rewrites, and the reason if it is closed to everyone."""

    name: str
    settings: Mapping[str, Setting]
    entries: tuple[ConvertedRewrite, ...] = ()
    closed: str | None = None
    paths: tuple[str, ...] = ()  # of the mount


def target(
    name: str, section: Section, providers: Providers, pages: PageConversion, keys_as: KeysAs
) -> ConvertedTarget | None:
    """Converts a target; returns None if that is impossible, so that its requests are answered with 404."""
    try:
        where = mount(section.section("mount") or _missing("mount"))
        bucket_section = section.section("bucket") or _missing("bucket")
        bucket = _bucket(bucket_section)
    except Unservable as error:
        section.settle()
        section.closed("", f"the target is left out: {error}")
        return None
    templates, helpers = pages.of_target(section.section("templates"))
    done = actions(section, pages)
    for part in ("mount", "bucket", "actions"):
        if part in section:
            section.carried(part, f"as `targets.{name}.{part}`")
    prefix = bucket_section.text("prefix")
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    entries = rewrites(section, Surroundings(prefix, in_front, helpers), keys_as)
    get = done["GET"].get("config")
    if entries and isinstance(get, Mapping) and "userIsolation" in get:
        message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
        section.changed("keyRewriteList", message)
    enabled = [method for method in METHODS if done[method]["enabled"]]
    had_resources, kept = resources(section, providers, enabled)
    reason = _why_closed(entries, emptied=had_resources and not kept)
    if reason:
        resource, off = closed(where["path"][0], enabled)
        done[off] = {"enabled": False}
        kept = [resource]
        message = f"the target is closed to everyone, each request is answered with 403: {reason}"
        section.closed("", message, "write its `resources` and rules, then open it")
    here: dict[str, Setting] = {"mount": where, "bucket": bucket, "actions": done}
    settings = here | present({"resources": kept, "templates": templates})
    return ConvertedTarget(name, settings, tuple(entries), reason, tuple(where["path"]))


def _missing(name: str) -> Section:
    raise Unservable(f"it has no `{name}`")


def mount(section: Section) -> dict[str, list[str] | str]:
    """Converts a mount; raises `Unservable`."""
    paths = section.texts("path")
    if not paths:
        # Here `/` is the default; in s3-proxy such a target has no path at all.
        raise Unservable("its `mount` has no `path`, so no request reaches it in s3-proxy")
    for each in paths:
        if set(each) & set("{}*"):
            raise Unservable(f"the mount path `{each}` is a pattern of s3-proxy's router")
    settings: dict[str, list[str] | str] = {"path": [_checked("mount path", each, values.mount_path) for each in paths]}
    host = section.text("host")
    return {"host": _host(host, section), **settings} if host not in ("", "*") else settings


def _checked(name: str, text: str, check: Callable[[str], str]) -> str:
    try:
        return check(text)
    except InvalidValue as misfit:
        raise Unservable(f"the {name} `{text}` {misfit.message}") from None


def _host(host: str, section: Section) -> str:
    bare = _PORT.sub("", host)
    if bare != host:
        message = f"`{host}` is `{bare}` on any port: hosts are compared without their port"
        section.changed("host", message)
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` matches at least one character; in s3-proxy it may match nothing"
        section.changed("host", message)
    return _checked("host", bare, values.host)


def _bucket(section: Section) -> dict[str, Setting]:
    settings: dict[str, Setting] = {"name": _checked("bucket's name", section.text("name"), values.bucket_name)}
    configured = section.text("prefix")
    directory = _checked("prefix", configured, values.prefix)
    if "//" in directory:
        message = f"the prefix `{configured}` has an empty segment, which s3-proxy's SDK removes from some calls"
        raise Unservable(message)
    if directory:
        settings["prefix"] = directory.removesuffix("/")
    if configured.startswith("/"):
        message = (
            f"s3-proxy lists below `{configured}`, where there is nothing; here the directory `{directory}` is listed"
        )
        section.changed("prefix", message)
    settings["region"] = section.text("region", "us-east-1")
    if endpoint := section.text("s3Endpoint"):
        settings["s3Endpoint"] = _checked("endpoint", endpoint, values.endpoint)
    # s3-proxy's client asks in path style by default.
    settings |= section.copied(flags="disableSSL")
    settings["s3ForcePathStyle"] = section.flag("s3ForcePathStyle", default=True)
    if credentials := section.section("credentials"):
        if keys := key_pair(credentials):
            settings["credentials"] = keys
        else:
            message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
            section.changed("credentials", message)
    return settings | present({"requestConfig": _call_headers(section.section("requestConfig"))}) | _sizes(section)


def _sizes(section: Section) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    size = section.whole("s3ListMaxKeys", 1000)
    if size != 1000:
        settings["s3ListMaxKeys"] = max(1, min(size, _MOST_KEYS))
        message = "a listing has links to the following pages, of at most 1000 entries; s3-proxy cuts it off"
        section.changed("s3ListMaxKeys", message)
    if part := section.whole("s3UploadPartSize", 0):
        here = min(max(part, _LEAST_PART), _MOST_PART)
        settings["partSize"] = f"{here}MiB"
        if here != part:
            message = f"`{part}` is `{here}` here: S3 takes no other parts, and s3-proxy's uploads fail"
            section.changed("s3UploadPartSize", message)
    return settings


def _call_headers(section: Section) -> dict[str, Setting]:
    """Converts the headers of calls to S3, unless they affect what the service reads."""
    settings: dict[str, Setting] = {}
    for option in ("listHeaders", "getHeaders", "putHeaders", "deleteHeaders"):
        headers: dict[str, Setting] = {}
        for name, value in section.section(option).pairs().items():
            try:
                headers.update(values.s3_headers(((name, values.s3_header(value)),)))
            except InvalidValue as misfit:
                section.left_out(option, f"`{name}`: {misfit.message}", misfit.help)
        if headers:
            settings[option] = headers
    return settings


def _why_closed(entries: Sequence[ConvertedRewrite], *, emptied: bool) -> str | None:
    if emptied:
        return "none of its resources could be converted"
    left_out = (each.original for each in entries if isinstance(each.result, LeftOut))
    if any(each.dialect is Dialect.GO and not ignores_client(each.target) for each in left_out):
        return "a rewrite that may depend on the client is left out, and users could read each other's files"
    return None
