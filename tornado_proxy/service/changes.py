"""What a reload changed, in words for the log: targets, mounts, rewrites; and what it could not change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tornado_proxy.config.model import Settings, Target
from tornado_proxy.routing.mounts import Site
from tornado_proxy.rules.model import Rewrite, RuleSet

Identity = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Changes:
    """Differences between two generations, a line each; empty where only values such as limits differ."""

    lines: tuple[str, ...] = ()


def changes(before: Sequence[Site], after: Sequence[Site]) -> Changes:
    """What differs between the sites of two generations."""
    old = {site.target.name: site for site in before}
    new = {site.target.name: site for site in after}
    lines = [f"target `{name}` removed" for name in old if name not in new]
    for name, site in new.items():
        if name not in old:
            lines.append(f"target `{name}` added: {_mounts(site.target)}, {len(site.rules.rewrites)} rewrites")
        else:
            lines.extend(f"target `{name}`: {line}" for line in _site_changes(old[name], site))
    return Changes(tuple(lines))


def fixed_at_start(settings: Settings, running: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Settings with what only a restart changes left as it runs, and the names of those that differ."""
    kept = replace(settings, server=running.server, internal_server=running.internal_server, s3=running.s3)
    pairs = {
        "server": (settings.server, running.server),
        "internalServer": (settings.internal_server, running.internal_server),
        "s3": (settings.s3, running.s3),
    }
    return kept, tuple(name for name, (wanted, has) in pairs.items() if wanted != has)


def _site_changes(before: Site, after: Site) -> Iterator[str]:
    old, new = before.target, after.target
    if old.mount != new.mount:
        yield f"mount {_mounts(old)} is now {_mounts(new)}"
    if old.bucket != new.bucket:
        yield "bucket changed"
    if old.actions != new.actions:
        yield f"actions changed: {', '.join(new.actions.methods)}"
    if old.resources != new.resources:
        yield "resources changed"
    if before.rules != after.rules:
        yield from _rule_changes(before.rules, after.rules)


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
