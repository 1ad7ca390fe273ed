"""The log lines of a reload: which targets, mounts, rewrites and settings changed, and which need a restart.

Settings are named, not shown: no value of a bucket or a resource belongs in a log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import fields, replace
from itertools import filterfalse
from pathlib import Path
from typing import Any, TypeVar

from tornado_proxy.config.actions import Actions
from tornado_proxy.config.model import Settings, Target
from tornado_proxy.config.options import options_of
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.service.sources import CompiledSet

SHOWN = 5
"""Items of a kind that are named; of more, only the number is shown."""

Item = TypeVar("Item")


def changes(before: CompiledSet, after: CompiledSet) -> Iterator[str]:
    """What differs between two generations, a line each."""
    if before.settings is None or after.settings is None:
        return
    yield from _target_lines(before, after, before.settings, after.settings)
    if before.settings != after.settings:
        yield from _setting_lines(before.settings, after.settings)


def fixed_at_start(settings: Settings, running: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings with the running values of everything that needs a restart, and the names of those that differ."""
    fixed = {"server": "server", "internalServer": "internal_server", "s3": "s3", "log": "log", "tracing": "tracing"}
    server, internal = running.server, running.internal_server
    kept = replace(
        settings,
        server=replace(settings.server, address=server.address, port=server.port, event_loop=server.event_loop),
        internal_server=replace(settings.internal_server, address=internal.address, port=internal.port),
        s3=running.s3,
        log=running.log,
        tracing=running.tracing,
    )
    return kept, tuple(shown for shown, name in fixed.items() if getattr(settings, name) != getattr(kept, name))


def _target_lines(before: CompiledSet, after: CompiledSet, old: Settings, new: Settings) -> Iterator[str]:
    known, wanted = ({target.name: target for target in each.targets} for each in (old, new))
    none = RuleSet("")
    yield from _difference("targets", [*filterfalse(wanted.__contains__, known)], (), _quoted)
    for target in new.targets:
        rules = after.rule_sets.get(target.name, none)
        if target.name in known:
            had = before.rule_sets.get(target.name, none)
            within = _within(known[target.name], target) if known[target.name] != target else ()
            for line in (*within, *_rule_lines(had, rules, new.directory)):
                yield f"target `{target.name}`: {line}"
        else:
            mounts = _listed(_addresses(target), _quoted)
            yield f"target `{target.name}` added: {mounts}, {counted(len(rules.rewrites), 'rewrite')}"
    # The order decides between targets with equal mounts.
    if [*filter(wanted.__contains__, known)] != [*filter(known.__contains__, wanted)]:
        yield "the order of the targets changed"


def _within(old: Target, new: Target) -> Iterator[str]:
    """What differs between two targets of one name."""
    yield from _difference("mounts", _addresses(old), _addresses(new), _quoted)
    if changed := _changed(old.bucket, new.bucket):
        yield f"bucket changed: {', '.join(changed)}"
    if changed := _changed_actions(old.actions, new.actions):
        yield f"actions changed: {', '.join(changed)}; enabled: {', '.join(new.actions.methods) or 'none'}"
    yield from _difference(
        "resources",
        old.resources,
        new.resources,
        lambda resource: f"`{resource.path}` ({', '.join(resource.methods)})",
        lambda resource: (resource.path, resource.methods),
    )


def _rule_lines(before: RuleSet, after: RuleSet, directory: Path) -> Iterator[str]:
    return _difference(
        "rewrites",
        [_Shown(each, directory) for each in before.rewrites],
        [_Shown(each, directory) for each in after.rewrites],
        str,
        lambda shown: shown.identity,
    )


class _Shown:
    """A rewrite, equal to another with the same text wherever it stands."""

    def __init__(self, rewrite: Rewrite, directory: Path) -> None:
        self._rewrite, self._directory = rewrite, directory
        self._text = (rewrite.pattern.text, rewrite.dialect, rewrite.template.text)
        self.identity = ("name", rewrite.name) if rewrite.name else ("source", rewrite.pattern.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Shown) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        span = self._rewrite.span
        return f"`{self._rewrite.label}` ({_relative(span.source.name, self._directory)}:{span.first.line})"


