"""A target of s3-proxy as one of this project, with its rule file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.tools.convert.actions import actions, enabled
from tornado_proxy.tools.convert.buckets import Bucket, Unservable, bucket
from tornado_proxy.tools.convert.configuration_text import Noted, Setting
from tornado_proxy.tools.convert.go_targets import Surroundings
from tornado_proxy.tools.convert.mounts import mount
from tornado_proxy.tools.convert.report import KeysAs, Outcome, Remarks
from tornado_proxy.tools.convert.resources import closed, resources
from tornado_proxy.tools.convert.rewrites import Entry, LeftOut, Never, Written, converted, given_entries
from tornado_proxy.tools.convert.section import Section


@dataclass(frozen=True, slots=True)
class Target:
    """A target's settings, the entries of its list of rewrites, and why nobody may use it, if so."""

    name: str
    settings: Mapping[str, Setting | Noted]
    entries: tuple[Entry, ...] = ()
    closed: str | None = None


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is the same for all targets, and the remarks that are made."""

    providers: tuple[str, ...]
    keys_as: KeysAs
    remarks: Remarks = field(default_factory=Remarks)


def target(name: str, section: Section, conversion: Conversion) -> Target | None:
    """The target; None where it cannot be said here at all, so that its requests are answered with 404."""
    remarks = conversion.remarks
    try:
        where = mount(section.section("mount") or _missing("mount"), remarks)
        what = bucket(section.section("bucket") or _missing("bucket"), remarks)
    except Unservable as error:
        section.settle()
        remarks.add(Outcome.CLOSED, section.path, section.span, f"the target is left out: {error}")
        return None
    for part in ("mount", "bucket"):
        remarks.add(Outcome.CARRIED, f"{section.path}.{part}", section.place(part), f"as `targets.{name}.{part}`")
    entries = _rewrites(section, what, conversion)
    done = actions(section, remarks)
    if "actions" in section:
        remarks.add(
            Outcome.CARRIED, f"{section.path}.actions", section.place("actions"), f"as `targets.{name}.actions`"
        )
    isolated = _is_isolated(section)
    given, kept = resources(section, conversion.providers, remarks, head="HEAD" in enabled(done))
    reason = _why_closed(entries, isolated=isolated, emptied=given and not kept)
    if reason is not None:
        resource, off = closed(_first_path(where), enabled(done))
        done[off] = {"enabled": False}
        kept = [resource]
        message = f"nobody may use the target, each request is answered with 403: {reason}"
        remarks.add(
            Outcome.CLOSED, section.path, section.span, message, "write its `resources` and rules, then open it"
        )
    settings: dict[str, Setting | Noted] = {"mount": where, "bucket": what.settings, "actions": done}
    if kept:
        note = (f"CLOSED to everyone: {reason}", "Whoever is to use it again must be named here.")
        settings["resources"] = Noted(kept, note) if reason is not None else kept
    return Target(name, settings, tuple(entries), reason)


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


def _why_closed(entries: Sequence[Entry], *, isolated: bool, emptied: bool) -> str | None:
    """Why nobody may use a target; None where somebody may."""
    if isolated:
        return "`userIsolation` has no equal, and without it each user would see what is everyone's"
    if emptied:
        return "none of its resources could be carried over"
    if any(_parts_users(each) for each in entries):
        return "a rewrite that makes keys of who asks could not be carried over, and users would see each other's files"
    return None


def _parts_users(entry: Entry) -> bool:
    reads = entry.given.dialect is Dialect.GO and ".User" in entry.given.target
    return reads and isinstance(entry.result, LeftOut)


def _rewrites(section: Section, what: Bucket, conversion: Conversion) -> list[Entry]:
    prefix = what.configured_prefix
    in_front = prefix if not prefix or prefix.endswith("/") else f"{prefix}/"
    given = given_entries(section, conversion.remarks)
    entries = converted(given, Surroundings(prefix, in_front), conversion.keys_as)
    for entry in entries:
        _remark(entry, f"{section.path}.keyRewriteList", conversion.remarks)
    return entries


def _remark(entry: Entry, subject: str, remarks: Remarks) -> None:
    given = entry.given
    was = f"`{given.source}` -> `{given.target}`"
    match entry.result:
        case Written(source, _, template) if (source, template) == (given.source, given.target):
            remarks.add(Outcome.CARRIED, subject, given.place, f"{was} as it is")
        case Written(source, _, template):
            message = f"{was} is `{source}` -> `{template}`, which makes the same keys"
            remarks.add(Outcome.ADAPTED, subject, given.place, message)
        case LeftOut(reason, help, _):
            remarks.add(Outcome.LEFT_OUT, subject, given.place, f"{was} is left out: {reason}", help)
        case Never(reason):
            cure = "if its documentation was followed, convert with `--keys-as documented`"
            message = f"{was} is left out, since s3-proxy never applies it: {reason}"
            remarks.add(Outcome.LEFT_OUT, subject, given.place, message, cure)
        case _:
            assert_never(entry.result)
