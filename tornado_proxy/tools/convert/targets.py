"""Converts an s3-proxy target: its mount and bucket here, its other options elsewhere; closes it if necessary."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec

from tornado_proxy.config import values
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.tools.convert.actions import PageConversion, actions
from tornado_proxy.tools.convert.go_targets import Surroundings, ignores_client
from tornado_proxy.tools.convert.options import OptionOutcome, Section, Setting, key_pair, present
from tornado_proxy.tools.convert.resources import Providers, closed, resources
from tornado_proxy.tools.convert.rewrites import ConvertedRewrite, KeysAs, LeftOut, rewrites

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
        section.remark(OptionOutcome.CLOSED, "", f"the target is left out: {error}")
        return None
    templates, helpers = pages.of_target(section.section("templates"))
    done = actions(section, pages)
    for part in ("mount", "bucket", "actions"):
        if part in section:
            section.remark(OptionOutcome.CARRIED, part, f"as `targets.{name}.{part}`")
    prefix = bucket_section.text("prefix")
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    entries = rewrites(section, Surroundings(prefix, in_front, helpers), keys_as)
    get = done["GET"].get("config")
    if entries and isinstance(get, Mapping) and "userIsolation" in get:
        message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
        section.remark(OptionOutcome.CHANGED, "keyRewriteList", message)
    enabled = [method for method in METHODS if done[method]["enabled"]]
    had_resources, kept = resources(section, providers, enabled)
    reason = _why_closed(entries, emptied=had_resources and not kept)
    if reason:
        resource, off = closed(where["path"][0], enabled)
        done[off] = {"enabled": False}
        kept = [resource]
        message = f"the target is closed to everyone, each request is answered with 403: {reason}"
        section.remark(OptionOutcome.CLOSED, "", message, "write its `resources` and rules, then open it")
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
        section.remark(OptionOutcome.CHANGED, "host", message)
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` matches at least one character; in s3-proxy it may match nothing"
        section.remark(OptionOutcome.CHANGED, "host", message)
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
        section.remark(OptionOutcome.CHANGED, "prefix", message)
    settings["region"] = section.text("region", "us-east-1")
    if endpoint := section.text("s3Endpoint"):
        settings["s3Endpoint"] = _checked("endpoint", endpoint, values.endpoint)
    # s3-proxy's client asks in path style by default.
    settings |= section.copied(flags=("disableSSL",))
    settings["s3ForcePathStyle"] = section.flag("s3ForcePathStyle", default=True)
    if credentials := section.section("credentials"):
        if keys := key_pair(credentials):
            settings["credentials"] = keys
        else:
            message = "one of the two keys is missing, so both are left out, and credentials are searched for elsewhere"
            section.remark(OptionOutcome.CHANGED, "credentials", message)
    return settings | present({"requestConfig": _call_headers(section.section("requestConfig"))}) | _sizes(section)


def _sizes(section: Section) -> dict[str, Setting]:
    settings: dict[str, Setting] = {}
    size = section.whole("s3ListMaxKeys", 1000)
    if size != 1000:
        settings["s3ListMaxKeys"] = max(1, min(size, _MOST_KEYS))
        message = "a listing has links to the following pages, of at most 1000 entries; s3-proxy cuts it off"
        section.remark(OptionOutcome.CHANGED, "s3ListMaxKeys", message)
    if part := section.whole("s3UploadPartSize", 0):
        here = min(max(part, _LEAST_PART), _MOST_PART)
        settings["partSize"] = f"{here}MiB"
        if here != part:
            message = f"`{part}` is `{here}` here: S3 takes no other parts, and s3-proxy's uploads fail"
            section.remark(OptionOutcome.CHANGED, "s3UploadPartSize", message)
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
                section.remark(OptionOutcome.LEFT_OUT, option, f"`{name}`: {misfit.message}", misfit.help)
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
