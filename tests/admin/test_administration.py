"""The administration: status, reloads, charts, targets, rewrites, refused requests and explanations."""

import asyncio
import time
from collections import Counter
from dataclasses import dataclass, field
from importlib.metadata import version
from types import SimpleNamespace

import pytest
from files import CONFIGURATION, Files
from in_force import RecordingServing

from tornado_proxy.admin.administration import Administration
from tornado_proxy.admin.status import Explanation, PathStep, shown_wait
from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.plan import Browse, Redirect, Refuse, Remove, Serve
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.rules.diagnostic import Diagnostic, Severity
from tornado_proxy.service.reloading import EditState
from tornado_proxy.service.snapshot import compile_snapshot
from tornado_proxy.storage.probe import Outlook
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import Bus, ReloadOutcome, ReloadReport
from tornado_proxy.telemetry.metrics import OWN_FILES, Activity, ProcessReport, RequestRow, Tally

RULES = 'rewrite home `^/h` -> "/x"\nrewrite `^/z` -> "/y"'


@pytest.fixture
def in_force(tmp_path):
    """The configuration in force."""
    files = Files.create(tmp_path, site=RULES)
    files.configure(CONFIGURATION.replace("path: [/]", "host: files.test, path: [/a/, /b/]"))
    return files.load()


@dataclass
class _FakeServing(RecordingServing):
    """Serving a configuration, with a fixed activity."""

    activity: Activity = field(default_factory=Activity)

    async def requests(self) -> list[KeptRequest]:
        """One request."""
        return [KeptRequest(1.0, "site", "GET", "files.test", "/a/h", "/h", signed_in=False)]

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """The activity."""
        return ProcessReport((), self.activity)


EXPLAIN = "tornado_proxy.admin.administration.explained"


def _process(serving, bus=None) -> SimpleNamespace:
    """A process that serves."""
    reloader = SimpleNamespace(edit=EditState())
    return SimpleNamespace(
        reloader=reloader,
        serving=serving,
        probes={},
        probed=None,
        is_ready=lambda: True,
        last_good=None,
        defects=(),
        bus=bus or Bus(),
    )


def _administration(in_force, activity=None) -> Administration:
    return Administration(_process(_FakeServing(in_force, activity=activity or Activity())))


def _overview(in_force, activity=None, **fields):
    return asyncio.run(_administration(in_force, activity).overview(fields))


def _reloads(in_force, *reports):
    """The rows of the status page after some reloads."""
    bus = Bus()
    administration = Administration(_process(_FakeServing(in_force), bus=bus))
    for report in reports:
        bus.emit(report)
    return asyncio.run(administration.overview({})).reloads


def _report(outcome, **fields):
    return ReloadReport(outcome, 2, "d1", at=1000.0, seconds=0.5, **fields)


def test_reloads_are_listed_newest_first(in_force):
    rows = _reloads(
        in_force,
        _report(ReloadOutcome.REFUSED, news=(Diagnostic("bad-source", "missing `)`"),)),
        _report(ReloadOutcome.REVERTED),
        _report(ReloadOutcome.LOADED, changes=("limits changed",), kept_back=("log",)),
    )
    assert [row.outcome for row in rows] == ["loaded", "reverted", "refused", "started"]
    assert (rows[0].changes, rows[0].kept_back) == (("limits changed",), ("log",))
    assert rows[2].diagnostics == ("error[bad-source]: missing `)`",)


def test_reloads_are_counted_by_outcome(in_force):
    process = _process(_FakeServing(in_force))
    administration = Administration(process)
    for outcome in (ReloadOutcome.REFUSED, ReloadOutcome.REFUSED, ReloadOutcome.LOADED):
        process.bus.emit(_report(outcome))
    lines = asyncio.run(administration.metrics()).decode().splitlines()
    assert 'tornado_proxy_reloads_total{outcome="refused"} 2.0' in lines
    assert 'tornado_proxy_reloads_total{outcome="loaded"} 1.0' in lines
    assert 'tornado_proxy_reloads_total{outcome="failed"} 0.0' in lines


