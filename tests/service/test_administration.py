"""The administration: status, reloads, charts, targets, rewrites, refused requests, explanations."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from types import SimpleNamespace

import pytest
from files import CONFIGURATION, Files

from tornado_proxy.lang.diagnostic import Diagnostic, Severity
from tornado_proxy.pages.status import Explanation, RefusedRow
from tornado_proxy.service.administration import Administration
from tornado_proxy.service.reload import InForce
from tornado_proxy.service.snapshot import compile_snapshot
from tornado_proxy.storage.probe import BucketProblem, ProbeResult
from tornado_proxy.telemetry.events import Bus, ReloadOutcome, ReloadReport
from tornado_proxy.telemetry.metrics import Activity, ProcessReport, Tally

RULES = 'rewrite home `^/h` -> "/x"\nrewrite `^/z` -> "/y"'


@pytest.fixture
def now(tmp_path):
    """What is in force."""
    files = Files.create(tmp_path, site=RULES)
    files.configure(CONFIGURATION.replace("path: [/]", "host: files.test, path: [/a/, /b/]"))
    return InForce(3, files.load(), 100.0)


class _Serving:
    """Serving with the given activity."""

    def __init__(self, activity: Activity | None = None) -> None:
        self.done = activity or Activity()

    def workers(self) -> list[dict[str, object]]:
        """No process."""
        return []

    async def report(self) -> ProcessReport:
        """Its activity."""
        return ProcessReport((), self.done)


def _administration(now, activity=None, explain=None, probes=None) -> Administration:
    reloader = SimpleNamespace(in_force=now, last=None, failure=None)
    return Administration(reloader, _Serving(activity), probes or {}, lambda: True, explain)


def _overview(now, activity=None, explain=None, **asked):
    return asyncio.run(_administration(now, activity, explain).overview(asked))


def _reloads(now, *reports):
    """The rows of the page after some reloads."""
    administration, bus = _administration(now), Bus()
    administration.listen(bus)
    for report in reports:
        bus.emit(report)
    return asyncio.run(administration.overview({})).reloads


def _report(outcome, **more):
    return ReloadReport(outcome, 2, "d1", at=1000.0, seconds=0.5, **more)


def test_the_status_line_names_the_mistake_that_refused_an_edit(now):
    """A warning before it is not the reason."""
    administration = _administration(now)
    found = (Diagnostic("w", "a warning", severity=Severity.WARNING), Diagnostic("bad-source", "missing `)`"))
    administration._reloader.failure = _report(ReloadOutcome.REFUSED, diagnostics=found)
    assert administration.status_line() == "generation 3, 2 rewrites; an edit was refused: missing `)`"


def test_the_reloads_are_remembered_the_newest_first(now):
    """Each with what it changed, and with the diagnostics that it brought."""
    rows = _reloads(
        now,
        _report(ReloadOutcome.REFUSED, news=(Diagnostic("bad-source", "missing `)`"),)),
        _report(ReloadOutcome.REVERTED),
        _report(ReloadOutcome.LOADED, changes=("limits changed",), kept_back=("log",)),
    )
    assert [row.outcome for row in rows] == ["loaded", "reverted", "refused", "started"]
    assert (rows[0].changes, rows[0].kept_back) == (("limits changed",), ("log",))
    assert rows[2].diagnostics == ("error[bad-source]: missing `)`",)


def test_the_last_good_copy_is_in_force_until_a_reload_succeeds(now):
    """A refused edit does not change that."""
    administration, bus, shown = _administration(now), Bus(), []
    administration.started_from_last_good = True
    administration.listen(bus)
    for outcome in (ReloadOutcome.REFUSED, ReloadOutcome.LOADED):
        bus.emit(_report(outcome))
        shown.append(asyncio.run(administration.status())["startedFromLastGood"])
    assert shown == [True, False]


def test_a_target_shows_its_last_probe(now):
    """As JSON; a target that was not probed yet has none."""
    problem = BucketProblem("no-bucket", "there is no bucket `b`", "create it")
    administration = _administration(now, probes={"site": ProbeResult("site", "b", 2.0, 0.1, (), problem)})
    assert asyncio.run(administration.status())["targets"]["site"]["probe"]["problem"]["code"] == "no-bucket"
    assert asyncio.run(_administration(now).status())["targets"]["site"]["probe"] is None


class _Purged(_Serving):
    """Serving with caches."""

    async def purge(self, _target, _prefix) -> int:
        """Forget something."""
        return 5


@pytest.mark.parametrize(("target", "purged"), [(None, 5), ("cached", 5), ("site", None), ("unknown", None)])
def test_a_purge_is_for_targets_with_a_cache(tmp_path, target, purged):
    """A target that has none, or is not there, can be told from one whose cache is empty."""
    files = Files.create(tmp_path)
    files.configure(
        f"{CONFIGURATION}  cached: {{bucket: {{name: b, region: r}}, mount: {{path: [/c]}}, cache: {{}}}}\n"
    )
    reloader = SimpleNamespace(in_force=InForce(1, files.load(), 0.0))
    assert asyncio.run(Administration(reloader, _Purged(), {}, lambda: True).purge(target, "")) == purged


def test_the_errors_of_a_reload_come_first_and_are_bounded(now):
    """The page shows five, and the number of the others."""
    warning = Diagnostic("w", "a warning", severity=Severity.WARNING)
    mistakes = tuple(Diagnostic("e", f"mistake {number}") for number in range(7))
    row = _reloads(now, _report(ReloadOutcome.REFUSED, news=(warning, *mistakes)))[0]
    assert row.diagnostics == tuple(f"error[e]: mistake {number}" for number in range(5))
    assert row.unshown == 3


def test_the_reloads_that_are_remembered_are_bounded(now):
    """The last twenty are kept."""
    assert len(_reloads(now, *[_report(ReloadOutcome.LOADED)] * 100)) == 20


def test_a_target_shows_what_its_requests_were(now):
    """Addresses with their host, errors and faults apart, the typical and the slow duration."""
    tally = Tally((0, 90, 0, 7, 3), (0, 100, *[0] * 12))
    (row,) = _overview(now, Activity({"site": tally})).targets
    assert row.addresses == ("files.test/a/", "files.test/b/")
    assert (row.requests, row.errors, row.faults, row.typical, row.slow) == (100, 7, 3, "7.5 ms", "9.8 ms")


def test_requests_without_a_target_have_a_row(now):
    """Requests of scanners belong to no target."""
    found = _overview(now, Activity({"": Tally((0, 0, 0, 5, 0))}))
    assert [(row.name, row.requests) for row in found.targets] == [("site", 0), ("(no target)", 5)]


def test_the_rewrites_in_force_have_their_hits(now):
    """Places are relative to the configuration."""
    found = _overview(now, Activity(hits=Counter({("site", "^/z", "/y"): 4})))
    (used,), (unused,) = found.used.rows, found.unused.rows
    assert (used.target, used.number, used.name, used.hits, used.place) == ("site", 2, None, 4, "rules/site.rules:3:1")
    assert (unused.number, unused.name, unused.hits, unused.place) == (1, "home", 0, "rules/site.rules:2:1")


def test_two_equal_rewrites_are_two(tmp_path):
    """The second of them is never hit."""
    snapshot = Files.create(tmp_path, site='rewrite `^/a` -> "/x"\nrewrite `^/a` -> "/x"').read()
    activity = Activity(hits=Counter({("site", "^/a", "/x"): 3}))
    administration = _administration(InForce(1, compile_snapshot(snapshot), 100.0), activity)
    assert [row["hits"] for row in asyncio.run(administration.rewrites())["rewrites"]] == [3, 0]


def test_the_busiest_of_many_rewrites_are_shown(tmp_path):
    """50 of each kind; the others are counted."""
    snapshot = Files.create(tmp_path, site="\n".join(f"rewrite `^/{number}$` -> `/x`" for number in range(200))).read()
    now = InForce(1, compile_snapshot(snapshot), 100.0)
    found = _overview(now, Activity(hits=Counter({("site", f"^/{number}$", "/x"): number for number in range(80)})))
    assert [row.hits for row in found.used.rows] == [*range(79, 29, -1)]
    assert (found.used.total, len(found.unused.rows), found.unused.total) == (79, 50, 121)


def test_the_refused_requests_come_newest_first(now):
    """The newest request is the first."""
    refused = tuple(RefusedRow(at, 404, "GET", None, "/a", "why", "id") for at in (1.0, 2.0))
    found = _overview(now, Activity(refused=refused))
    assert [row.at for row in found.refused] == [2.0, 1.0]


class _Busy(_Serving):
    """Serving whose requests go on."""

    async def report(self) -> ProcessReport:
        """Ten requests more than before."""
        requests = self.done.total.requests + 10
        tally = Tally((0, requests, 0, 0, 0), (0, requests, *[0] * 12), sent=1024 * requests)
        self.done = Activity({"site": tally}, in_flight=2)
        return await super().report()


def test_the_charts_show_what_was_sampled(now, monkeypatch):
    """Numbers since the start become rates, durations and volumes of the last minutes."""
    monkeypatch.setattr("tornado_proxy.service.administration.SAMPLE_EVERY", 0.05)
    administration = Administration(SimpleNamespace(in_force=now, last=None, failure=None), _Busy(), {}, lambda: True)

    async def some_time():
        sampling = asyncio.get_running_loop().create_task(administration.sample())
        await asyncio.sleep(0.3)
        sampling.cancel()
        return await administration.overview({})

    requests, durations, traffic, in_flight = asyncio.run(some_time()).charts
    (all_requests, *_) = requests.legend
    assert 0 < float(all_requests[2].removesuffix("/s").replace(",", "")) <= 200
    assert durations.legend == (
        ("median", "area", "7.5 ms"),
        ("95 %", "warn", "9.8 ms"),
        ("99 %", "bad", "10 ms"),
    )  # fmt: skip
    assert traffic.legend[0][2].endswith("KiB/s")
    assert in_flight.legend == (("requests", "area", "2"),)


@pytest.mark.parametrize(
    ("bucket", "shown"), [(0, "2.5 ms"), (6, "380 ms"), (8, "1.8 s"), (12, "330 s"), (13, "600 s")]
)
def test_durations_are_shown_with_the_digits_that_a_bucket_gives(now, bucket, shown):
    """A duration has two digits, and a unit that fits."""
    buckets = tuple(int(index == bucket) for index in range(14))
    (row,) = _overview(now, Activity({"site": Tally((0, 1, 0, 0, 0), buckets)})).targets
    assert row.typical == shown


def test_a_path_is_explained_by_what_is_in_force(now):
    """The function gets the mounts and what was typed; without a path, nothing is explained."""
    asked = []

    def explain(mounts, fields):
        asked.append((mounts.sites[0].target.name, fields))
        rows = [("✓", f"{now.loaded.settings.directory}/rules/site.rules:2:1")]
        return Explanation("GET /h", (("rewrites", rows),))

    assert _overview(now, explain=explain).explanation is None
    found = _overview(now, explain=explain, path="/h", user="ann").explanation
    assert found == Explanation("GET /h", (("rewrites", [["✓", "rules/site.rules:2:1"]]),))
    assert asked == [("site", {"path": "/h", "user": "ann"})]


def test_explanations_are_made_one_at_a_time(now):
    """They take processor time from requests, so they run one after another."""
    running: list[int] = []
    most: list[int] = []

    def explain(_mounts, _fields):
        running.append(1)
        most.append(len(running))
        time.sleep(0.01)
        running.pop()
        return Explanation("", ())

    async def many():
        administration = _administration(now, explain=explain)
        await asyncio.gather(*(administration.overview({"path": "/"}) for _ in range(5)))

    asyncio.run(many())
    assert most == [1] * 5


def test_a_sample_that_fails_ends_nothing(now, monkeypatch, caplog):
    """The service goes on, the log has the traceback, and the next sample is taken."""
    monkeypatch.setattr("tornado_proxy.service.administration.SAMPLE_EVERY", 0.001)
    calls = []

    class Broken:
        """Serving whose numbers cannot be had."""

        async def report(self):
            """Fail."""
            calls.append(1)
            raise RuntimeError("no numbers")

    async def some_time():
        with suppress(TimeoutError):
            async with asyncio.timeout(0.3):
                reloader = SimpleNamespace(in_force=now)
                await Administration(reloader, Broken(), {}, lambda: True).sample()

    asyncio.run(some_time())
    assert len(calls) > 1
    assert "no numbers" in caplog.text


def test_an_explanation_that_fails_leaves_the_rest_of_the_page(now, caplog):
    """The page says so, and the log has the traceback."""

    def explain(_mounts, _fields):
        raise RuntimeError("no idea")

    found = _overview(now, explain=explain, path="/h").explanation
    assert found.sections == (("error", (("`RuntimeError` was raised; the log has the traceback",),)),)
    assert "no idea" in caplog.text


@pytest.mark.parametrize(("samples", "minutes"), [(0, 1), (2, 1), (25, 2), (500, 15)])
def test_the_charts_show_what_there_is(now, monkeypatch, samples, minutes):
    """They cover the time since the start: at least one minute, at most 15."""
    administration, at = _administration(now), time.time()
    for number in range(samples):
        administration.history.add(at - 5.0 * (samples - number), Activity())
    assert asyncio.run(administration.overview({})).minutes in (minutes, minutes + 1)
