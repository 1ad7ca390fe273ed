"""The operator's view of the service and its commands: status page, JSON, metrics, reload, purge, log level."""

from __future__ import annotations

import asyncio
import logging
import platform
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from importlib.metadata import version
from operator import itemgetter
from typing import Any

from msgspec.structs import asdict, replace

from tornado_proxy.admin import status as status_page
from tornado_proxy.admin.limits import DIAGNOSTICS_SHOWN, MOST_ROWS, PROBED_WITHIN, RELOADS_KEPT, SHORTEST_CHART
from tornado_proxy.admin.simulation import DraftPage, draft_page, drafted, explained
from tornado_proxy.config.show import show
from tornado_proxy.pages.listing import human_size
from tornado_proxy.routing.plan import Attempt, Browse, ListTargets, Redirect, Refuse, VisitProvider
from tornado_proxy.routing.request import ASSETS_AT
from tornado_proxy.rules.diagnostic import Severity, render
from tornado_proxy.rules.model import Counted, RuleSet
from tornado_proxy.rules.tree import opening
from tornado_proxy.service.building import look_now
from tornado_proxy.service.certificates import certificate_views, validities
from tornado_proxy.service.process import Process
from tornado_proxy.service.runtime import in_background
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.storage.probe import Outlook
from tornado_proxy.telemetry import metrics
from tornado_proxy.telemetry.events import ReloadReport
from tornado_proxy.telemetry.exposition import ServiceState, as_text, service_metrics
from tornado_proxy.telemetry.limits import SAMPLE_EVERY, SAMPLED_FOR
from tornado_proxy.telemetry.log import diagnostic_fields, moment, probe_fields

_LOG = logging.getLogger("tornado_proxy")

_PACKAGES = ("tornado-proxy", "tornado", "boto3", "google-re2")


