"""Converts the service's own options, its targets and their actions; closes a target if necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import get_args

import msgspec

from tornado_proxy.config import values
from tornado_proxy.config.actions import CannedAcl
from tornado_proxy.config.server import tls_version
from tornado_proxy.config.values import DAY, InvalidValue
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
from tornado_proxy.tools.convert.resources import Providers, closed, kinds_of, resources
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, rewrites
from tornado_proxy.tools.limits import LONGEST_PREFLIGHT_AGE, MOST_LISTED_KEYS, SHORTEST_TIMEOUT

_LOOPBACK = "127.0.0.1"
_PORTS = {"server": 8080, "internalServer": 9090}
_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9


def listener(name: str, root: Section, files: dict[str, str]) -> dict[str, Setting]:
    """Converts `server` or `internalServer`; texts of certificates and keys are added to `files`."""
    section = root.section(name)
    address = section.text("listenAddr")
    try:
        address = values.listen_address(address)
    except InvalidValue as misfit:
        section.changed("listenAddr", f"`{address}` {misfit.message}: the service listens on {_LOOPBACK} now")
        address = _LOOPBACK
    port = section.whole("port", _PORTS[name])
    if not port:
        section.refused("port", f"`{name}.port` is 0")
    settings: dict[str, Setting] = {"listenAddr": address, "port": port, **_ssl(section, files)}
    compression = _compression(section.section("compress"))
    if name != "server":
        return settings
    if cors := section.enabled("cors"):
        settings["cors"] = cors.copied(
            flags="enabled allowAll allowCredentials optionsPassthrough",
            lists="allowOrigins allowMethods allowHeaders exposeHeaders",
        ) | present({"maxAge": max(0, _at_most(LONGEST_PREFLIGHT_AGE, cors, "maxAge", 0))})
        cors.flag("debug")  # concerns s3-proxy's log only
    cache = section.section("cache")
    if not cache or cache.flag("noCacheEnabled"):
        cache.settle()
        settings["cache"] = {"noCacheEnabled": True}
    else:
        settings |= present({"cache": cache.copied(texts="expires cacheControl pragma xAccelExpires")})
    return settings | {"compress": compression}


def _ssl(server: Section, files: dict[str, str]) -> dict[str, Setting]:
    """Converts the options of TLS; s3-proxy checks them even if it is not enabled."""
    section = server.section("ssl")
    is_enabled, certificates = section.flag("enabled"), section.sections("certificates")
    if is_enabled and not (certificates or section.texts("selfSignedHostnames")):
        section.refused("", f"`{section.path}` has neither `certificates` nor `selfSignedHostnames`")
    for option in ("minTLSVersion", "maxTLSVersion"):
        if section.text(option):
            section.required(option, tls_version)
    here = []
    for number, each in enumerate(certificates, start=1):
        stem = f"certificates/{server.path}-{number}"
        certificate = _key_file(each, "certificate", f"{stem}.crt", files)
        here.append(certificate | _key_file(each, "privateKey", f"{stem}.key", files))
    settings = section.copied(texts="minTLSVersion maxTLSVersion", lists="selfSignedHostnames cipherSuites")
    if is_enabled:
        return {"ssl": present({"certificates": here}) | settings}
    section.settle()
    return {}


def _key_file(section: Section, name: str, place: str, files: dict[str, str]) -> dict[str, Setting]:
    text, url = section.text(name), section.text(f"{name}Url")
    config = section.section(f"{name}UrlConfig")
    if bool(text) == bool(url):
        section.refused(f"{name}Url", f"`{name}` and `{name}Url` are both {'given' if text else 'missing'}")
    if config.seconds("httpTimeout") < 0:
        config.refused("httpTimeout", f"`{config.text('httpTimeout')}` is negative")
    if text:
        files[place] = text
        return {f"{name}Url": place}
    remark_on_relative(section, f"{name}Url")
    settings = config.copied(texts="awsRegion awsEndpoint", flags="awsDisableSSL")
    if duration := config.seconds("httpTimeout"):
        settings["httpTimeout"] = f"{duration * 1000:.0f}ms"
    settings |= present({"awsCredentials": key_pair(config.section("awsCredentials"))})
    return present({f"{name}Url": url}) | ({f"{name}UrlConfig": settings} if config else {})


def _at_most(most: int, section: Section, name: str, default: int) -> int:
    number = section.whole(name, default)
    if number > most:
        section.adapted(name, f"`{number}` is `{most}` here, which has the same effect")
    return min(number, most)


def _compression(section: Section) -> Mapping[str, Setting]:
    """Converts compression; s3-proxy checks its options even if it is off."""
    if section.whole("level", 1) < 1:
        section.refused("level", f"`{section.path}.level` is less than 1")
    if "types" in section and not section.texts("types"):
        section.refused("types", f"`{section.path}.types` is empty")
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
        if duration and not SHORTEST_TIMEOUT <= duration <= DAY:
            timeouts.left_out(name, f"`{timeouts.text(name)}` is not between a tenth of a second and a day")
        elif duration:
            settings[here] = int(duration) if duration == int(duration) else f"{duration * 1000:.0f}ms"
            if difference:
                timeouts.changed(name, f"`limits.{here}` is {difference}")
    return settings


_LEVELS = {
    **{each: each for each in ("debug", "info", "warning", "error")},
    "trace": "debug",
    "warn": "warning",
    "fatal": "error",
    "panic": "error",
}


def log(root: Section) -> dict[str, Setting]:
    """Converts the log, which is JSON by default in s3-proxy."""
    section = root.section("log")
    level = section.text("level", "info")
    here = _LEVELS.get(level.lower(), "")
    if not here:
        section.refused("level", f"`{level}` is not a level")
    elif here != level:
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
    done: Actions = {}
    for name in METHODS:
        action = section.section(name)
        config, enabled = action.section("config"), action.flag("enabled")
        settings = _get(config) | pages.headers(config, "streamedFileHeaders") if name == "GET" else {}
        if name == "PUT" and enabled:
            settings = _put(action, config)
        settings |= present({"webhooks": [hook for each in config.sections("webhooks") if (hook := _webhook(each))]})
        done[name] = {"enabled": enabled, **present({"config": settings})}
        if not enabled:
            action.settle()
    # A target with HEAD alone is converted: only the order of s3-proxy's checks refuses it.
    if not any(action["enabled"] for action in done.values()):
        section.refused("", f"`{section.path}` enables no action")
    return done


# Options of GET whose effect differs, and the difference.
_DIFFERENCES = {
    "redirectWithTrailingSlashForNotFoundFile": (
        "a missing file is redirected only if there is a directory of that name; s3-proxy always redirects"
    ),
    "disableListing": "a directory is answered with 403; s3-proxy shows an empty one",
}


def _get(config: Section) -> dict[str, Setting]:
    # s3-proxy joins the index document to the directory as a path, so slashes at its ends have no effect.
    settings = config.kept("indexDocument", lambda text: values.index_document(text.strip("/")))
    settings |= config.copied(flags=" ".join((*_DIFFERENCES, "redirectToSignedUrl", "userIsolation")))
    for name, difference in _DIFFERENCES.items():
        if name in settings:
            config.changed(name, difference)
    if "userIsolation" in settings:
        settings |= config.copied(lists="userIsolationAdmins")
    duration = config.seconds("signedUrlExpiration")
    if 1 <= duration <= 7 * DAY and duration == int(duration):
        settings["signedUrlExpiration"] = int(duration)
    elif duration:
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

    def templates(section: Section, *names: str) -> dict[str, Setting]:
        return {name: text for each in names for name, text in section.kept(each, values.property_template).items()}

    def canned_acl(text: str) -> str:
        if text not in get_args(CannedAcl):
            raise InvalidValue("is not a canned ACL of objects")
        return text

    metadata = templates(config.section("metadata"), *config.section("metadata").pairs())
    own = {"metadata": metadata, "systemMetadata": templates(config.section("systemMetadata"), *_SYSTEM)}
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride"), **present(own)}
    return settings | templates(config, "storageClass") | config.kept("cannedACL", canned_acl)


def _check_call(method: str, retries: int) -> None:
    if method not in _METHODS_OF_WEBHOOKS:
        raise InvalidValue(f"has the method `{method}`", f"{', '.join(_METHODS_OF_WEBHOOKS)} work")
    if retries < 0:
        raise InvalidValue("has a negative `retryCount`, with which s3-proxy never calls it")


def _webhook(section: Section) -> Mapping[str, Setting]:
    """Converts a webhook; the result is empty if the call has no equivalent."""
    pairs, secrets = section.section("headers").pairs(), section.section("secretHeaders")
    method, count = section.text("method"), section.whole("retryCount", 0)
    try:
        _check_call(method, count)
        values.http_url(section.text("url"))
        values.header_values(tuple(pairs.items()))
        values.header_pairs(tuple((name, "") for name, _ in secrets.named()))
    except InvalidValue as misfit:
        section.settle()
        section.left_out("", f"the webhook is left out: it {misfit.message}", misfit.help)
        return {}
    named = present({name: reference(each) for name, each in secrets.named()})
    settings = section.copied(texts="method url")
    settings |= present({"headers": pairs, "secretHeaders": named, "retryCount": min(count, 100)})
    for name in ("defaultWaitTime", "maxWaitTime"):
        if (duration := section.seconds(name)) > 0:
            settings[name] = f"{min(duration, DAY) * 1000:.0f}ms"
    return settings


_PORT = re.compile(r":[0-9]+\Z")
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
        where, bucket = mount(section.section("mount")), _bucket(section.section("bucket"))
    except Unservable as error:
        before = len(section.remarks)
        resources(section, providers, [method for method, each in actions(section, pages).items() if each["enabled"]])
        del section.remarks[before:]
        section.settle()
        section.closed("", f"the target is left out: {error}")
        return None
    templates, helpers = pages.of_target(section.section("templates"))
    done = actions(section, pages)
    enabled = [method for method in METHODS if done[method]["enabled"]]
    for part in ("mount", "bucket", "actions"):
        if part in section:
            section.carried(part, f"as `targets.{name}.{part}`")
    prefix = section.section("bucket").text("prefix")
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    entries = rewrites(section, Surroundings(prefix, in_front, helpers), keys_as)
    get = section.section("actions").section("GET").section("config")
    if get.flag("userIsolation"):
        if entries:
            message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
            section.changed("keyRewriteList", message)
        if not any(map(kinds_of, section.sections("resources"))):
            get.refused("userIsolation", f"`{section.path}` isolates users, and no resource signs them in")
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


def _why_closed(entries: Sequence[ConvertedRewrite], *, emptied: bool) -> str | None:
    if emptied:
        return "none of its resources could be converted"
    left_out = (each.original for each in entries if isinstance(each.result, LeftOut))
    if any(each.dialect is Dialect.GO and not ignores_client(each.target) for each in left_out):
        return "a rewrite that may depend on the client is left out, and users could read each other's files"
    return None


def mount(section: Section) -> dict[str, list[str] | str]:
    """Converts a mount; raises `Unservable`."""
    if not section:
        raise Unservable("it has no `mount`")
    paths, host = section.texts("path"), section.text("host")
    if not paths:
        # Here `/` is the default; in s3-proxy such a target has no path at all.
        raise Unservable("its `mount` has no `path`, so no request reaches it in s3-proxy")
    settings: dict[str, list[str] | str] = {"path": [_mount_path(each, section) for each in paths]}
    if host in ("", "*"):
        return settings
    bare = _PORT.sub("", host)
    if bare != host:
        section.changed("host", f"`{host}` is `{bare}` on any port: hosts are compared without their port")
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` matches at least one character; in s3-proxy it may match nothing"
        section.changed("host", message)
    return {"host": _checked("host", bare, values.host), **settings}


def _mount_path(path: str, section: Section) -> str:
    """Checks a path of a mount; at the host and path of another one, s3-proxy's router ends the process."""
    place = section.text("host").lower() or "*", path
    if place in section.mounted:
        section.refused("path", f"the mount path `{path}` is given twice for one host")
    section.mounted.add(place)
    if not (path.startswith("/") and path.endswith("/")):
        section.refused("path", f"the mount path `{path}` is not of the form `/…/`")
    if set(path) & set("{}*"):
        raise Unservable(f"the mount path `{path}` is a pattern of s3-proxy's router")
    return _checked("mount path", path, values.mount_path)