def _setting_lines(old: Settings, new: Settings) -> Iterator[str]:
    if changed := _changed(old.limits, new.limits):
        yield f"limits changed: {', '.join(changed)}"
    had, has = old.server.grace_period, new.server.grace_period
    if had != has:
        yield f"server.gracePeriod changed from {had:g} s to {has:g} s"
    if old.server.trusted_proxies != new.server.trusted_proxies:
        yield f"server.trustedProxies changed: {_listed(new.server.trusted_proxies, _quoted) or 'none'}"
    for name in ("cors", "cache", "ssl"):
        if getattr(old.server, name) != getattr(new.server, name):
            yield f"server.{name} changed"
    if old.list_targets != new.list_targets:
        yield "listTargets changed"
    if old.rules != new.rules:
        yield f"rules changed: {_listed(new.rules, lambda place: _quoted(_relative(str(place), new.directory)))}"
    kinds = {each: f"{each}_providers" for each in ("basic", "oidc", "header")}
    for kind, field in (kinds | {"clientCertificate": "certificate_providers"}).items():
        had, has = (getattr(settings, field) for settings in (old, new))
        yield from _difference(f"authProviders.{kind}", had, has, lambda each: f"`{each.name}`", lambda each: each.name)


def _difference(
    kind: str,
    old: Sequence[Item],
    new: Sequence[Item],
    name: Callable[[Item], str],
    identity: Callable[[Item], Hashable] = lambda item: item,
) -> Iterator[str]:
    """A line for what was added, removed, changed or reordered; items of one identity are paired in order."""
    before, after = _numbered(old, identity), _numbered(new, identity)
    fates = {
        "added": [item for key, item in after.items() if key not in before],
        "removed": [item for key, item in before.items() if key not in after],
        "changed": [item for key, item in after.items() if key in before and before[key] != item],
    }
    for fate, items in fates.items():
        if items:
            yield f"{kind} {fate}: {_listed(items, name)}"
    if [*filter(after.__contains__, before)] != [*filter(before.__contains__, after)]:
        yield f"the order of the {kind} changed"


def _numbered(items: Sequence[Item], identity: Callable[[Item], Hashable]) -> dict[tuple[Hashable, int], Item]:
    """The items by identity and occurrence."""
    seen: Counter[Hashable] = Counter()
    found: dict[tuple[Hashable, int], Item] = {}
    for item in items:
        key = identity(item)
        found[key, seen[key]] = item
        seen[key] += 1
    return found


def _listed(items: Sequence[Item], name: Callable[[Item], str]) -> str:
    """The names of the first items, and the number of the others."""
    names = ", ".join(map(name, items[:SHOWN]))
    return f"{names} and {len(items) - SHOWN} more" if len(items) > SHOWN else names


def counted(number: int, noun: str) -> str:
    """`1 rewrite`, `2 rewrites`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _changed(old: Any, new: Any) -> list[str]:
    """The options in which two dataclasses of one kind differ."""
    return [
        f"{each.group.name}.{each.name}" if each.group else each.name
        for each in options_of(type(new))
        if getattr(old, each.attribute) != getattr(new, each.attribute)
    ]


def _changed_actions(old: Actions, new: Actions) -> list[str]:
    """The options in which actions differ, each with its method."""
    return [
        f"{method.name.upper()}.{option}"
        for method in fields(new)
        for option in _changed(getattr(old, method.name), getattr(new, method.name))
    ]


def _addresses(target: Target) -> tuple[str, ...]:
    return tuple(f"{target.mount.host}{path}" for path in target.mount.paths)


def _quoted(text: str) -> str:
    return f"`{text}`"


def _relative(place: str, directory: Path) -> str:
    """A place as seen from the configuration, if it lies below it."""
    path = Path(place)
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else place
