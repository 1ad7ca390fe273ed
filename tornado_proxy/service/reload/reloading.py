"""Reloads: read the whole snapshot, compile and test it off the event loop, swap, and report what changed.

A bad edit leaves the generation in force, the report gives the reason, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tornado_proxy.config.model import Settings, Target
from tornado_proxy.config.options import options_of
from tornado_proxy.lang.diagnostic import Diagnostic, Severity, counted, errors
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.routing.mounts import target_data
from tornado_proxy.rules.model import Rewrite, RuleSet, evaluate
from tornado_proxy.service.reload.generations import Unbuildable, in_background
from tornado_proxy.service.reload.serving import Serving
from tornado_proxy.service.reload.snapshot import FAILING_TEST, CompiledSnapshot, Snapshot, compile_snapshot
from tornado_proxy.telemetry.events import Event, ReloadOutcome, ReloadReport

_MOST_FAILING = 20  # failing tests that are reported one by one
_SHOWN = 5  # changes of a kind that are named; the others are counted
READ_WITHIN = 10.0  # seconds after which a reload no longer waits for a file system

_UNSETTLED = Diagnostic(
    "unsettled", "the files keep changing: no two readings were the same", help="leave them alone for a second"
)
_HANGS = Diagnostic(
    "unreadable-file", "the files cannot be read: the file system does not answer", help="look for a mount that hangs"
)


@dataclass(frozen=True, slots=True)
class InForce:
    """The snapshot in force, its number, its start (Unix time in seconds), and the settings that wait for a restart."""

    number: int
    loaded: CompiledSnapshot
    since: float
    kept_back: tuple[str, ...] = ()

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.loaded.settings


class Reloader:
    """Makes new generations, one attempt at a time.

    `read` is called on a thread. `failure` is the report of the last attempt while the files on disk are not in force,
    and None otherwise: status page, status line, metrics and log all follow it. `from_last_good` is true while the copy
    from which the service started is in force.
    """

    def __init__(
        self,
        first: CompiledSnapshot,
        serving: Serving,
        read: Callable[[], Snapshot],
        emit: Callable[[Event], None],
        read_within: float = READ_WITHIN,
    ) -> None:
        self.from_last_good = False
        self._serving = serving
        self._read_within = read_within
        self._reading: asyncio.Future[Snapshot] | None = None
        self._read = read
        self._emit = emit
        self._lock = asyncio.Lock()
        self.in_force = InForce(1, first, time.time())
        self._watched = first.snapshot.watched
        self._running = first.settings
        self._refused: Snapshot | None = None
        self.last: ReloadReport | None = None
        self.failure: ReloadReport | None = None

    def watched(self) -> tuple[Path, ...]:
        """Returns the paths to watch: of the snapshot in force, and of the one that was read last."""
        return tuple(dict.fromkeys((*self.in_force.loaded.snapshot.watched, *self._watched)))

    def status_line(self) -> str:
        """Returns the line of `systemctl status`: the generation, and the first mistake of a refused edit."""
        now, failure = self.in_force, self.failure
        line = f"generation {now.number}, {counted(now.loaded.rewrite_count, 'rewrite')}"
        if self.from_last_good:
            line += ", started from the last good copy"
        if failure is None:
            return line
        first = errors(failure.diagnostics)[0]
        place = f"{first.place}: " if first.place else ""
        return f"{line}; an edit was refused: {place}{first.message}"

    async def reload(self) -> ReloadReport:
        """Reads the snapshot, and puts it in force if it is new and good; raises nothing but cancellation."""
        # Two attempts at once would give two generations one number, and the older snapshot could win.
        async with self._lock:
            began = time.perf_counter()
            try:
                report = await self._attempt()
            except Exception as error:  # noqa: BLE001 - a defect of ours must not end the service
                text = f"the reload failed with `{type(error).__name__}: {error}`; the log has the traceback"
                report = replace(self._report(ReloadOutcome.FAILED, "", (Diagnostic("defect", text),)), error=error)
            if report == self.failure:
                return self.failure  # reported once: the files are looked at every few seconds
            report = replace(report, seconds=time.perf_counter() - began)
            self.failure = None if report.is_in_force else report
            self.from_last_good = self.from_last_good and not report.is_in_force
            # A reading that finds nothing new does not hide the result of the last edit.
            if report.outcome is not ReloadOutcome.UNCHANGED:
                self._emit(report)
            if report.outcome is not ReloadOutcome.UNCHANGED or self.last is None:
                self.last = report
            return report

    async def _attempt(self) -> ReloadReport:
        refused, self._refused = self._refused, None
        now = self.in_force
        try:
            snapshot = await self._snapshot()
        except TimeoutError:
            return self._report(ReloadOutcome.REFUSED, now.loaded.snapshot.digest, (_HANGS,))
        self._watched = snapshot.watched
        if snapshot.is_as(now.loaded.snapshot):
            outcome = ReloadOutcome.REVERTED if self.failure else ReloadOutcome.UNCHANGED
            # The watcher may have loaded the edit already: repeat its warnings.
            report = self._report(outcome, snapshot.digest, now.loaded.diagnostics)
            return replace(report, news=(), kept_back=now.kept_back)
        if not snapshot.settled:
            return self._report(ReloadOutcome.REFUSED, now.loaded.snapshot.digest, (_UNSETTLED,))
        if self.failure is not None and snapshot.is_as(refused):
            self._refused = refused
            return self.failure
        loaded = await in_background(compile_snapshot, snapshot, now.loaded)
        if any(rules.tests for rules in loaded.rule_sets.values()):
            loaded = await in_background(run_rule_tests, loaded, now.loaded)
        found = loaded.diagnostics
        if loaded.usable:
            try:
                return await self._activate(loaded)
            except Unbuildable as error:
                found = (*found, *error.diagnostics)
        self._refused = snapshot
        return self._report(ReloadOutcome.REFUSED, snapshot.digest, _news(now.loaded.diagnostics, found))

    async def _snapshot(self) -> Snapshot:
        """Reads the snapshot; raises `TimeoutError`. A reading that hangs is waited for again, not doubled."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.get_running_loop().run_in_executor(None, self._read)
        async with asyncio.timeout(self._read_within):
            return await asyncio.shield(self._reading)

    async def _activate(self, loaded: CompiledSnapshot) -> ReloadReport:
        settings, kept_back = fixed_at_start(loaded.settings, self._running)
        before, number = self.in_force.loaded, self.in_force.number + 1
        loaded = replace(loaded, snapshot=loaded.snapshot.with_settings(settings))
        lines = await in_background(tuple, changes(before, loaded))
        await self._serving.activate(number, loaded)
        # Nothing is awaited from here to the report: the status would contradict itself meanwhile.
        self.in_force = InForce(number, loaded, time.time(), kept_back)
        report = self._report(ReloadOutcome.LOADED, loaded.snapshot.digest, loaded.diagnostics)
        news = _news(before.diagnostics, loaded.diagnostics) if loaded.diagnostics else ()
        return replace(report, news=news, changes=lines, kept_back=kept_back, rewrites=loaded.rewrite_count)

    def _report(self, outcome: ReloadOutcome, digest: str, diagnostics: tuple[Diagnostic, ...]) -> ReloadReport:
        now = self.in_force
        return ReloadReport(outcome, now.number, digest, now.since, diagnostics, diagnostics, at=time.time())


