"""What operators see of the process: the status page, its JSON, the report of a reload, and a line for systemd."""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tornado_proxy.lang.diagnostic import Severity, counted, errors
from tornado_proxy.lang.excerpt import render
from tornado_proxy.pages.listing import human_size
from tornado_proxy.pages.status import (
    Chart,
    ChartLine,
    Explanation,
    Overview,
    ReloadRow,
    RewriteRow,
    RewriteTable,
    TargetRow,
)
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.service.reload import InForce, Reloader
from tornado_proxy.service.serving import Serving
from tornado_proxy.service.snapshot import CompiledSnapshot
from tornado_proxy.telemetry.events import ReloadReport
from tornado_proxy.telemetry.log import diagnostic_fields, moment
from tornado_proxy.telemetry.metrics import (
    SAMPLE_EVERY,
    SAMPLED,
    Activity,
    ActivityHistory,
    Interval,
    Tally,
    rewrite_id,
)

_LOG = logging.getLogger("tornado_proxy")

Explain = Callable[[Mounts, Mapping[str, str]], Explanation]
"""Explains a request that is given by the fields of the page's form, on a thread."""

_KEPT = 20  # reloads
_SHORTEST = 60.0  # seconds that the charts show at least
_SHOWN = 5  # diagnostics of a reload
_MOST_ROWS = 50  # rewrites of a kind: a page with thousands of them would be slow to make and to read
_PACKAGES = ("tornado-proxy", "tornado", "botocore", "google-re2")


class Overviews:
    """Remembers what the page shows of the past, and makes the page's values."""

    def __init__(self, explain: Explain | None) -> None:
        self._started = time.time()
        from importlib.metadata import version  # noqa: PLC0415 - 7 ms that the first requests need not wait for

        # Reads files, for which there may be no descriptor later.
        self.versions = {name: version(name) for name in _PACKAGES} | {"Python": platform.python_version()}
        self.history = ActivityHistory()
        self._reloads: deque[ReloadRow] = deque([ReloadRow("started", 1, self._started)], _KEPT)
        self._explain = explain
        self._explaining = asyncio.Lock()

    async def sample(self, serving: Serving) -> None:
        """Takes samples for the charts until cancelled; a defect costs a sample."""
        while True:
            try:
                self.history.add(time.time(), await serving.activity())
            except Exception:  # noqa: BLE001 - a page must not end the service
                _LOG.exception("a sample for the status page failed")
            await asyncio.sleep(SAMPLE_EVERY)

    def note(self, report: ReloadReport) -> None:
        """Remembers a reload."""
        # The excerpts, not the spans: those would keep every version of the files in memory.
        shown = sorted(report.news, key=lambda each: each.severity is not Severity.ERROR)
        row = ReloadRow(
            report.outcome.value,
            report.generation,
            report.at,
            report.seconds,
            report.changes,
            report.kept_back,
            tuple(render(each) for each in shown[:_SHOWN]),
            max(0, len(shown) - _SHOWN),
        )
        self._reloads.appendleft(row)

    async def overview(
        self, now: InForce, state: Mapping[str, object], activity: Activity, asked: Mapping[str, str]
    ) -> Overview:
        """Makes the values of the page."""
        at, rewrites = time.time(), [*_rewrites(now, activity)]
        busiest = sorted((each for each in rewrites if each[2]), key=itemgetter(2), reverse=True)
        return Overview(
            state,
            at,
            self._started,
            self.versions,
            tuple(_charts(at, [*self.history.intervals()])),
            tuple(_targets(state, activity)),
            _table(now, busiest),
            _table(now, [each for each in rewrites if not each[2]]),
            tuple(self._reloads),
            activity.refused[::-1],
            asked,
            await self._explained(now, asked),
        )

    async def _explained(self, now: InForce, asked: Mapping[str, str]) -> Explanation | None:
        settings = now.loaded.settings
        if self._explain is None or not asked.get("path") or settings is None:
            return None
        # One at a time: it takes processor time from requests.
        async with self._explaining:
            found = sites(settings.targets, now.loaded.rule_sets)
            mounts = Mounts(found, settings.oidc_providers, settings.list_targets)
            try:
                explained = await asyncio.to_thread(self._explain, mounts, asked)
            except Exception as error:  # noqa: BLE001 - the rest of the page can still be shown
                _LOG.exception("a path could not be explained")
                reason = f"`{type(error).__name__}` was raised; the log has the traceback"
                return Explanation(asked["path"], (("error", ((reason,),)),))
        # Places are shown as the other tables show them: from the configuration's folder.
        folder = f"{settings.directory}/"
        sections = (
            (title, [[cell.removeprefix(folder) for cell in row] for row in rows]) for title, rows in explained.sections
        )
        return Explanation(explained.heading, tuple(sections))


def rewrite_rows(now: InForce, activity: Activity) -> Iterator[RewriteRow]:
    """Yields the rewrites in force with their hits."""
    return (_rewrite_row(now, *each) for each in _rewrites(now, activity))


def _rewrites(now: InForce, activity: Activity) -> Iterator[tuple[str, Rewrite, int]]:
    """Yields each rewrite in force with its target and its hits; of equal ones, only the first is ever hit."""
    left = activity.hits.copy()
    for target, rules in now.loaded.rule_sets.items():
        for rewrite in rules.rewrites:
            yield target, rewrite, left.pop(rewrite_id(target, rewrite), 0)