def test_the_status_names_the_version_that_runs(in_force, tmp_path, monkeypatch):
    """A package that is replaced under a running service changes nothing about its version."""
    administration = _administration(in_force)
    upgraded = tmp_path / "tornado_proxy-99.0.dist-info" / "METADATA"
    upgraded.parent.mkdir()
    upgraded.write_text("Metadata-Version: 2.1\nName: tornado-proxy\nVersion: 99.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert version("tornado-proxy") == "99.0"
    assert asyncio.run(administration.status())["version"] != "99.0"


class _CachingServing(_FakeServing):
    """Serving with five objects in its caches."""

    async def purge(self, _target, _prefix) -> int:
        """The number of purged objects."""
        return 5


@pytest.mark.parametrize(("target", "expected"), [(None, 5), ("cached", 5), ("site", None), ("unknown", None)])
def test_a_purge_is_for_targets_with_a_cache(tmp_path, target, expected):
    """A purge of a target that is unknown or has no cache returns `None`, not a number."""
    files = Files.create(tmp_path)
    files.configure(
        f"{CONFIGURATION}  cached: {{bucket: {{name: b, region: r}}, mount: {{path: [/c]}}, cache: {{}}}}\n"
    )
    administration = Administration(_process(_CachingServing(files.load())))
    assert asyncio.run(administration.purge(target, "")) == expected


def test_errors_of_a_reload_are_first_and_limited(in_force):
    warning = Diagnostic("w", "a warning", severity=Severity.WARNING)
    mistakes = tuple(Diagnostic("e", f"mistake {number}") for number in range(7))
    row = _reloads(in_force, _report(ReloadOutcome.REFUSED, news=(warning, *mistakes)))[0]
    assert row.diagnostics == tuple(f"error[e]: mistake {number}" for number in range(5))
    assert row.unshown == 3


def test_the_number_of_listed_reloads_is_limited(in_force):
    assert len(_reloads(in_force, *[_report(ReloadOutcome.LOADED)] * 100)) == 20


def test_a_target_has_statistics_of_its_requests(in_force):
    tally = Tally((0, 90, 0, 7, 3), (0, 100, *[0] * 14))
    (row,) = _overview(in_force, Activity({"site": tally})).targets
    assert (row.view["host"], row.view["paths"]) == ("files.test", ["/a/", "/b/"])
    assert row.tally == tally


def test_rewrites_have_hits(in_force):
    page = _overview(in_force, Activity(hits=Counter({("site", "^/z", "/y"): 4})))
    (used,), (unused,) = page.used[0], page.unused[0]
    assert (used.target, used.number, used.name, used.hits, used.place) == ("site", 2, None, 4, "rules/site.rules:3:1")
    assert (unused.number, unused.name, unused.hits, unused.place) == (1, "home", 0, "rules/site.rules:2:1")


def test_equal_rewrites_have_separate_hits(tmp_path):
    """The hits of two equal rewrites belong to the first, since the second never matches."""
    snapshot = Files.create(tmp_path, site='rewrite `^/a` -> "/x"\nrewrite `^/a` -> "/x"').read()
    activity = Activity(hits=Counter({("site", "^/a", "/x"): 3}))
    administration = _administration(compile_snapshot(snapshot), activity)
    assert [row["hits"] for row in asyncio.run(administration.rewrites())["rewrites"]] == [3, 0]


def test_rewrites_have_what_they_do(tmp_path):
    rules = 'rewrite `^/a` -> "/x"\nredirect if missing 301 `^/b` -> "/x"\nredirect `^/c` -> "/x"\ngone `^/d`'
    administration = _administration(compile_snapshot(Files.create(tmp_path, site=rules).read()), Activity())
    rows = asyncio.run(administration.rewrites())["rewrites"]
    assert [row["does"] for row in rows] == ["rewrite", "redirect if missing 301", "redirect", "gone"]


def test_the_most_used_rewrites_are_listed(tmp_path):
    snapshot = Files.create(tmp_path, site="\n".join(f"rewrite `^/{number}$` -> `/x`" for number in range(200))).read()
    in_force = compile_snapshot(snapshot)
    page = _overview(in_force, Activity(hits=Counter({("site", f"^/{number}$", "/x"): number for number in range(80)})))
    (used, all_used), (unused, all_unused) = page.used, page.unused
    assert [row.hits for row in used] == [*range(79, 29, -1)]
    assert (all_used, len(unused), all_unused) == (79, 50, 121)


def test_refused_requests_are_listed_newest_first(in_force):
    errors = tuple(RequestRow(at, 404, "GET", None, "/a", None, 0, 0.1, "why", "id") for at in (1.0, 2.0))
    page = _overview(in_force, Activity(errors=errors))
    assert [row.at for row in page.errors] == [2.0, 1.0]


class _BusyServing(_FakeServing):
    """Serving with ten more requests in each report."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.fifth_report = asyncio.Event()

    async def report(self, *, has_metrics: bool = False) -> ProcessReport:
        """A report with ten more requests than before."""
        requests = self.activity.total.requests + 10
        tally = Tally((0, requests, 0, 0, 0), (0, requests, *[0] * 12), sent=1024 * requests)
        self.activity = Activity({"site": tally}, in_flight=2)
        if requests == 50:
            self.fifth_report.set()
        return await super().report()


def test_charts_show_samples(in_force, monkeypatch):
    """Totals become rates, durations and volumes of the last minutes."""
    monkeypatch.setattr("tornado_proxy.admin.administration.SAMPLE_EVERY", 0.05)
    serving = _BusyServing(in_force)
    administration = Administration(_process(serving))

    async def take_five_samples():
        sampling = asyncio.get_running_loop().create_task(administration.sample())
        await serving.fifth_report.wait()
        sampling.cancel()
        return await administration.overview({})

    requests, durations, traffic, in_flight = asyncio.run(take_five_samples()).charts
    (all_requests, *_) = requests.legend
    assert 0 < float(all_requests[2].removesuffix("/s").replace(",", "")) <= 200
    assert durations.legend == (
        ("median", "area", "≤ 2 ms", ""),
        ("95 %", "warn", "≤ 2 ms", ""),
        ("99 %", "bad", "≤ 2 ms", ""),
    )  # fmt: skip
    assert traffic.legend[0][2].endswith("KiB/s")
    assert in_flight.legend == (("requests", "area", "2", ""),)


@pytest.mark.parametrize(
    ("bucket", "expected"),
    [(0, "≤ 1 ms"), (6, "≤ 100 ms"), (9, "≤ 1 s"), (13, "≤ 30 s"), (14, "over 30 s"), (15, "over 30 s")],
)
def test_times_are_as_exact_as_their_buckets(bucket, expected):
    """A time to the first byte is the bound of its bucket, since no more is known."""
    buckets = tuple(int(index == bucket) for index in range(16))
    assert shown_wait(Tally((0, 1, 0, 0, 0), buckets).quantile(0.5)) == expected


def test_own_files_are_counted_apart(in_force):
    """Style sheets and scripts of pages have a row of their own, and are no recent requests."""
    tallies = {"": Tally((0, 0, 0, 1, 0)), OWN_FILES: Tally((0, 5, 0, 0, 0))}
    recent = [RequestRow(1.0, 200, "GET", None, path, None, 9, 0.1) for path in ("/a", "/.tornado-proxy/style.css")]
    page = _overview(in_force, Activity(tallies, recent=tuple(recent)))
    names = [(row.name, row.tally.requests) for row in page.targets[-2:]]
    assert names == [("(no target)", 1), ("(own style sheets and scripts)", 5)]
    assert [row.path for row in page.recent] == ["/a"]


ANSWERS = [
    (Outlook(Serve(ObjectKey("k")), ObjectInfo(1536, content_type="text/plain")), "good", "200 OK, 1.5 KiB"),
    (Outlook(Refuse(404, "no object at this key")), "bad", "404 Not Found"),
    (Outlook(Browse(ObjectKey("k/"))), "good", "200 OK, a listing"),
    (Outlook(Redirect("/k/")), "good", "302 Found"),
    (Outlook(Remove(ObjectKey("k"))), "good", "not tried, since it would change something"),
    (Outlook(error="502 Bad Gateway: S3 cannot be reached"), "bad", "502 Bad Gateway: S3 cannot be reached"),
]


@pytest.mark.parametrize(("outlook", "outcome", "text"), ANSWERS)
def test_the_last_step_is_the_answer_of_s3(in_force, outlook, outcome, text, monkeypatch):
    """The path of a request ends with the first attempt that applies now."""

    async def look_now(_generation, _target, _attempts):
        return outlook

    monkeypatch.setattr("tornado_proxy.admin.administration.look_now", look_now)
    explanation = Explanation("GET /h", (), (PathStep("URL", ()),), "site", (Serve(ObjectKey("k")),))
    monkeypatch.setattr(EXPLAIN, lambda *_: explanation)
    first, last = _overview(in_force, path="/h").explanation.path
    assert (first.title, last.title, last.outcome, last.lines[0]) == ("URL", "answer now", outcome, ((text, None),))


@pytest.mark.parametrize(("option", "text"), [("true", "301 Moved Permanently"), ("false", "200 OK, 0 B")])
def test_the_last_step_may_be_a_redirect_of_the_object(tmp_path, option, text, monkeypatch):
    """An object that redirects is shown as that where its target has such redirects."""

    async def look_now(_generation, _target, _attempts):
        return Outlook(Serve(ObjectKey("k")), ObjectInfo(0, redirect="/new"))

    monkeypatch.setattr("tornado_proxy.admin.administration.look_now", look_now)
    explanation = Explanation("GET /h", (), (), "site", (Serve(ObjectKey("k")),))
    monkeypatch.setattr(EXPLAIN, lambda *_: explanation)
    files = Files.create(tmp_path, site=RULES)
    files.configure(f"{CONFIGURATION}\n    actions: {{GET: {{config: {{websiteRedirects: {option}}}}}}}\n")
    assert _overview(files.load(), path="/h").explanation.path[-1].lines[0] == ((text, None),)


def test_a_refused_request_asks_nothing_of_s3(in_force, monkeypatch):
    """A plan that begins with a refusal is answered without S3."""
    explanation = Explanation("GET /h", (), (), "site", (Refuse(403, "not permitted"),))
    monkeypatch.setattr(EXPLAIN, lambda *_: explanation)
    (step,) = _overview(in_force, path="/h").explanation.path
    assert (step.outcome, step.lines[0]) == ("bad", (("403 Forbidden", None),))


def test_a_path_is_explained_with_the_mounts_in_force(in_force, monkeypatch):
    """The function gets the mounts and the fields of the form; without a path, nothing is explained."""
    calls = []

    def explain(mounts, fields, _public_path):
        calls.append((mounts.sites[0].target.name, fields))
        rows = [("✓", f"{in_force.settings.directory}/rules/site.rules:2:1")]
        return Explanation("GET /h", (("rewrites", rows),))

    monkeypatch.setattr(EXPLAIN, explain)
    assert _overview(in_force).explanation is None
    explanation = _overview(in_force, path="/h", user="ann").explanation
    assert explanation == Explanation("GET /h", (("rewrites", [["✓", "rules/site.rules:2:1"]]),))
    assert calls == [("site", {"path": "/h", "user": "ann"})]


def test_explanations_run_one_at_a_time(in_force, monkeypatch):
    """Explanations never run at once, since they take processor time from requests."""
    running: list[int] = []
    concurrency: list[int] = []

    def explain(_mounts, _fields, _public_path):
        running.append(1)
        concurrency.append(len(running))
        time.sleep(0.01)
        running.pop()
        return Explanation("", ())

    async def explain_concurrently():
        administration = _administration(in_force)
        await asyncio.gather(*(administration.overview({"path": "/"}) for _ in range(5)))

    monkeypatch.setattr(EXPLAIN, explain)
    asyncio.run(explain_concurrently())
    assert concurrency == [1] * 5


def test_a_failing_explanation_is_an_error_on_the_page(in_force, caplog, monkeypatch):

    def explain(_mounts, _fields, _public_path):
        raise RuntimeError("no idea")

    monkeypatch.setattr(EXPLAIN, explain)
    explanation = _overview(in_force, path="/h").explanation
    assert explanation.sections == (("error", (("`RuntimeError` was raised; the log has the traceback",),)),)
    assert "no idea" in caplog.text


@pytest.mark.parametrize(("samples", "minutes"), [(0, 1), (2, 1), (25, 2), (500, 15)])
def test_charts_start_with_the_process(in_force, monkeypatch, samples, minutes):
    """Charts have the time since the start: at least one minute, at most 15."""
    administration, at = _administration(in_force), time.time()
    for number in range(samples):
        administration.history.add(at - 5.0 * (samples - number), Activity())
    assert asyncio.run(administration.overview({})).minutes in (minutes, minutes + 1)


def test_a_draft_is_tried_on_the_kept_requests(in_force):
    """Without a text, the page has the file in force and the number of requests only."""
    administration, file = _administration(in_force), in_force.snapshot.files[0]
    page = asyncio.run(administration.draft(file.name))
    assert (page.kept, page.result, page.text) == (1, None, file.data.decode())
    result = asyncio.run(administration.draft(file.name, page.text.replace('"/x"', '"/z"'))).result
    assert (result.kinds, administration._serving.configuration) == ({"key": 1}, in_force)
