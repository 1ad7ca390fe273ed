"""Converts the service's own options, its targets and their actions; closes a target if necessary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.go_targets import Surroundings, ignores_client
from tornado_proxy.tools.convert.options import (
    Section,
    Setting,
    key_pair,
    present,
    reference,
    remark_on_relative,
)
from tornado_proxy.tools.convert.pages import PageConversion
from tornado_proxy.tools.convert.resources import Providers, closed, resources, signs_in
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, rewrites
from tornado_proxy.tools.limits import LONGEST_PREFLIGHT_AGE, MOST_LISTED_KEYS

_PORTS = {"server": 8080, "internalServer": 9090}
_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9


def listener(name: str, root: Section, files: dict[str, str]) -> dict[str, Setting]:
    """Converts `server` or `internalServer`; texts of certificates and keys are added to `files`."""
    section = root.section(name)
    address, port = section.text("listenAddr"), section.whole("port", _PORTS[name])
    settings: dict[str, Setting] = {"listenAddr": address, "port": port}
    settings |= _ssl(name, section.section("ssl"), files)
    if name != "server":
        return settings
    cors, cache = section.section("cors"), section.section("cache")
    if cors.flag("enabled"):
        settings["cors"] = cors.copied(
            flags="enabled allowAll allowCredentials optionsPassthrough",
            lists="allowOrigins allowMethods allowHeaders exposeHeaders",
        ) | present({"maxAge": min(cors.whole("maxAge", 0), LONGEST_PREFLIGHT_AGE)})
    if not cache or cache.flag("noCacheEnabled"):
        settings["cache"] = {"noCacheEnabled": True}
    else:
        settings |= present({"cache": cache.copied(texts="expires cacheControl pragma xAccelExpires")})
    return settings | {"compress": _compression(section.section("compress"))}


def _ssl(listener: str, section: Section, files: dict[str, str]) -> dict[str, Setting]:
    if not section.flag("enabled"):
        return {}
    here = []
    for number, each in enumerate(section.sections("certificates"), start=1):
        stem = f"certificates/{listener}-{number}"
        certificate = _key_file(each, "certificate", f"{stem}.crt", files)
        here.append(certificate | _key_file(each, "privateKey", f"{stem}.key", files))
    settings = section.copied(texts="minTLSVersion maxTLSVersion", lists="selfSignedHostnames cipherSuites")
    return {"ssl": present({"certificates": here}) | settings}


def _key_file(section: Section, name: str, place: str, files: dict[str, str]) -> dict[str, Setting]:
    config, text, url = section.section(f"{name}UrlConfig"), section.text(name), section.text(f"{name}Url")
    if text and not url:
        files[place] = text
        return {f"{name}Url": place}
    remark_on_relative(section, f"{name}Url")
    settings = config.copied(texts="awsRegion awsEndpoint", flags="awsDisableSSL", durations="httpTimeout")
    settings |= present({"awsCredentials": key_pair(config.section("awsCredentials"))})
    return present({name: text, f"{name}Url": url, f"{name}UrlConfig": settings})


def _compression(section: Section) -> Mapping[str, Setting]:
    if not section.flag("enabled", default=True):
        return {"enabled": False}
    settings: dict[str, Setting] = {"minSize": 0}  # s3-proxy compresses the smallest answers too
    if (level := section.whole("level", _DEFAULT_LEVEL)) != _DEFAULT_LEVEL:
        settings["level"] = min(level, _HIGHEST_LEVEL)
    return settings | ({"types": section.texts("types")} if "types" in section else {})


# s3-proxy's time-outs, and ours.
_TIMEOUTS = {
    "idleTimeout": "idleTimeout",
    "readHeaderTimeout": "headerTimeout",
    "readTimeout": "bodyTimeout",
    "writeTimeout": "sendTimeout",
}


def limits(root: Section) -> dict[str, Setting]:
    """Converts the time-outs of the server; ours bound the time without progress, not a whole request or answer."""
    timeouts = root.section("server").section("timeouts")
    return present({here: timeouts.duration(name) for name, here in _TIMEOUTS.items()})


_LEVELS = {"trace": "debug", "warn": "warning", "fatal": "error", "panic": "error"}


def log(root: Section) -> dict[str, Setting]:
    """Converts the log, which is JSON by default in s3-proxy."""
    section = root.section("log")
    level = section.text("level", "info").lower()
    return {
        "level": _LEVELS.get(level, level),
        "format": "json" if section.text("format", "json") == "json" else "text",
    }


Actions = dict[str, dict[str, Setting]]


def actions(target: Section) -> Actions:
    """Converts the actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    if not section:
        return {name: {"enabled": name == "GET"} for name in METHODS}
    done: Actions = {}
    for name in METHODS:
        action = section.section(name)
        config, enabled = action.section("config"), action.flag("enabled")
        settings = _get(config) if name == "GET" else {}
        if name == "PUT" and enabled:
            settings = _put(action, config)
        settings |= present({"webhooks": [*map(_webhook, config.sections("webhooks"))]})
        done[name] = {"enabled": enabled, **present({"config": settings})}
    # A target with HEAD alone is converted: only the order of s3-proxy's checks refuses it.
    if not any(action["enabled"] for action in done.values()):
        section.refused("", f"`{section.path}` enables no action")
    return done


