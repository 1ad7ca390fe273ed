"""What an edit changes, in lines for people; and what only a restart can change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from tornado_proxy.config.model import Settings
from tornado_proxy.config.options import SettingsSection, options_of
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.service.limits import CHANGES_SHOWN
from tornado_proxy.service.reload.snapshot import Configuration


def changes(in_force: Configuration, configuration: Configuration) -> Iterator[str]:
    """Yields a line for each difference from what is in force; names settings, but shows no values."""
    old = {target.name: target for target in in_force.settings.targets}
    new = {target.name: target for target in configuration.settings.targets}
    if gone := [f"`{name}`" for name in old if name not in new]:
        yield f"targets removed: {_listed(gone)}"
    for name, target in new.items():
        rules = configuration.rule_sets.get(name, RuleSet(name))
        if name not in old:
            yield f"target `{name}` added: {counted(len(rules.rewrites), 'rewrite')}"
            continue
        if changed := _changed(old[name], target):
            yield f"target `{name}` changed: {', '.join(changed)}"
        old_rules = in_force.rule_sets.get(name, RuleSet(name))
        for line in _rewrite_lines(old_rules, rules, configuration.settings.directory):
            yield f"target `{name}`: {line}"
    # The order decides between host patterns that match the same host.
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield "the order of the targets changed"
    one, other = (replace(each.settings, targets=()) for each in (in_force, configuration))
    if changed := _changed(one, other):
        yield f"changed: {', '.join(changed)}"


def _changed(old: SettingsSection, new: SettingsSection, path: str = "") -> list[str]:
    """Returns the paths of the options that differ between two sections, such as `bucket.region`."""
    paths: list[str] = []
    for each in options_of(type(new)) if old != new else ():
        one, other = getattr(old, each.attribute), getattr(new, each.attribute)
        if one == other:
            continue
        is_within = each.type.section and not each.type.is_secret and one is not None and other is not None
        # If no option differs, a certificate was renewed.
        paths += (is_within and _changed(one, other, f"{path}{each.dotted}.")) or [f"{path}{each.dotted}"]
    return paths


def _rewrite_lines(before: RuleSet, after: RuleSet, directory: Path) -> Iterator[str]:
    old, new = Counter(map(_texts, before.rewrites)), Counter(map(_texts, after.rewrites))
    less, more = old - new, new - old
    gone = {_identity(each): each for each in before.rewrites if _texts(each) in less}
    come = {_identity(each): each for each in after.rewrites if _texts(each) in more}
    fates = {
        "added": [come[each] for each in come if each not in gone],
        "removed": [gone[each] for each in gone if each not in come],
        "changed": [come[each] for each in come if each in gone],
    }
    for fate, rewrites in fates.items():
        if rewrites:
            yield f"rewrites {fate}: {_listed([_placed(each, directory) for each in rewrites])}"
    if old == new and [*map(_texts, before.rewrites)] != [*map(_texts, after.rewrites)]:
        yield "the order of the rewrites changed"


def _texts(rewrite: Rewrite) -> tuple[str, Dialect, str]:
    return rewrite.pattern.text, rewrite.dialect, rewrite.template.text


def _identity(rewrite: Rewrite) -> tuple[str, str]:
    return ("name", rewrite.name) if rewrite.name else ("source", rewrite.pattern.text)


def _placed(rewrite: Rewrite, directory: Path) -> str:
    file = rewrite.span.source.name.removeprefix(f"{directory}/")
    return f"`{rewrite.label}` ({file}:{rewrite.span.first.line})"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - CHANGES_SHOWN} more" if len(names) > CHANGES_SHOWN else ""
    return ", ".join(names[:CHANGES_SHOWN]) + more


def fixed_at_start(configuration: Configuration, at_start: Settings) -> Configuration:
    """Restores the settings that only a restart changes, and names those that differ."""
    settings, server, internal = configuration.settings, at_start.server, at_start.internal_server
    restored = replace(
        settings,
        server=replace(settings.server, address=server.address, port=server.port, event_loop=server.event_loop),
        internal_server=replace(settings.internal_server, address=internal.address, port=internal.port),
        s3=at_start.s3,
        log=at_start.log,
        tracing=at_start.tracing,
    )
    names = {"server": "server", "internalServer": "internal_server", "s3": "s3", "log": "log", "tracing": "tracing"}
    kept_back = tuple(shown for shown, name in names.items() if getattr(settings, name) != getattr(restored, name))
    snapshot = replace(configuration.snapshot, settings=restored)
    return replace(configuration, snapshot=snapshot, kept_back=kept_back)
