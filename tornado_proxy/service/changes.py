"""What a reload changed, in words for the log: targets, mounts, rewrites, settings; and what it could not change.

Settings are named and not shown: no value of a bucket or a resource is fit for a log.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from tornado_proxy.config.model import Actions, BasicProvider, Resource, Settings, Target
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.rewrite import Rewrite
from tornado_proxy.service.differences import difference, listed
from tornado_proxy.service.loading import Loaded

# Options whose names are not those of the fields that hold them.
_OPTIONS = {
    "disable_ssl": "disableSSL",
    "force_path_style": "s3ForcePathStyle",
    "list_max_keys": "s3ListMaxKeys",
}


def changes(before: Loaded, after: Loaded) -> Iterator[str]:
    """What differs between two generations, a line each."""
    if before.settings is None or after.settings is None:
        return
    yield from _target_lines(before, after)
    yield from _setting_lines(before.settings, after.settings)


def fixed_at_start(settings: Settings, running: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Settings with what only a restart changes left as it runs, and the names of those that differ."""
    kept = replace(
        settings, server=running.server, internal_server=running.internal_server, s3=running.s3, log=running.log
    )
    pairs = {
        "server": (settings.server, running.server),
        "internalServer": (settings.internal_server, running.internal_server),
        "s3": (settings.s3, running.s3),
        "log": (settings.log, running.log),
    }
    return kept, tuple(name for name, (wanted, has) in pairs.items() if wanted != has)


def _target_lines(before: Loaded, after: Loaded) -> Iterator[str]:
    assert before.settings is not None
    assert after.settings is not None
    targets = difference(before.settings.targets, after.settings.targets, lambda target: target.name)
    yield from replace(targets, added=()).lines("targets", _target_name)
    for target in targets.added:
        rules = after.rule_sets.get(target.name, RuleSet(target.name))
        yield f"target `{target.name}` added: {_mounts(target)}, {len(rules.rewrites)} rewrites"
    old = {target.name: target for target in before.settings.targets}
    for target in (each for each in after.settings.targets if each.name in old):
        none = RuleSet(target.name)
        had, has = before.rule_sets.get(target.name, none), after.rule_sets.get(target.name, none)
        for line in (*_within(old[target.name], target), *_rule_lines(had, has, after.settings.directory)):
            yield f"target `{target.name}`: {line}"


def _within(old: Target, new: Target) -> Iterator[str]:
    """What differs between a target and the one of the same name."""
    yield from difference(_addresses(old), _addresses(new), str).lines("mounts", _quoted)
    if changed := _changed(old.bucket, new.bucket):
        yield f"bucket changed: {', '.join(changed)}"
    if changed := _changed_actions(old.actions, new.actions):
        yield f"actions changed: {', '.join(changed)}; there are {', '.join(new.actions.methods) or 'none'}"
    found = difference(old.resources, new.resources, _resource_identity, lambda one, other: one == other)
    yield from found.lines("resources", _resource_name)


def _rule_lines(before: RuleSet, after: RuleSet, directory: Path) -> Iterator[str]:
    found = difference(before.rewrites, after.rewrites, _rewrite_identity, _same_rewrite)
    yield from found.lines("rewrites", lambda rewrite: _rewrite_name(rewrite, directory))


def _setting_lines(old: Settings, new: Settings) -> Iterator[str]:
    if changed := _changed(old.limits, new.limits):
        yield f"limits changed: {', '.join(changed)}"
    if old.grace_period != new.grace_period:
        yield f"server.gracePeriod changed: {old.grace_period:g} s is now {new.grace_period:g} s"
    if old.rules != new.rules:
        yield f"rules changed: {listed(new.rules, lambda place: f'`{_relative(str(place), new.directory)}`')}"
    providers = difference(old.basic_providers, new.basic_providers, _provider_name, lambda one, other: one == other)
    yield from replace(providers, moved=()).lines("authProviders.basic", lambda each: f"`{each.name}`")


def _changed(old: Any, new: Any) -> list[str]:
    """The options in which two dataclasses of one kind differ."""
    named = [each.name for each in fields(old) if each.compare and getattr(old, each.name) != getattr(new, each.name)]
    return [_OPTIONS.get(name) or to_camel(name) for name in named]


def _changed_actions(old: Actions, new: Actions) -> list[str]:
    """The options in which actions differ, each with its method."""
    return [
        f"{method.name.upper()}.{'' if option == 'enabled' else 'config.'}{option}"
        for method in fields(new)
        for option in _changed(getattr(old, method.name), getattr(new, method.name))
    ]


def _rewrite_identity(rewrite: Rewrite) -> Hashable:
    """A rewrite is known by its name, or by its source."""
    return ("name", rewrite.name) if rewrite.name else ("source", rewrite.pattern.text)


def _same_rewrite(old: Rewrite, new: Rewrite) -> bool:
    return (old.pattern.text, old.dialect, old.template.text) == (new.pattern.text, new.dialect, new.template.text)


def _rewrite_name(rewrite: Rewrite, directory: Path) -> str:
    place = f"{_relative(rewrite.span.source.name, directory)}:{rewrite.span.first.line}"
    return f"`{rewrite.label}` ({place})"


def _resource_identity(resource: Resource) -> Hashable:
    return resource.path, resource.methods


def _resource_name(resource: Resource) -> str:
    return f"`{resource.path}` ({', '.join(resource.methods)})"


def _provider_name(provider: BasicProvider) -> str:
    return provider.name


def _target_name(target: Target) -> str:
    return f"`{target.name}`"


def _addresses(target: Target) -> tuple[str, ...]:
    return tuple(f"{target.mount.host}{path}" for path in target.mount.paths)


def _mounts(target: Target) -> str:
    return listed(_addresses(target), _quoted)


def _quoted(text: str) -> str:
    return f"`{text}`"


def _relative(place: str, directory: Path) -> str:
    """A place as seen from the configuration, if it lies below it."""
    path = Path(place)
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else place