def _news(before: Iterable[Diagnostic], now: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that are new; places are ignored, since an edit moves them."""
    known = {(each.severity, each.code, each.message) for each in before}
    return tuple(each for each in now if (each.severity, each.code, each.message) not in known)


def changes(before: CompiledSnapshot, after: CompiledSnapshot) -> Iterator[str]:
    """Yields a line for each difference between two generations; names settings, but shows no values."""
    old, new = ({target.name: target for target in each.targets} for each in (before.settings, after.settings))
    if gone := [f"`{name}`" for name in old if name not in new]:
        yield f"targets removed: {_listed(gone)}"
    for name, target in new.items():
        rules = after.rule_sets.get(name, RuleSet(name))
        if name not in old:
            yield f"target `{name}` added: {counted(len(rules.rewrites), 'rewrite')}"
            continue
        if changed := _changed(old[name], target):
            yield f"target `{name}` changed: {', '.join(changed)}"
        for line in _rewrite_lines(before.rule_sets.get(name, RuleSet(name)), rules, after.settings.directory):
            yield f"target `{name}`: {line}"
    # The order decides between host patterns that match the same host.
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield "the order of the targets changed"
    if changed := _changed(replace(before.settings, targets=()), replace(after.settings, targets=())):
        yield f"changed: {', '.join(changed)}"


def _changed(old: Any, new: Any, path: str = "") -> list[str]:
    """Returns the paths of the options that differ between two sections, such as `bucket.region`."""
    found: list[str] = []
    for each in options_of(type(new)) if old != new else ():
        name = f"{path}{each.group.name}.{each.name}" if each.group else f"{path}{each.name}"
        one, other = getattr(old, each.attribute), getattr(new, each.attribute)
        if one == other:
            continue
        is_within = each.type.section and not each.type.is_secret and one is not None and other is not None
        # If no option differs, a certificate was renewed.
        found += (is_within and _changed(one, other, f"{name}.")) or [name]
    return found


def _rewrite_lines(before: RuleSet, after: RuleSet, directory: Path) -> Iterator[str]:
    """Yields the rewrites that were added, removed, changed or moved; name or source identifies a changed one."""
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
    """Writes a rewrite with its place, relative to the configuration."""
    file = rewrite.span.source.name.removeprefix(f"{directory}/")
    return f"`{rewrite.label}` ({file}:{rewrite.span.first.line})"


def _listed(names: Sequence[str]) -> str:
    """Joins the first names, and counts the others."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def fixed_at_start(settings: Settings, running: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Restores the settings that only a restart changes; also returns the names of those that differ."""
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


def run_rule_tests(loaded: CompiledSnapshot, before: CompiledSnapshot | None = None) -> CompiledSnapshot:
    """Runs the rule tests of targets that changed since `before`; adds a diagnostic for each failure.

    If any failed before, the tests of the other targets run as well; their failures are warnings.
    """
    if not loaded.usable or loaded.settings.reload.tests == "off":
        return loaded
    severity = Severity.ERROR if loaded.settings.reload.tests == "refuse" else Severity.WARNING
    changed = [*_untested(loaded, before)]
    found = [replace(each, severity=severity) for each in _failures(loaded, changed)]
    if before and before.failing_tests:
        others = [each for each in _untested(loaded, None) if each not in changed]
        found += [replace(each, severity=Severity.WARNING) for each in _failures(loaded, others)]
    return replace(loaded, diagnostics=(*loaded.diagnostics, *found)) if found else loaded


def tolerated(loaded: CompiledSnapshot) -> CompiledSnapshot:
    """Returns the snapshot with failing rule tests as warnings."""
    milder = (
        replace(each, severity=Severity.WARNING) if each.code == FAILING_TEST else each for each in loaded.diagnostics
    )
    return replace(loaded, diagnostics=tuple(milder))


def _failures(loaded: CompiledSnapshot, tested: Iterable[tuple[Target, RuleSet]]) -> Iterator[Diagnostic]:
    timeout, failed = loaded.settings.reload.test_timeout, 0
    end = time.monotonic() + timeout
    for target, rules in tested:
        data = target_data(target)
        for number, test in enumerate(rules.tests):
            if time.monotonic() > end:
                text = f"{number} of {len(rules.tests)} rule tests of target `{target.name}` ran within {timeout:g} s"
                advice = "raise `reload.testTimeout`, or make the tests fewer or cheaper"
                yield Diagnostic(FAILING_TEST, text, help=advice)
                return
            outcome = evaluate(rules, test, data)
            if not outcome.passed:
                failed += 1
                if failed <= _MOST_FAILING:
                    # Imports the whole linter, which is only needed if a test fails.
                    from tornado_proxy.lint.checks.tests import failing_test  # noqa: PLC0415

                    yield failing_test(outcome)
    if failed > _MOST_FAILING:
        more = f"{failed - _MOST_FAILING} more rule tests fail"
        yield Diagnostic(FAILING_TEST, more, help="`tornado-proxy test` shows them all")


def _untested(loaded: CompiledSnapshot, before: CompiledSnapshot | None) -> Iterator[tuple[Target, RuleSet]]:
    """Yields the targets with tests whose rules, tests, or data that templates read differ from before."""
    known = before.settings.targets if before else ()
    old = {each.name: (target_data(each), before and before.rule_sets.get(each.name)) for each in known}
    for target in loaded.settings.targets:
        rules = loaded.rule_sets.get(target.name)
        if rules and rules.tests and old.get(target.name) != (target_data(target), rules):
            yield target, rules