class Administration:
    """The pages and commands of a process; remembers reloads and samples for the status page."""

    def __init__(self, process: Process) -> None:
        self.is_ready = process.is_ready
        self.history = metrics.ActivityHistory()
        self._reloader = process.reloader
        self._serving = serving = process.serving
        self._probes, self._probed = process.probes, process.probed
        self._last_good = process.last_good
        self._defects = process.defects
        self._explaining = asyncio.Lock()
        # Those that run: later, an upgrade may have replaced the packages.
        self._versions = {name: version(name) for name in _PACKAGES} | {"Python": platform.python_version()}
        self._started = started = serving.generation.since
        self._reloads = deque([status_page.ReloadRow("started", 1, started)], RELOADS_KEPT)
        self._counts: Counter[str] = Counter()  # of reloads, by outcome
        process.bus.add(self._note, ReloadReport)

    def _note(self, report: ReloadReport) -> None:
        self._counts[report.outcome.value] += 1
        # The excerpts, not the spans: those would keep every version of the files in memory.
        shown = sorted(report.news, key=lambda each: each.severity is not Severity.ERROR)
        row = status_page.ReloadRow(
            report.outcome.value,
            report.generation,
            report.at,
            report.seconds,
            report.changes,
            report.kept_back,
            tuple(render(each) for each in shown[:DIAGNOSTICS_SHOWN]),
            max(0, len(shown) - DIAGNOSTICS_SHOWN),
        )
        self._reloads.appendleft(row)

    @property
    def is_read_only(self) -> bool:
        """Whether commands are accepted on a Unix socket only."""
        return self._serving.configuration.settings.internal_server.read_only

    async def sample(self) -> None:
        """Takes samples for the charts until cancelled."""
        while True:
            self.history.add(time.time(), (await self._serving.report()).activity)
            await asyncio.sleep(SAMPLE_EVERY)

    async def status(self) -> dict[str, object]:
        """Returns the state of the service as JSON."""
        configuration, generation = self._serving.configuration, self._serving.generation
        edit, snapshot = self._reloader.edit, configuration.snapshot
        return {
            "version": self._versions["tornado-proxy"],
            "ready": self.is_ready(),
            "generation": generation.number,
            "digest": snapshot.digest,
            "loadedAt": moment(generation.since),
            "files": [str(snapshot.places[0]), *(file.name for file in snapshot.files)],
            "targets": {
                target.name: {
                    "host": target.mount.host,
                    "paths": list(target.mount.paths),
                    "methods": list(target.actions.methods),
                    "rewrites": len(configuration.rule_sets.get(target.name, RuleSet(target.name)).counted),
                    "probe": probe_fields(self._probes[target.name]) if target.name in self._probes else None,
                }
                for target in configuration.settings.targets
            },
            "failingTests": [diagnostic_fields(each) for each in configuration.failing_tests],
            "lastAttempt": report_view(edit.last) if edit.last else None,
            "lastFailedAttempt": report_view(edit.failure) if edit.failure else None,
            "startedFromLastGood": edit.from_last_good,
            "lastGoodTrouble": (self._last_good and self._last_good.trouble) or None,
            "defects": [{**each._asdict(), "at": moment(each.at)} for each in self._defects],
            "certificates": certificate_views(configuration.settings, time.time()),
            "workers": list(self._serving.workers()),
        }

    async def overview(self, asked: Mapping[str, str]) -> status_page.Overview:
        """Returns the values of the status page; `asked` are the fields of its form."""
        at, state, activity = time.time(), await self.status(), (await self._serving.report()).activity
        configuration = self._serving.configuration
        rewrites = [*_rewrites(configuration, activity)]
        busiest = sorted((each for each in rewrites if each[2]), key=itemgetter(2), reverse=True)
        return status_page.Overview(
            state,
            at,
            self._started,
            self._versions,
            tuple(_charts(at, [*self.history.intervals()])),
            tuple(_targets(state, activity)),
            self._rows(configuration, busiest),
            self._rows(configuration, [each for each in rewrites if not each[2]]),
            tuple(self._reloads),
            activity.errors[::-1],
            asked,
            await self._explained(asked),
            tuple(each for each in activity.recent[::-1] if f"/{ASSETS_AT}" not in each.path),
            activity.ignoring,
        )

    def _rows(
        self, configuration: Configuration, rewrites: Sequence[tuple[str, Counted, int]]
    ) -> status_page.RewriteRows:
        def row(target: str, rewrite: Counted, hits: int) -> status_page.RewriteRow:
            minutes = self.history.hits.minutes(metrics.rewrite_id(target, rewrite), hits)
            return replace(_rewrite_row(configuration, target, rewrite, hits), minutes=minutes)

        return [row(*each) for each in rewrites[:MOST_ROWS]], len(rewrites)

    async def _explained(self, asked: Mapping[str, str]) -> status_page.Explanation | None:
        parts = self._serving.generation.parts
        if not asked.get("path"):
            return None
        # One at a time: it takes processor time from requests.
        async with self._explaining:
            try:
                answer = await asyncio.to_thread(explained, parts.mounts, asked, parts.settings.server.public_path)
            except Exception as error:  # noqa: BLE001 - the rest of the page can still be shown
                _LOG.exception("a path could not be explained")
                reason = f"`{type(error).__name__}` was raised; the log has the traceback"
                return status_page.Explanation(asked["path"], (("error", ((reason,),)),))
        # Places are relative to the configuration's directory, as in the other tables.
        folder = f"{parts.settings.directory}/"
        cut = [(name, [[each.removeprefix(folder) for each in row] for row in rows]) for name, rows in answer.sections]
        steps = [await self._answer(answer.target, answer.attempts)] if answer.attempts else []
        return status_page.Explanation(answer.heading, tuple(cut), (*answer.path, *steps))

    async def _answer(self, target: str | None, attempts: Sequence[Attempt]) -> status_page.PathStep:
        """Returns the last step of a request: the first attempt of its plan that applies, which S3 is asked about."""
        first = attempts[0]
        needs_s3 = target is not None and not isinstance(first, Refuse)
        outlook = await look_now(self._serving.generation, target or "", attempts) if needs_s3 else Outlook(first)
        outcome = "bad" if outlook.error or isinstance(outlook.attempt, Refuse) else "good"
        targets = self._serving.configuration.settings.targets
        redirects = any(each.name == target and each.actions.get.website_redirects for each in targets)
        lines = (((line, None),) for line in _outcome(outlook, redirects))
        return status_page.PathStep("answer now", tuple(lines), outcome)

    async def draft(self, path: str, text: str | None = None) -> DraftPage:
        """Returns the page of a rule file in force; with a text, what that would change. Nothing has an effect."""
        configuration, mounts = self._serving.configuration, self._serving.generation.parts.mounts
        page = draft_page(configuration, path)
        kept = await self._serving.requests()
        if text is None:
            return replace(page, kept=len(kept))
        # One at a time: it takes processor time from requests.
        async with self._explaining:
            return await in_background(drafted, configuration, mounts, page, text, kept)

    async def rewrites(self) -> dict[str, object]:
        """Returns the rewrites in force with their hits as JSON."""
        report, configuration = await self._serving.report(), self._serving.configuration
        rewrites = _rewrites(configuration, report.activity)
        rows = await asyncio.to_thread(lambda: [asdict(_rewrite_row(configuration, *each)) for each in rewrites])
        return {"rewrites": rows}

    async def configuration(self) -> dict[str, object]:
        """Returns the configuration in force as JSON, without secrets."""
        return {"config": show(self._serving.configuration.settings)}

    async def reload(self) -> tuple[bool, dict[str, object]]:
        """Reloads at once; returns whether the files are in force, and the report with the targets that are down."""
        report = await self._reloader.reload()
        await self._probed(PROBED_WITHIN)
        problems = {each.target: each.problem.message for each in self._probes.values() if each.problem}
        return report.is_in_force, {**report_view(report), "targetsDown": problems}

    async def requests(self) -> dict[str, object]:
        """Returns the last requests that are kept in memory as JSON, the oldest first."""
        kept = await self._serving.requests()
        return {"version": 1, "requests": [{**each._asdict(), "at": moment(each.at)} for each in kept]}

    async def purge(self, target: str | None, prefix: str) -> int | None:
        """Purges caches; returns the number of objects, or None if the target has no cache."""
        targets = self._serving.configuration.settings.targets
        if target is not None and not any(each.name == target and each.cache for each in targets):
            return None
        return await self._serving.purge(target, prefix)

    def set_log_level(self, level: str) -> None:
        """Sets the log level until the service ends; the change itself is always logged."""
        self._serving.set_log_level(level)
        _LOG.log(max(logging.INFO, _LOG.getEffectiveLevel()), "the log level is `%s` now", level)

    async def metrics(self) -> bytes:
        """Returns the metrics of requests and reloads in Prometheus's text format."""
        report = await self._serving.report(has_metrics=True)
        configuration, generation = self._serving.configuration, self._serving.generation
        # Of several certificates of one name, the first end counts.
        ends = sorted(validities(configuration.settings), key=lambda each: -each.not_after)
        state = ServiceState(
            self._versions["tornado-proxy"],
            configuration.snapshot.digest,
            generation.number,
            generation.since,
            self._reloader.edit.failure is None,
            self._counts,
            self._probes.values(),
            {(each.listener, each.name): each.not_after for each in ends},
            self._serving.worker_ends,
            bool(self._last_good and self._last_good.trouble),
        )
        return as_text((*report.counts, *service_metrics(state)))


