"""What a reload changed, in words for the log: targets, mounts, rewrites; and what it could not change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tornado_proxy.config.model import Settings, Target
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.service.loading import Loaded

Identity = tuple[str, str]


def changes(before: Loaded, after: Loaded) -> Iterator[str]:
    """What differs between two generations, a line each; nothing where only values such as limits differ."""
    old, new = _targets(before), _targets(after)
    for name in old:
        if name not in new:
            yield f"target `{name}` removed"
    for name, target in new.items():
        rules = after.rule_sets.get(name, RuleSet(name))
        if name not in old:
            yield f"target `{name}` added: {_mounts(target)}, {len(rules.rewrites)} rewrites"
            continue
        for line in _target_changes(old[name], target):
            yield f"target `{name}`: {line}"
        for line in _rule_changes(before.rule_sets.get(name, RuleSet(name)), rules):
            yield f"target `{name}`: {line}"


def _targets(loaded: Loaded) -> dict[str, Target]:
    return {target.name: target for target in loaded.settings.targets} if loaded.settings else {}


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


def _target_changes(old: Target, new: Target) -> Iterator[str]:
    if old.mount != new.mount:
        yield f"mount {_mounts(old)} is now {_mounts(new)}"
    if old.bucket != new.bucket:
        yield "bucket changed"
    if old.actions != new.actions:
        yield f"actions changed: {', '.join(new.actions.methods)}"
    if old.resources != new.resources:
        yield "resources changed"


def _rule_changes(before: RuleSet, after: RuleSet) -> Iterator[str]:
    old = {_identity(each): each for each in before.rewrites}
    new = {_identity(each): each for each in after.rewrites}
    common = [identity for identity in new if identity in old]
    order = {identity: place for place, identity in enumerate(old)}
    counts = {
        "added": len(new) - len(common),
        "removed": len(old) - len(common),
        "changed": sum(not _same(old[identity], new[identity]) for identity in common),
        "moved": len(common) - _longest_rise([order[identity] for identity in common]),
    }
    said = [f"{count} {word}" for word, count in counts.items() if count]
    if said:
        yield f"rewrites: {', '.join(said)}"


def _identity(rewrite: Rewrite) -> Identity:
    """A rewrite is known by its name, or by its source."""
    return ("name", rewrite.name) if rewrite.name else ("source", rewrite.pattern.text)


def _same(old: Rewrite, new: Rewrite) -> bool:
    return (old.pattern.text, old.dialect, old.template.text) == (new.pattern.text, new.dialect, new.template.text)


def _longest_rise(places: Sequence[int]) -> int:
    """The length of the longest rising subsequence: what need not have been moved."""
    tails: list[int] = []
    for place in places:
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails)


def _mounts(target: Target) -> str:
    return ", ".join(f"`{target.mount.host}{path}`" for path in target.mount.paths)