def _checked(name: str, text: str, check: Callable[[str], str]) -> str:
    try:
        return check(text)
    except InvalidValue as misfit:
        raise Unservable(f"the {name} `{text}` {misfit.message}") from None


def _bucket(section: Section) -> dict[str, Setting]:
    if not section:
        raise Unservable("it has no `bucket`")
    settings: dict[str, Setting] = {"name": _checked("bucket's name", section.text("name"), values.bucket_name)}
    configured, endpoint = section.text("prefix"), section.text("s3Endpoint")
    directory = _checked("prefix", configured, values.prefix)
    if "//" in directory:
        message = f"the prefix `{configured}` has an empty segment, which s3-proxy's SDK removes from some calls"
        raise Unservable(message)
    if configured.startswith("/"):
        message = f"s3-proxy lists below `{configured}`, where there is nothing; here `{directory}` is listed"
        section.changed("prefix", message)
    settings |= present({"prefix": directory.removesuffix("/")}) | {"region": section.text("region", "us-east-1")}
    settings |= present({"s3Endpoint": endpoint and _checked("endpoint", endpoint, values.endpoint)})
    # s3-proxy's client asks in path style by default.
    path_style = section.flag("s3ForcePathStyle", default=True)
    settings |= section.copied(flags="disableSSL") | {"s3ForcePathStyle": path_style}
    if credentials := section.section("credentials"):
        keys = key_pair(credentials)
        settings |= present({"credentials": keys})
        if not keys:
            message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
            section.changed("credentials", message)
    settings |= present({"requestConfig": _call_headers(section.section("requestConfig"))})
    size, part = section.whole("s3ListMaxKeys", 1000), section.whole("s3UploadPartSize", 0)
    if size != 1000:
        settings["s3ListMaxKeys"] = max(1, min(size, MOST_LISTED_KEYS))
        message = "a listing has links to the following pages, of at most 1000 entries; s3-proxy cuts it off"
        section.changed("s3ListMaxKeys", message)
    if part:
        here = min(max(part, _LEAST_PART), _MOST_PART)
        settings["partSize"] = f"{here}MiB"
        if here != part:
            message = f"`{part}` is `{here}` here: S3 takes no other parts, and s3-proxy's uploads fail"
            section.changed("s3UploadPartSize", message)
    return settings


def _call_headers(section: Section) -> dict[str, Setting]:
    """Converts the headers of calls to S3, unless they affect what the service reads."""
    settings: dict[str, dict[str, str]] = {}
    for option in ("listHeaders", "getHeaders", "putHeaders", "deleteHeaders"):
        for name, value in section.section(option).pairs().items():
            try:
                settings.setdefault(option, {}).update(values.s3_headers(((name, values.s3_header(value)),)))
            except InvalidValue as misfit:
                section.left_out(option, f"`{name}`: {misfit.message}", misfit.help)
    return present(settings)