_OUTCOMES: Mapping[type, str] = {
    Browse: "200 OK, a listing",
    VisitProvider: "a page of the provider",
    ListTargets: "200 OK, the list of targets",
}


def _outcome(outlook: Outlook, redirects: bool) -> Iterator[str]:  # noqa: FBT001 - of the target: whether its objects may
    attempt, info = outlook.attempt, outlook.info
    if outlook.error:
        yield outlook.error
    elif isinstance(attempt, Refuse):
        yield f"{attempt.status} {HTTPStatus(attempt.status).phrase}"
        yield attempt.reason
    elif info is not None and info.redirect and redirects:
        yield "301 Moved Permanently"
        yield info.redirect
    elif info is not None:
        yield f"200 OK, {'of unknown size' if info.size is None else human_size(info.size)}"
        yield info.content_type or "without a type"
        yield f"changed {info.last_modified:%Y-%m-%d %H:%M} UTC" if info.last_modified else "changed at an unknown time"
    elif attempt is not None:
        if isinstance(attempt, Redirect):
            yield f"{attempt.status} {HTTPStatus(attempt.status).phrase}"
            yield attempt.location
        else:
            yield _OUTCOMES.get(type(attempt), "not tried, since it would change something")


def _rewrites(configuration: Configuration, activity: metrics.Activity) -> Iterator[tuple[str, Counted, int]]:
    """Yields each rewrite in force with its target and its hits; of equal ones, only the first is ever hit."""
    left = activity.hits.copy()
    for target, rules in configuration.rule_sets.items():
        for rewrite in rules.counted:
            yield target, rewrite, left.pop(metrics.rewrite_id(target, rewrite), 0)


