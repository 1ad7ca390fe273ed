"""Reloads: read the whole snapshot, compile and test it off the event loop, swap, and report what changed.

A bad edit leaves the generation in force, the report gives the reason, and the next good edit loads.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.model import Settings
from tornado_proxy.config.show import differences
from tornado_proxy.rules.diagnostic import Diagnostic, counted, errors
from tornado_proxy.rules.model import Counted, RuleSet
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.service.building import Unbuildable
from tornado_proxy.service.limits import CHANGES_SHOWN, READ_WITHIN
from tornado_proxy.service.runtime import free_in_turns, in_background
from tornado_proxy.service.snapshot import Configuration, Snapshot, compile_snapshot, tolerant_of_dates
from tornado_proxy.service.trials import BUCKET_DOWN, probed, run_rule_tests
from tornado_proxy.telemetry.events import Event, ReloadOutcome, ReloadReport
from tornado_proxy.wire.shares import in_own_thread

if TYPE_CHECKING:
    from tornado_proxy.service.serving import SingleProcess
    from tornado_proxy.service.supervisor import Supervisor

Result = TypeVar("Result")

_LOG = logging.getLogger("tornado_proxy")

_UNSETTLED = Diagnostic(
    "unsettled", "the files keep changing: no two readings were the same", help="leave them alone for a second"
)
_HANGS = Diagnostic(
    "unreadable-file", "the files cannot be read: the file system does not answer", help="look for a mount that hangs"
)


def changes(in_force: Configuration, configuration: Configuration) -> Iterator[str]:
    """Yields a line for each difference from what is in force; names settings, but shows no values."""
    old = {target.name: target for target in in_force.settings.targets}
    new = {target.name: target for target in configuration.settings.targets}
    if gone := [f"`{name}`" for name in old if name not in new]:
        yield f"targets removed: {_listed(gone)}"
    for name, target in new.items():
        rules = configuration.rule_sets.get(name, RuleSet(name))
        if name not in old:
            yield f"target `{name}` added: {counted(len(rules.counted), 'rewrite')}"
            continue
        if changed := [each.path for each in differences(old[name], target)]:
            yield f"target `{name}` changed: {_listed(changed)}"
        old_rules = in_force.rule_sets.get(name, RuleSet(name))
        for line in _rewrite_lines(old_rules, rules, configuration.settings.directory):
            yield f"target `{name}`: {line}"
    # The order decides between host patterns that match the same host.
    if [name for name in old if name in new] != [name for name in new if name in old]:
        yield "the order of the targets changed"
    one, other = (replace(each.settings, targets=()) for each in (in_force, configuration))
    if changed := [each.path for each in differences(one, other)]:
        yield f"changed: {_listed(changed)}"


def _rewrite_lines(before: RuleSet, after: RuleSet, directory: Path) -> Iterator[str]:
    old, new = Counter(map(_texts, before.counted)), Counter(map(_texts, after.counted))
    less, more = old - new, new - old
    gone = {_identity(each): each for each in before.counted if _texts(each) in less}
    come = {_identity(each): each for each in after.counted if _texts(each) in more}
    fates = {
        "added": [come[each] for each in come if each not in gone],
        "removed": [gone[each] for each in gone if each not in come],
        "changed": [come[each] for each in come if each in gone],
    }
    for fate, rewrites in fates.items():
        if rewrites:
            yield f"rewrites {fate}: {_listed([_placed(each, directory) for each in rewrites])}"
    if old == new and [*map(_texts, before.counted)] != [*map(_texts, after.counted)]:
        yield "the order of the rewrites changed"


def _texts(rule: Counted) -> tuple[str, Dialect, str]:
    return rule.making[:3]


def _identity(rule: Counted) -> tuple[str, str]:
    return ("name", rule.name) if rule.name else ("source", rule.source_text)


def _placed(rewrite: Counted, directory: Path) -> str:
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


class Step(Enum):
    """What is done about a reading of the files."""

    NOTHING = "nothing"  # it is what is in force
    REVERT = "revert"  # the same, after an edit that was refused, or files that could not be started from
    WAIT = "wait"  # the files keep changing
    REPEAT = "repeat"  # it was refused for what has not changed since
    TRY = "try"


class Refusal(msgspec.Struct, frozen=True):
    """Why a reading of the files is not in force."""

    snapshot: Snapshot
    reasons: tuple[Diagnostic, ...]
    may_pass: bool = True  # by itself: a bucket that is away, a file system that hangs, a defect
    outcome: ReloadOutcome = ReloadOutcome.REFUSED
    error: BaseException | None = None  # a defect of ours


class EditState(msgspec.Struct, frozen=True):
    """What became of the last edit; all that is told of it follows from this."""

    refusal: Refusal | None = None  # None if the files are in force
    failure: ReloadReport | None = None  # the report of the refusal
    last: ReloadReport | None = None  # a reading that finds nothing new does not hide the result of an edit
    from_last_good: bool = False  # while the copy from which the service started is in force

    def step(self, reading: Snapshot, in_force: Snapshot) -> Step:
        """Returns what is done about the next reading of the files."""
        if reading.is_as(in_force):
            return Step.REVERT if self.refusal or self.from_last_good else Step.NOTHING
        if not reading.settled:
            return Step.WAIT
        if self.refusal is None:
            return Step.TRY
        is_hopeless = not self.refusal.may_pass and reading.is_as(self.refusal.snapshot)
        return Step.REPEAT if is_hopeless else Step.TRY

    def after(self, report: ReloadReport, refusal: Refusal | None = None) -> EditState:
        """Returns the state after a report: of a refusal, of a renewal, or of files that are in force."""
        if report.outcome is ReloadOutcome.RENEWED:
            return replace(self, last=report)
        if refusal is None:
            is_news = report.outcome is not ReloadOutcome.UNCHANGED or self.last is None
            return EditState(last=report if is_news else self.last)
        before = self.failure
        if before is None or not before.says_as(report):
            return replace(self, refusal=refusal, failure=report, last=report)
        # It is told once: the files are looked at every few seconds.
        return replace(self, refusal=refusal, failure=dataclasses.replace(report, at=before.at, seconds=before.seconds))

    def status_line(self, generation: int, rewrites: int) -> str:
        """Returns the line of `systemctl status`: the generation, and the first mistake of a refused edit."""
        line = f"generation {generation}, {counted(rewrites, 'rewrite')}"
        if self.from_last_good:
            line += ", started from the last good copy"
        if self.failure is None:
            return line
        diagnostics = self.failure.diagnostics
        first = next(iter((*errors(diagnostics), *diagnostics)), None)
        place = f"{first.place}: " if first and first.place else ""
        return f"{line}; an edit was refused{f': {place}{first.message}' if first else ''}"


class Reloader:
    """Makes new generations, one attempt at a time.

    `read` and `renew` are called on a thread: `read` returns what the files say now, `renew` the same snapshot with the
    secrets and certificates that there are now.
    """

    def __init__(
        self,
        serving: SingleProcess | Supervisor,
        read: Callable[[], Snapshot],
        emit: Callable[[Event], None],
        *,
        renew: Callable[[Snapshot], Snapshot] = lambda snapshot: snapshot,
        from_last_good: bool = False,
    ) -> None:
        self.edit = EditState(from_last_good=from_last_good)
        self._serving = serving
        self._at_start = serving.configuration.settings
        self._read, self._renew = read, renew
        self._reading, self._renewing = _Blocking(), _Blocking()
        self._seen = serving.configuration.snapshot  # the last reading
        self._emit = emit
        self._lock = asyncio.Lock()

    def watched(self) -> tuple[Path, ...]:
        """Returns the paths to watch: of the snapshot in force, and of the one that was read last."""
        return tuple(dict.fromkeys((*self._serving.configuration.snapshot.watched, *self._seen.watched)))

    def status_line(self) -> str:
        """Returns the line of `systemctl status`: the generation, and the first mistake of a refused edit."""
        return self.edit.status_line(self._serving.generation.number, self._serving.configuration.rewrite_count)

    async def reload(self) -> ReloadReport:
        """Reads the files, and puts them in force if they are new and good; raises nothing but cancellation.

        While they are refused, what is in force gets the secrets and certificates that there are now.
        """
        # Two attempts at once would give two generations one number, and the older snapshot could win.
        async with self._lock:
            began, refusal = time.perf_counter(), None
            try:
                attempt = await self._attempt()
            except Exception as error:  # noqa: BLE001 - a defect of ours must not end the service
                attempt = Refusal(self._seen, (_defect(error),), outcome=ReloadOutcome.FAILED, error=error)
            # Nothing is awaited between an activation and the new state: the status would contradict itself meanwhile.
            if isinstance(attempt, Refusal):
                refusal, problems = attempt, await self._renewed()
                diagnostics = tuple(dict.fromkeys((*refusal.reasons, *problems)))  # a file system may hang for both
                attempt = self._report(refusal.outcome, refusal.snapshot.digest, diagnostics)
                attempt = dataclasses.replace(attempt, error=refusal.error)
            report = dataclasses.replace(attempt, seconds=time.perf_counter() - began)
            self._tell(report, refusal)
            return self.edit.failure or report

    def _tell(self, report: ReloadReport, refusal: Refusal | None = None) -> None:
        self.edit = self.edit.after(report, refusal)
        if self.edit.last is report and report.outcome is not ReloadOutcome.UNCHANGED:
            self._emit(report)

    async def _attempt(self) -> ReloadReport | Refusal:
        """Returns a report if the files are in force, else the edit that is refused."""
        in_force = self._serving.configuration
        try:
            reading = self._seen = await self._reading(self._read)
        except TimeoutError:
            return Refusal(self._seen, (_HANGS,))
        match self.edit.step(reading, in_force.snapshot):
            case Step.NOTHING | Step.REVERT as step:
                outcome = ReloadOutcome.REVERTED if step is Step.REVERT else ReloadOutcome.UNCHANGED
                # The watcher may have loaded the edit already: repeat its warnings.
                report = self._report(outcome, reading.digest, in_force.diagnostics)
                return dataclasses.replace(report, news=(), kept_back=in_force.kept_back)
            case Step.WAIT:
                return Refusal(reading, (_UNSETTLED,))
            case Step.REPEAT:
                assert self.edit.refusal is not None, "what is repeated was refused"
                return self.edit.refusal
            case Step.TRY:
                return await self._tried(reading, in_force)

    async def _tried(
        self, reading: Snapshot, in_force: Configuration, outcome: ReloadOutcome = ReloadOutcome.LOADED
    ) -> ReloadReport | Refusal:
        configuration = await in_background(compile_snapshot, reading, in_force)
        configuration = tolerant_of_dates(configuration, in_force.settings, time.time())
        if any(rules.tests for rules in configuration.rule_sets.values()):
            configuration = await in_background(run_rule_tests, configuration, in_force)
        if configuration.usable:
            configuration = await probed(configuration, in_force)
        diagnostics = configuration.diagnostics
        if configuration.usable:
            try:
                return await self._activated(outcome, configuration)
            except Unbuildable as error:
                diagnostics = (*diagnostics, *error.diagnostics)
        free_in_turns([*configuration.pieces()])
        is_away = all(each.code == BUCKET_DOWN for each in errors(diagnostics))
        return Refusal(reading, _news(in_force.diagnostics, diagnostics), is_away)

    async def _renewed(self) -> tuple[Diagnostic, ...]:
        """Renews the secrets and certificates of what is in force, if they changed; returns why that cannot be done."""
        in_force = self._serving.configuration
        try:
            of, snapshot = await self._renewing(lambda: (in_force.snapshot, self._renew(in_force.snapshot)))
            if of is not in_force.snapshot or snapshot.is_as(of):
                return ()
            result = await self._tried(snapshot, in_force, ReloadOutcome.RENEWED)
        except TimeoutError:
            return (_HANGS,)
        except Exception as error:  # noqa: BLE001 - as in `reload`
            _LOG.exception("secrets could not be renewed")
            return (_defect(error),)
        if isinstance(result, Refusal):
            kept = "what is in force keeps its secrets and certificates"
            return tuple(replace(each, message=f"{kept}: {each.message}") for each in errors(result.reasons))
        self._tell(result)
        return ()

    async def _activated(self, outcome: ReloadOutcome, configuration: Configuration) -> ReloadReport:
        before, configuration = self._serving.configuration, fixed_at_start(configuration, self._at_start)
        lines = await in_background(tuple, changes(before, configuration))
        await self._serving.activate(self._serving.generation.number + 1, configuration)
        report = self._report(outcome, configuration.snapshot.digest, configuration.diagnostics)
        news = _news(before.diagnostics, configuration.diagnostics)
        kept_back, rewrites = configuration.kept_back, configuration.rewrite_count
        return dataclasses.replace(report, news=news, changes=lines, kept_back=kept_back, rewrites=rewrites)

    def _report(self, outcome: ReloadOutcome, digest: str, diagnostics: tuple[Diagnostic, ...]) -> ReloadReport:
        generation, at = self._serving.generation, time.time()
        return ReloadReport(outcome, generation.number, digest, generation.since, diagnostics, diagnostics, at=at)


class _Blocking:
    """Makes calls that block on a thread; one that hangs is waited for again, not doubled."""

    def __init__(self) -> None:
        self._running: asyncio.Future[Any] | None = None

    async def __call__(self, call: Callable[[], Result]) -> Result:
        """Returns the result of the call, or of an earlier one that hung; raises `TimeoutError`."""
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(in_own_thread(call))
        async with asyncio.timeout(READ_WITHIN):
            result: Result = await asyncio.shield(self._running)
            return result


def _defect(error: Exception) -> Diagnostic:
    text = f"the reload failed with `{type(error).__name__}: {error}`; the log has the traceback"
    return Diagnostic("defect", text)


def _news(in_force: Iterable[Diagnostic], diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Returns the diagnostics that are new; places are ignored, since an edit moves them."""
    old = {(each.severity, each.code, each.message) for each in in_force}
    return tuple(each for each in diagnostics if (each.severity, each.code, each.message) not in old)