def _rewrite_row(now: InForce, target: str, rewrite: Rewrite, hits: int) -> RewriteRow:
    directory = f"{now.loaded.settings.directory}/" if now.loaded.settings else ""
    place = rewrite.span.place.removeprefix(directory)
    return RewriteRow(target, rewrite.number, rewrite.name, rewrite.pattern.text, rewrite.template.text, place, hits)


def _table(now: InForce, found: Sequence[tuple[str, Rewrite, int]]) -> RewriteTable:
    return RewriteTable(tuple(_rewrite_row(now, *each) for each in found[:_MOST_ROWS]), len(found))


def _targets(state: Mapping[str, object], activity: Activity) -> Iterator[TargetRow]:
    views: Any = state["targets"]
    for name, view in views.items():
        yield _target(name, activity.targets.get(name, Tally()), view)
    if elsewhere := activity.targets.get(""):
        yield _target("(no target)", elsewhere)


def _target(name: str, tally: Tally, view: Mapping[str, Any] = MappingProxyType({})) -> TargetRow:
    return TargetRow(
        name,
        tuple(f"{view['host']}{path}" for path in view.get("paths", ())),
        tuple(view.get("methods", ())),
        view.get("rewrites", 0),
        tally.requests,
        tally.classes[3],
        tally.classes[4],
        _duration(tally.quantile(0.5)),
        _duration(tally.quantile(0.95)),
        view.get("probe"),
    )


def _charts(now: float, intervals: list[Interval]) -> Iterator[Chart]:
    def line(name: str, style: str, value: Callable[[Interval], float | None]) -> ChartLine:
        return ChartLine(name, style, [(each.end, value(each)) for each in intervals])

    first = intervals[0].end - intervals[0].seconds if intervals else now
    # All that there is of a process that began a moment ago, but never less than a minute.
    span = min(max(now - SAMPLED, first), now - _SHORTEST), now
    yield Chart(
        "Requests",
        (
            line("all", "area", lambda each: each.tally.requests / each.seconds),
            line("4xx", "warn", lambda each: each.tally.classes[3] / each.seconds),
            line("5xx", "bad", lambda each: each.tally.classes[4] / each.seconds),
        ),
        *span,
        _rate,
    )
    yield Chart(
        "Time to answer",
        (
            line("median", "area", lambda each: each.tally.quantile(0.5)),
            line("95 %", "warn", lambda each: each.tally.quantile(0.95)),
            line("99 %", "bad", lambda each: each.tally.quantile(0.99)),
        ),
        *span,
        _duration,
    )
    yield Chart(
        "Traffic",
        (
            line("sent", "area", lambda each: each.tally.sent / each.seconds),
            line("received", "second", lambda each: each.tally.received / each.seconds),
        ),
        *span,
        lambda value: f"{human_size(round(value))}/s",
    )
    yield Chart(
        "In flight", (line("requests", "area", lambda each: each.in_flight),), *span, lambda value: f"{value:g}"
    )


def _rate(value: float) -> str:
    return f"{value:.1f}/s" if value < 100 else f"{value:,.0f}/s"


def _duration(seconds: float | None) -> str:
    """A duration from the buckets of a histogram, with two digits: more would be invented."""
    if seconds is None:
        return "\N{EN DASH}"
    if seconds >= 1:
        return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"
    return f"{float(f'{seconds * 1000:.2g}'):g} ms"


def report_view(report: ReloadReport) -> dict[str, object]:
    """A report as `POST /-/reload` answers it."""
    return {
        "outcome": report.outcome.value,
        "generation": report.generation,
        "loadedAt": moment(report.since),
        "digest": report.digest,
        "at": moment(report.at),
        "seconds": round(report.seconds, 6),
        "changes": list(report.changes),
        "restartNeededFor": list(report.kept_back),
        "diagnostics": [diagnostic_fields(each) for each in report.diagnostics],
    }


def reloader_view(reloader: Reloader, probe_of: Callable[[str], object]) -> dict[str, object]:
    """What is in force and the last attempts, as `GET /-/status` answers them; `probe_of` knows a target's probe."""
    now = reloader.in_force
    snapshot = now.loaded.snapshot
    return {
        "generation": now.number,
        "digest": snapshot.digest,
        "loadedAt": moment(now.since),
        "files": [
            str(each.absolute()) for each in (snapshot.watched[0], *(Path(file.name) for file in snapshot.files))
        ],
        "targets": _targets_view(now.loaded, probe_of),
        "lastAttempt": report_view(reloader.last) if reloader.last else None,
        "lastFailedAttempt": report_view(reloader.failure) if reloader.failure else None,
    }


def status_line(reloader: Reloader, *, from_last_good: bool) -> str:
    """What is in force, and the first mistake of a refused edit, for `systemctl status`."""
    now, failure = reloader.in_force, reloader.failure
    line = f"generation {now.number}, {counted(now.loaded.rewrite_count, 'rewrite')}"
    if from_last_good:
        line += ", started from the last good copy"
    if failure is None:
        return line
    first = errors(failure.diagnostics)[0]
    place = f"{first.place}: " if first.place else ""
    return f"{line}; an edit was refused: {place}{first.message}"


def _targets_view(loaded: CompiledSnapshot, probe_of: Callable[[str], object]) -> Mapping[str, object]:
    targets = loaded.settings.targets if loaded.settings else ()
    return {
        target.name: {
            "host": target.mount.host,
            "paths": list(target.mount.paths),
            "methods": list(target.actions.methods),
            "rewrites": len(loaded.rule_sets.get(target.name, RuleSet(target.name)).rewrites),
            "probe": probe_of(target.name),
        }
        for target in targets
    }