def _rewrite_row(configuration: Configuration, target: str, rewrite: Counted, hits: int) -> status_page.RewriteRow:
    place = rewrite.span.place.removeprefix(f"{configuration.settings.directory}/")
    shown = opening(rewrite.statement), rewrite.source_text, rewrite.result_text
    return status_page.RewriteRow(target, rewrite.number, rewrite.name, *shown, place, hits)


def _targets(state: Mapping[str, object], activity: metrics.Activity) -> Iterator[status_page.TargetRow]:
    views: Any = state["targets"]
    for name, view in views.items():
        yield status_page.TargetRow(name, activity.targets.get(name, metrics.Tally()), view)
    for key, name in (("", "(no target)"), (metrics.OWN_FILES, "(own style sheets and scripts)")):
        if tally := activity.targets.get(key):
            yield status_page.TargetRow(name, tally)


def _charts(now: float, intervals: list[metrics.Interval]) -> Iterator[status_page.Chart]:
    def line(name: str, style: str, value: Callable[[metrics.Interval], float | None]) -> status_page.ChartLine:
        return status_page.ChartLine(name, style, [(each.end, value(each)) for each in intervals])

    def rate(name: str, style: str, count: Callable[[metrics.Tally], int]) -> status_page.ChartLine:
        return line(name, style, lambda each: count(each.tally) / each.seconds)

    def shown_rate(value: float) -> str:
        return f"{value:.1f}/s" if value < 100 else f"{value:,.0f}/s"

    def quantile(name: str, style: str, part: float) -> status_page.ChartLine:
        return line(name, style, lambda each: each.tally.quantile(part))

    first = intervals[0].end - intervals[0].seconds if intervals else now
    # Shortly after the start the charts cover the time since then, but at least a minute.
    span = min(max(now - SAMPLED_FOR, first), now - SHORTEST_CHART), now
    answers = rate("all", "area", lambda tally: tally.requests), rate("4xx", "warn", lambda tally: tally.classes[3])
    failures = rate("5xx", "bad", lambda tally: tally.classes[4])
    yield status_page.Chart("Requests", (*answers, failures), *span, shown_rate)
    times = quantile("median", "area", 0.5), quantile("95 %", "warn", 0.95), quantile("99 %", "bad", 0.99)
    yield status_page.Chart("Time to first byte", times, *span, status_page.shown_wait)
    volume = rate("sent", "area", lambda tally: tally.sent), rate("received", "second", lambda tally: tally.received)
    yield status_page.Chart("Traffic", volume, *span, lambda value: f"{human_size(round(value))}/s", in_bytes=True)
    running = line("requests", "area", lambda each: each.in_flight)
    yield status_page.Chart("In flight", (running,), *span, lambda value: f"{value:g}")


def report_view(report: ReloadReport) -> dict[str, object]:
    """Returns a report of a reload as JSON."""
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
