"""Converts the service's own options, its targets and their actions; closes a target if necessary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tornado_proxy.config.actions import Actions
from tornado_proxy.config.model import Bucket
from tornado_proxy.config.secrets import Credentials
from tornado_proxy.config.server import CacheHeaders, Cors, Ssl
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.go_targets import Surroundings, ignores_client
from tornado_proxy.tools.convert.options import (
    Section,
    Setting,
    present,
    remark_on_relative,
)
from tornado_proxy.tools.convert.pages import PageConversion
from tornado_proxy.tools.convert.resources import Providers, closed, resources, signs_in
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, rewrites
from tornado_proxy.tools.limits import LONGEST_PREFLIGHT_AGE, MOST_LISTED_KEYS

_PORTS = {"server": 8080, "internalServer": 9090}
_DEFAULT_LEVEL, _HIGHEST_LEVEL = 5, 9


def listener(name: str, root: Section) -> dict[str, Setting]:
    """Converts `server` or `internalServer`."""
    section = root.section(name)
    address, port = section.text("listenAddr"), section.whole("port", _PORTS[name])
    settings: dict[str, Setting] = {"listenAddr": address, "port": port}
    settings |= _ssl(section.section("ssl"))
    if name != "server":
        return settings
    cors, cache = section.section("cors"), section.section("cache")
    if cors.flag("enabled"):
        age = min(cors.whole("maxAge", 0), LONGEST_PREFLIGHT_AGE)
        settings["cors"] = cors.translated(Cors) | present({"maxAge": age})
    if not cache or cache.flag("noCacheEnabled"):
        settings["cache"] = {"noCacheEnabled": True}
    else:
        settings |= present({"cache": cache.translated(CacheHeaders)})
    return settings | {"compress": _compression(section.section("compress"))}


def _ssl(section: Section) -> dict[str, Setting]:
    if not section.flag("enabled"):
        return {}
    for each in section.sections("certificates"):
        for url in ("certificateUrl", "privateKeyUrl"):
            remark_on_relative(each, url)
    return {"ssl": section.translated(Ssl)}


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


def actions(target: Section) -> dict[str, dict[str, Any]]:
    """Converts the actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    given: dict[str, Any] = section.translated(Actions)
    done: dict[str, dict[str, Any]] = {
        name: {"enabled": not section and name == "GET", **given.get(name, {})} for name in METHODS
    }
    put, options = section.section("PUT"), done["GET"].get("config", {})
    if put.flag("enabled") and not put.section("config"):
        message = "files may be replaced, as s3-proxy's code allows if PUT has no `config`; its documentation differs"
        put.changed("config", message, "set `allowOverride: false` unless you want that")
        done["PUT"]["config"] = {"allowOverride": True}
    if "indexDocument" in options:
        # s3-proxy joins it to the directory as a path, so slashes at its ends have no effect.
        options["indexDocument"] = options["indexDocument"].strip("/")
    # A target with HEAD alone is converted: only the order of s3-proxy's checks refuses it.
    if not any(action["enabled"] for action in done.values()):
        section.refused("", f"`{section.path}` enables no action")
    return done


_PORT = re.compile(r":[0-9]+\Z")
_KEYS = ("accessKey", "secretKey")
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
    configured = section.text("prefix")
    directory = configured.strip("/")
    if "//" in directory:
        message = f"the prefix `{configured}` has an empty segment, which s3-proxy's SDK removes from some calls"
        raise Unservable(message)
    if configured.startswith("/"):
        message = f"s3-proxy lists below `{configured}`, where there is nothing; here `{directory}/` is listed"
        section.changed("prefix", message)
    # s3-proxy's client asks in path style by default.
    own: dict[str, Setting] = {"prefix": directory, "s3ForcePathStyle": section.flag("s3ForcePathStyle", default=True)}
    settings: dict[str, Setting] = {
        "name": "",
        "prefix": "",
        "region": "us-east-1",
        **section.translated(Bucket),
        **own,
    }
    if "credentials" in section and len(section.section("credentials").translated(Credentials)) < len(_KEYS):
        del settings["credentials"]
        message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
        section.changed("credentials", message)
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
    return present(settings)
