"""Converts an s3-proxy target: its mount, actions, resources and rule file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tornado_proxy.config import values
from tornado_proxy.config.options import DAY
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.tools.convert.buckets import ConvertedBucket, Unservable, bucket, upload_settings, webhooks
from tornado_proxy.tools.convert.go_targets import Surroundings, ignores_client
from tornado_proxy.tools.convert.options import OptionOutcome, Section, refusal, seconds
from tornado_proxy.tools.convert.output import Noted, Setting
from tornado_proxy.tools.convert.pages import PageConversion
from tornado_proxy.tools.convert.resources import Providers, closed, resources
from tornado_proxy.tools.convert.rewrites import (
    ConvertedRewrite,
    KeysAs,
    LeftOut,
    Never,
    Written,
    converted,
    given_entries,
    helper_bodies,
)

_PORT = re.compile(r":[0-9]+\Z")


def mount(section: Section) -> Mapping[str, Setting]:
    """The mount; raises `Unservable` and `Unreadable`."""
    settings: dict[str, Setting] = {}
    host = section.text("host")
    if host not in ("", "*"):
        settings["host"] = _host(host, section)
    paths = section.texts("path")
    for each in paths:
        if not (each.value.startswith("/") and each.value.endswith("/")):
            message = f"the mount path `{each.value}` lacks a slash at an end, so that s3-proxy does not start"
            raise refusal(each.place, message)
    settings["path"] = [_path(each.value) for each in paths] or ["/"]
    return settings


def _host(host: str, section: Section) -> str:
    bare = _PORT.sub("", host)
    try:
        here = values.host(bare)
    except InvalidValue as misfit:
        raise Unservable(f"the host `{host}` {misfit.message}") from None
    if bare != host:
        message = f"`{host}` is `{bare}`, on any port: hosts are compared without their port"
        section.remark(OptionOutcome.CHANGED, "host", message)
    if re.search(r"[^.*]\*|\*[^.*]", bare):
        message = f"each `*` of `{bare}` stands for one character at least; for s3-proxy it may stand for nothing"
        section.remark(OptionOutcome.CHANGED, "host", message)
    return here


def _path(path: str) -> str:
    if set(path) & set("{}*"):
        raise Unservable(f"the mount path `{path}` is a pattern of s3-proxy's router")
    try:
        return values.mount_path(path)
    except InvalidValue as misfit:
        raise Unservable(f"the mount path `{path}` {misfit.message}") from None


METHODS = ("GET", "HEAD", "PUT", "DELETE")

Actions = dict[str, dict[str, Setting]]


def actions(target: Section, pages: PageConversion) -> Actions:
    """The actions of a target; without any, s3-proxy answers GET and nothing else."""
    section = target.section("actions")
    if section is None:
        return {name: {"enabled": name == "GET"} for name in METHODS}
    done: Actions = {}
    for name in METHODS:
        action = section.section(name)
        done[name] = {"enabled": action.flag("enabled") if action else False}
        config = action.section("config") if action else None
        if name == "GET" and config:
            _add(done[name], {**_get(config), **_file_headers(config, pages)})
        if name == "PUT" and action and done[name]["enabled"]:
            _add(done[name], _put(action, config))
        if config and (called := webhooks(config)):
            done[name]["config"] = {**_configured(done[name]), "webhooks": called}
    if not enabled(done):
        message = f"`{section.path}` enables no action, so that s3-proxy does not start"
        raise refusal(section.span, message, "enable GET, PUT or DELETE")
    return done


def _file_headers(config: Section, pages: PageConversion) -> Mapping[str, Setting]:
    headers = config.section("streamedFileHeaders")
    found = pages.headers(headers) if headers else {}
    return {"streamedFileHeaders": found} if found else {}


def _configured(action: Mapping[str, Setting]) -> Mapping[str, Setting]:
    found = action.get("config", {})
    assert isinstance(found, Mapping)
    return {name: each for name, each in found.items() if not isinstance(each, Noted)}


def enabled(done: Actions) -> list[str]:
    """The methods that are answered."""
    return [name for name in METHODS if done[name]["enabled"] is True]


def _add(action: dict[str, Setting], config: Mapping[str, Setting]) -> None:
    if config:
        action["config"] = config


def _get(config: Section) -> Mapping[str, Setting]:
    settings: dict[str, Setting] = {}
    index = config.text("indexDocument")
    if index:
        _add_index(index, config, settings)
    if config.flag("redirectWithTrailingSlashForNotFoundFile"):
        settings["redirectWithTrailingSlashForNotFoundFile"] = True
        message = "a missing file is redirected only where there is a directory of that name; s3-proxy always redirects"
        config.remark(OptionOutcome.CHANGED, "redirectWithTrailingSlashForNotFoundFile", message)
    if config.flag("disableListing"):
        settings["disableListing"] = True
        config.remark(
            OptionOutcome.CHANGED, "disableListing", "a directory is answered with 403; s3-proxy shows an empty one"
        )
    if config.flag("redirectToSignedUrl"):
        settings["redirectToSignedUrl"] = True
    if config.flag("userIsolation"):
        settings["userIsolation"] = True
        if admins := [each.value for each in config.texts("userIsolationAdmins")]:
            settings["userIsolationAdmins"] = admins
    _add_expiration(config, settings)
    return settings


def _add_index(index: str, config: Section, settings: dict[str, Setting]) -> None:
    try:
        settings["indexDocument"] = values.index_document(index)
    except InvalidValue as misfit:
        message = f"`{index}` {misfit.message}"
        config.remark(OptionOutcome.LEFT_OUT, "indexDocument", message, misfit.help)


def _add_expiration(config: Section, settings: dict[str, Setting]) -> None:
    text = config.text("signedUrlExpiration")
    if not text:
        return
    duration = seconds(config, "signedUrlExpiration")
    if 1 <= duration <= 7 * DAY and duration == int(duration):
        settings["signedUrlExpiration"] = int(duration)
        return
    message = f"`{text}` is not a whole number of seconds up to 7 days, which is what S3 takes; it is 15 minutes now"
    config.remark(OptionOutcome.LEFT_OUT, "signedUrlExpiration", message)


_OF_UPLOADS = (
    (
        "the path of an upload is a directory's and ends in `/`: without, the answer is 400; s3-proxy adds the slash",
        "let the clients add it; with `rawUploads: true` the body sent to a path without it is the file itself",
    ),
    (
        "files that browsers might run, such as HTML and SVG, are sent as attachments where uploads are enabled",
        "`activeContent: inline` in GET's `config` shows them, if those who upload are trusted",
    ),
)


def _put(action: Section, config: Section | None) -> Mapping[str, Setting]:
    """How uploads are taken, where they are."""
    for message, advice in _OF_UPLOADS:
        action.remark(OptionOutcome.CHANGED, "", message, advice)
    if config is not None:
        return upload_settings(config)
    message = (
        "files may be replaced, as s3-proxy's code allows where PUT has no `config`; its documentation says that they"
        " may not"
    )
    action.remark(OptionOutcome.CHANGED, "config", message, "is that what you want?", place=action.span)
    return {"allowOverride": True}


@dataclass(frozen=True, slots=True)
class ConvertedTarget:
    """A target's settings, the entries of its list of rewrites, and why nobody may use it, if so."""

    name: str
    settings: Mapping[str, Setting | Noted]
    entries: tuple[ConvertedRewrite, ...] = ()
    closed: str | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is the same for all targets."""

    providers: Providers
    keys_as: KeysAs
    pages: PageConversion = field(default_factory=PageConversion)


def target(name: str, section: Section, conversion: Conversion) -> ConvertedTarget | None:
    """The target; None if it cannot be converted, so that its requests are answered with 404."""
    try:
        where = mount(section.section("mount") or _missing("mount"))
        what = bucket(section.section("bucket") or _missing("bucket"))
    except Unservable as error:
        section.settle()
        section.remark(OptionOutcome.CLOSED, "", f"the target is left out: {error}")
        return None
    for part in ("mount", "bucket"):
        section.remark(OptionOutcome.CARRIED, part, f"as `targets.{name}.{part}`")
    templates, helpers = conversion.pages.of_target(section.section("templates"))
    entries = _rewrites(section, what, helpers, conversion)
    done = actions(section, conversion.pages)
    if entries and _is_isolated(section):
        message = "a rewrite that leads out of the user's own directory is refused (403); s3-proxy follows it"
        section.remark(OptionOutcome.CHANGED, "keyRewriteList", message)
    if "actions" in section:
        section.remark(OptionOutcome.CARRIED, "actions", f"as `targets.{name}.actions`")
    given, kept = resources(section, conversion.providers, head="HEAD" in enabled(done))
    reason = _why_closed(entries, emptied=given and not kept)
    if reason is not None:
        resource, off = closed(_first_path(where), enabled(done))
        done[off] = {"enabled": False}
        kept = [resource]
        message = f"nobody may use the target, each request is answered with 403: {reason}"
        section.remark(OptionOutcome.CLOSED, "", message, "write its `resources` and rules, then open it")
    settings: dict[str, Setting | Noted] = {"mount": where, "bucket": what.settings, "actions": done}
    if kept:
        note = (f"CLOSED to everyone: {reason}", "Name here who may use it again.")
        settings["resources"] = Noted(kept, note) if reason is not None else kept
    if templates:
        settings["templates"] = templates
    return ConvertedTarget(name, settings, tuple(entries), reason)


def _missing(name: str) -> Section:
    raise Unservable(f"it has no `{name}`")


def _first_path(where: Mapping[str, Setting]) -> str:
    paths = where["path"]
    assert isinstance(paths, list)
    return str(paths[0])


def _is_isolated(section: Section) -> bool:
    """Whether each user has a folder of their own, put in front of the key."""
    all_actions = section.section("actions")
    get = all_actions.section("GET") if all_actions else None
    config = get.section("config") if get else None
    return config is not None and config.flag("userIsolation")


def _why_closed(entries: Sequence[ConvertedRewrite], *, emptied: bool) -> str | None:
    """Why nobody may use a target; None where somebody may."""
    if emptied:
        return "none of its resources could be carried over"
    if any(_may_separate_users(each) for each in entries):
        return "a rewrite that may depend on the client is left out, and users could read each other's files"
    return None


def _may_separate_users(entry: ConvertedRewrite) -> bool:
    given = entry.given
    return isinstance(entry.result, LeftOut) and given.dialect is Dialect.GO and not ignores_client(given.target)


def _rewrites(
    section: Section, what: ConvertedBucket, helpers: Sequence[str], conversion: Conversion
) -> list[ConvertedRewrite]:
    prefix = what.configured_prefix
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    given = given_entries(section)
    entries = converted(
        given, Surroundings(prefix, in_front, tuple(helpers), helper_bodies(helpers)), conversion.keys_as
    )
    for entry in entries:
        _remark(entry, section)
    return entries


def _remark(entry: ConvertedRewrite, target: Section) -> None:
    given = entry.given
    was = f"`{given.source}` -> `{given.target}`"
    outcome, advice = OptionOutcome.LEFT_OUT, ""
    match entry.result:
        case Written(template=template) if template.endswith("/"):
            message = f"{was} makes a directory's key: a file is answered with 404, not read"
            outcome, advice = OptionOutcome.CHANGED, "end it with the name of a file"
        case Written(source, _, template) if (source, template) == (given.source, given.target):
            outcome, message = OptionOutcome.CARRIED, f"{was} as it is"
        case Written(source, _, template):
            message = f"{was} is `{source}` -> `{template}`, which makes the same keys"
            outcome = OptionOutcome.ADAPTED
        case LeftOut(reason, help, _):
            advice = help or ""
            message = f"{was} is left out: {reason}"
        case Never(reason):
            advice = "if its documentation was followed, convert with `--keys-as documented`"
            message = f"{was} is left out, since s3-proxy never applies it: {reason}"
        case _:
            assert_never(entry.result)
    target.remark(outcome, "keyRewriteList", message, advice or None, place=given.place)