def _get(config: Section) -> dict[str, Setting]:
    # s3-proxy joins the index document to the directory as a path, so slashes at its ends have no effect.
    index, headers = config.text("indexDocument").strip("/"), config.section("streamedFileHeaders").pairs()
    flags = "redirectWithTrailingSlashForNotFoundFile disableListing redirectToSignedUrl userIsolation"
    settings = present({"indexDocument": index, "streamedFileHeaders": headers})
    settings |= config.copied(flags=flags, durations="signedUrlExpiration")
    return settings | (config.copied(lists="userIsolationAdmins") if "userIsolation" in settings else {})


_SYSTEM = "cacheControl contentDisposition contentEncoding contentLanguage expires"


def _put(action: Section, config: Section) -> dict[str, Setting]:
    if not config:
        message = "files may be replaced, as s3-proxy's code allows if PUT has no `config`; its documentation differs"
        action.changed("config", message, "set `allowOverride: false` unless you want that")
        return {"allowOverride": True}
    settings: dict[str, Setting] = {"allowOverride": config.flag("allowOverride")}
    system = config.section("systemMetadata").copied(texts=_SYSTEM)
    settings |= present({"metadata": present(config.section("metadata").pairs()), "systemMetadata": system})
    return settings | config.copied(texts="storageClass cannedACL")


def _webhook(section: Section) -> Mapping[str, Setting]:
    secrets = {name: reference(each) for name, each in section.section("secretHeaders").named()}
    settings = section.copied(texts="method url", durations="defaultWaitTime maxWaitTime")
    settings |= present({"headers": section.section("headers").pairs(), "secretHeaders": present(secrets)})
    return settings | present({"retryCount": min(section.whole("retryCount", 0), _MOST_RETRIES)})


_PORT = re.compile(r":[0-9]+\Z")
_CALLS = {name.lower(): name for name in ("listHeaders", "getHeaders", "putHeaders", "deleteHeaders")}
_MOST_RETRIES = 100  # of a webhook, here
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
        section.closed("", f"the target is left out: {error}")
        return None
    templates, helpers = pages.of_target(section.section("templates"))
    done = actions(section)
    enabled = [method for method in METHODS if done[method]["enabled"]]
    for part in ("mount", "bucket", "actions"):
        if part in section:
            section.carried(part, f"as `targets.{name}.{part}`")
    prefix = section.section("bucket").text("prefix")
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    entries = rewrites(section, Surroundings(prefix, in_front, helpers), keys_as)
    get = section.section("actions").section("GET").section("config")
    if get.flag("userIsolation") and not any(map(signs_in, section.sections("resources"))):
        get.refused("userIsolation", f"`{section.path}` isolates users, and no resource signs them in")
    if entries and get.flag("userIsolation"):
        message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
        section.changed("keyRewriteList", message)
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
    for path in paths:
        if not (path.startswith("/") and path.endswith("/")):
            section.refused("path", f"the mount path `{path}` is not of the form `/…/`")
        if set(path) & set("{}*"):
            raise Unservable(f"the mount path `{path}` is a pattern of s3-proxy's router")
    settings: dict[str, list[str] | str] = {"path": paths}
    if host in ("", "*"):
        return settings
    bare = _PORT.sub("", host)
    if bare != host:
        section.changed("host", f"`{host}` is `{bare}` on any port: hosts are compared without their port")
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` matches at least one character; in s3-proxy it may match nothing"
        section.changed("host", message)
    return {"host": bare.lower(), **settings}


def _bucket(section: Section) -> dict[str, Setting]:
    if not section:
        raise Unservable("it has no `bucket`")
    settings: dict[str, Setting] = {"name": section.text("name")}
    configured = section.text("prefix")
    directory = configured.strip("/")
    if "//" in directory:
        message = f"the prefix `{configured}` has an empty segment, which s3-proxy's SDK removes from some calls"
        raise Unservable(message)
    if configured.startswith("/"):
        message = f"s3-proxy lists below `{configured}`, where there is nothing; here `{directory}/` is listed"
        section.changed("prefix", message)
    settings |= present({"prefix": directory}) | {"region": section.text("region", "us-east-1")}
    settings |= section.copied(texts="s3Endpoint")
    # s3-proxy's client asks in path style by default.
    path_style = section.flag("s3ForcePathStyle", default=True)
    settings |= section.copied(flags="disableSSL") | {"s3ForcePathStyle": path_style}
    if credentials := section.section("credentials"):
        keys = key_pair(credentials)
        settings |= present({"credentials": keys})
        if not keys:
            message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
            section.changed("credentials", message)
    headers = {name: each.pairs() for name, each in section.section("requestConfig").named()}
    settings |= present({"requestConfig": {_CALLS[name]: pairs for name, pairs in headers.items() if name in _CALLS}})
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
