"""Tests of metrics and of the activity of processes: events are counted; no text of a client becomes a label."""

import asyncio
import pickle
import time
from collections import Counter
from dataclasses import replace

import pytest
from msgspec import structs
from prometheus_client import CollectorRegistry
from serving import rule_set

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.storage.errors import ConditionIgnored
from tornado_proxy.telemetry.events import (
    AccessDecided,
    Bus,
    Failed,
    RequestRecord,
    S3Called,
    Served,
    SignInTried,
    WebhookCalled,
)
from tornado_proxy.telemetry.exposition import added
from tornado_proxy.telemetry.limits import MINUTES_KEPT, MOST_ERRORS, MOST_RECENT, MOST_RULES
from tornado_proxy.telemetry.metrics import (
    OWN_FILES,
    Activity,
    ActivityHistory,
    CountedNames,
    HitHistory,
    KeptRequests,
    RequestMetrics,
    RequestRow,
    Tally,
    rewrite_id,
)

REWRITE = rule_set('rewrite press `^/a` -> "/x"').rewrites[0]


def _request(method: str = "GET", target: str | None = "site", rule: str | None = None) -> RequestRecord:
    rewrite = replace(REWRITE, name=rule) if rule else None
    return RequestRecord("id", 0.0, "127.0.0.1", method, "", "/a", 1, target, rewrite=rewrite)


@pytest.fixture
def registry():
    """A registry of metrics."""
    return CollectorRegistry()


@pytest.fixture
def emit(registry):
    """Emits events to the metrics of requests."""
    bus, metrics = Bus(), RequestMetrics()
    metrics.listen(bus)
    registry.register(metrics)
    return bus.emit


def test_an_answer_is_counted_with_its_bytes_and_time(registry, emit):
    emit(Served(_request("PUT"), 201, sent=7, received=5000, seconds=0.5))
    labels, value = {"target": "site", "method": "PUT"}, registry.get_sample_value
    assert value("tornado_proxy_requests_total", {**labels, "status": "201"}) == 1
    assert value("tornado_proxy_sent_bytes_total", {"target": "site"}) == 7
    labels["class"] = "2xx"
    names = ("request_duration_seconds_sum", "request_size_bytes_sum", "response_size_bytes_sum")
    assert [value(f"tornado_proxy_{name}", labels) for name in names] == [0.5, 5000, 7]
    counts = [value("tornado_proxy_request_size_bytes_bucket", {**labels, "le": le}) for le in ("4096.0", "16384.0")]
    assert counts == [0, 1]


def _refused(method: str) -> Served:
    return Served(_request(method, None), 405, sent=0, received=0, seconds=0.1, reason="no", is_error=True)


@pytest.mark.parametrize(
    ("events", "metric", "labels"),
    [
        ((_refused("BREW"), _refused("STEEP")), "requests", {"target": "", "method": "other", "status": "405"}),
        ([S3Called("site", "open", "TimedOut", 5.0)], "s3_calls", {"target": "site", "call": "open", "outcome": "TimedOut"}),
        ([SignInTried("a", "request", "ok")] * 2, "sign_ins", {"provider": "a", "step": "request", "outcome": "ok"}),
        ([SignInTried("a", "callback", "refused")], "sign_ins", {"provider": "a", "step": "callback", "outcome": "refused"}),
        ([AccessDecided("a", "refused")], "authorizations", {"provider": "a", "outcome": "refused"}),
        ([Failed(_request(), ValueError())], "defects", {}),
    ],
    ids=["unknown methods", "calls to a bucket", "sign-ins", "steps of a sign-in", "access", "defects"],
)  # fmt: skip
def test_events_are_counted_by_their_labels(registry, emit, events, metric, labels):
    """Unknown methods are counted together, requests without a target have an empty label, and so on."""
    for event in (*events, SignInTried("b", "request", "failed"), AccessDecided("b", "ok")):
        emit(event)
    assert registry.get_sample_value(f"tornado_proxy_{metric}_total", labels) == len(events)


def test_requests_in_flight_are_read_when_metrics_are_collected(registry):
    registry.register(RequestMetrics(lambda: 2))
    assert registry.get_sample_value("tornado_proxy_requests_in_flight") == 2


def test_rewrites_beyond_a_limit_are_counted_together(registry, emit):
    """The number of series stays limited while rewrites are added and removed."""
    for number in range(MOST_RULES + 5):
        emit(Served(_request(rule=f"#{number}"), 200, sent=0, received=0, seconds=0.1))
    labels = {"target": "site", "rule": "other", "kind": "rewrite"}
    assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 5


@pytest.mark.parametrize(
    ("outcome", "by_client", "outcome_class"),
    [
        ("ok", False, "ok"),
        ("ObjectMissing", True, "refused"),
        ("TimedOut", False, "failed"),
        ("cancelled", False, "cancelled"),
    ],
)
def test_the_durations_of_calls_are_distinguished_by_class(registry, emit, outcome, by_client, outcome_class):
    """Timeouts and missing objects don't distort the durations of successful calls."""
    emit(S3Called("site", "open", outcome, 5.0, by_client))
    labels = {"target": "site", "call": "open", "class": outcome_class}
    assert registry.get_sample_value("tornado_proxy_s3_call_duration_seconds_sum", labels) == 5.0


def test_caches_are_counted_by_target():
    """A target with a cache has its results, evictions and bytes; a target without a cache has no series."""
    registry = CollectorRegistry()
    caches = {"site": CacheCounts(hit=5, miss=2, revalidated=1, evictions=3, bytes=4096)}
    registry.register(RequestMetrics(caches=lambda: caches))
    results = {
        result: registry.get_sample_value("tornado_proxy_cache_requests_total", {"target": "site", "result": result})
        for result in ("hit", "miss", "revalidated")
    }
    assert results == {"hit": 5, "miss": 2, "revalidated": 1}
    assert registry.get_sample_value("tornado_proxy_cache_evictions_total", {"target": "site"}) == 3
    assert registry.get_sample_value("tornado_proxy_cache_bytes", {"target": "site"}) == 4096


GONE = [
    Served(_request(target="old", rule="press"), 200, sent=7, received=3, seconds=0.5),
    Served(_request(target="site", rule="old"), 200, sent=1, received=1, seconds=0.5),
    S3Called("old", "open", "ok", 0.1),
    WebhookCalled("old", "GET", "ok"),
    SignInTried("old", "request", "ok"),
    AccessDecided("old", "ok"),
]
"""Events about names that have gone."""

KEPT = [
    Served(_request(target="site", rule="press"), 200, sent=1, received=1, seconds=0.5),
    Served(_request(target=None), 404, sent=1, received=1, seconds=0.5),
    S3Called("site", "open", "ok", 0.1),
    SignInTried("staff", "request", "ok"),
]
NAMES = CountedNames(
    frozenset({"site"}), frozenset({"staff"}), frozenset({("site", "press")}), frozenset({rewrite_id("site", REWRITE)})
)


def _labels(metrics):
    samples = (sample for metric in metrics for sample in metric.samples)
    return {value for sample in samples for name, value in sample.labels.items() if name != "le"}


def _counting(*events, **options) -> RequestMetrics:
    """Metrics that have counted events."""
    bus, metrics = Bus(), RequestMetrics(**options)
    metrics.listen(bus)
    for event in events:
        bus.emit(event)
    return metrics


@pytest.fixture
def counted():
    """Metrics that have counted what is in force and what is not."""
    return _counting(*KEPT, *GONE)


def test_what_has_gone_is_forgotten(counted):
    assert "old" in _labels(counted.collect())
    counted.keep_only(NAMES)
    labels = _labels(counted.collect())
    assert "old" not in labels
    assert {"", "site", "press", "staff"} <= labels
    activity = counted.activity()
    assert ({*activity.targets}, {*activity.hits}) == ({"", "site"}, {rewrite_id("site", REWRITE)})


def test_totals_count_on(counted):
    """The charts of the status page show no negative numbers after a target has gone."""
    history, before = ActivityHistory(), counted.activity()
    history.add(0.0, before)
    counted.keep_only(NAMES)
    counted.keep_only(NAMES)
    assert counted.activity().total == before.total
    history.add(5.0, counted.activity() + counted.activity().only(NAMES))
    (interval,) = history.intervals()
    assert interval.tally == before.total


def test_a_new_rewrite_has_its_own_series_after_others_have_gone(registry):
    """The limit of series counts rewrites in force, not all names that ever were."""
    bus, metrics = Bus(), RequestMetrics()
    metrics.listen(bus)
    registry.register(metrics)
    for number in range(MOST_RULES + 1):
        bus.emit(Served(_request(rule=f"r{number}"), 200, sent=0, received=0, seconds=0.1))
    metrics.keep_only(NAMES)
    bus.emit(KEPT[0])
    for rule in ("press", "other"):
        labels = {"target": "site", "rule": rule, "kind": "rewrite"}
        assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 1


def test_what_has_gone_is_left_out_of_sums(counted):
    """A process that was too busy to forget does not bring a name back."""
    assert "old" not in _labels(added(counted.collect(), NAMES.cover))
    assert {*counted.activity().only(NAMES).targets} == {"", "site"}


RULE = ("site", "^/a", "/b")


def _served(at, path="/a") -> Served:
    return Served(RequestRecord("id", at, "::1", "GET", "", path, 1, "site", rule="r"), 200, 10, 2, 3.0, first_byte=0.1)


def _activity(*events):
    """The activity of a process with these events, and three requests in flight."""
    return _counting(*events, in_flight=lambda: 3).activity()


def test_the_last_requests_are_kept():
    rows = _activity(*(_served(at, "/" + "a" * 1000) for at in range(MOST_RECENT + 5))).recent
    assert len(rows) == MOST_RECENT
    assert rows[0] == RequestRow(5, 200, "GET", "site", "/" + "a" * 299, "r", 10, 0.1, request_id="id")


def test_errors_are_requests_as_well():
    """A request with an error is among the last requests; one without an answer has its whole time."""
    event = Served(_served(1).request, 404, 0, 0, 0.5, reason="why", is_error=True)
    assert [(row.status, row.seconds) for row in _activity(event).recent] == [(404, 0.5)]


def test_the_requests_of_several_processes_are_merged():
    added = _activity(_served(1), _served(4)) + _activity(_served(2))
    assert [row.at for row in added.recent] == [1, 2, 4]


def test_hits_are_kept_minute_by_minute():
    history = HitHistory()
    for at, hits in ((100.0, 0), (130.0, 2), (160.0, 5), (221.0, 6)):
        history.add(at, Counter({RULE: hits}))
    assert history.minutes(RULE, 8) == (5, 1, 2)
    assert history.minutes(("site", "other", "x"), 0) == (0, 0, 0)


def test_the_minutes_are_limited():
    """No more than the last minutes are kept, and a clock that is set back loses none."""
    history = HitHistory()
    for number in range(MINUTES_KEPT + 9):
        history.add(1000.0 + 61 * number, Counter({RULE: number}))
    assert len(history.minutes(RULE, 100)) == MINUTES_KEPT
    history.add(0.0, Counter({RULE: 100}))
    assert len(history.minutes(RULE, 100)) == MINUTES_KEPT


def test_a_rewrite_that_was_replaced_has_no_negative_hits():
    """A rewrite whose count began anew has its hits since then."""
    history = HitHistory()
    history.add(100.0, Counter({RULE: 9}))
    assert history.minutes(RULE, 2) == (0,)


def _asked(at, key="/a", host="files.test", user=None):
    return Served(
        RequestRecord("id", at, "::1", "GET", host, f"/m{key}", 1, "site", user=user, asked_key=key), 200, 0, 0, 0.0
    )


def test_requests_are_kept_to_be_decided_again():
    """A bounded number is kept: what the rules saw, and whether a user was signed in, but not who."""
    kept = KeptRequests(2)
    for event in (_asked(1), _asked(2, "/b"), _asked(3, "/c", user="ann")):
        kept.add(event)
    assert kept.rows() == (
        KeptRequest(2, "site", "GET", "files.test", "/m/b", "/b", signed_in=False),
        KeptRequest(3, "site", "GET", "files.test", "/m/c", "/c", signed_in=True),
    )


def test_a_request_that_no_rule_saw_is_not_kept():
    """Rules have no part in it; neither is one with an endless host kept."""
    kept = KeptRequests(2)
    kept.add(_served(1))
    kept.add(_asked(2, host="h" * 256))
    assert kept.rows() == ()


def test_an_edit_changes_how_many_requests_are_kept():
    """The last ones stay, and with 0 none."""
    kept = KeptRequests(5)
    for at in range(5):
        kept.add(_asked(at))
    kept.resize(2)
    assert [row.at for row in kept.rows()] == [3, 4]
    kept.resize(0)
    kept.add(_asked(9))
    assert kept.rows() == ()


async def test_the_delays_of_the_event_loop_are_observed(registry, monkeypatch):
    """A call that blocks the loop is seen at the next look."""
    monkeypatch.setattr("tornado_proxy.telemetry.limits.LOOP_SEEN_EVERY", 0.001)
    metrics = RequestMetrics()
    registry.register(metrics)
    metrics.watch_loop()
    await asyncio.sleep(0.002)
    time.sleep(0.03)  # noqa: ASYNC251 - it blocks the loop on purpose
    await asyncio.sleep(0.002)
    looks = registry.get_sample_value("tornado_proxy_event_loop_delay_seconds_count")
    in_time = registry.get_sample_value("tornado_proxy_event_loop_delay_seconds_bucket", {"le": "0.025"})
    assert looks > in_time > 0


FIRST, SECOND = rule_set('rewrite a `^/a` -> "/x"\nrewrite `^/b` -> "/y"').rewrites


def _record(at=0.0, rewrite=None, path="/a") -> RequestRecord:
    return RequestRecord("id", at, "::1", "GET", "", path, 1, "site", rewrite=rewrite)


def _hit(rewrite=None, seconds: float = 0.003) -> Served:
    return Served(_record(0.0, rewrite), 200, 10, 2, seconds)


def _refusal(status: int, at: float = 0.0, path: str = "/a", reason: str = "why") -> Served:
    return Served(_record(at, path=path), status, 0, 0, 0.03, reason=reason, is_error=True)


def test_requests_are_counted_by_target_class_and_duration():
    activity = _activity(_hit(), _hit(seconds=0.4), _refusal(404), _refusal(502))
    tally = activity.targets["site"]
    assert (tally.requests, tally.classes, tally.sent, tally.received) == (4, (0, 2, 0, 1, 1), 20, 4)
    assert (tally.buckets[2], tally.buckets[5], tally.buckets[8]) == (1, 2, 1)
    assert activity.in_flight == 3


def test_a_quantile_is_the_bound_of_its_bucket():
    """A quantile is the upper bound of its bucket; beyond the last bound, the quantile is this bound."""
    assert Tally(buckets=(0, 0, 10, *[0] * 13)).quantile(0.5) == 0.005
    assert Tally(buckets=(5, 0, 5, *[0] * 13)).quantile(0.95) == 0.005
    assert Tally(buckets=(*[0] * 15, 1)).quantile(0.99) == 60
    assert Tally().quantile(0.5) is None


def test_the_first_byte_counts_and_not_the_whole_transfer():
    """A long download whose first byte came soon is in the bucket of its first byte."""
    activity = _activity(structs.replace(_hit(seconds=60), first_byte=0.0015))
    assert activity.targets["site"].buckets[1] == 1


def test_own_files_are_counted_apart():
    """Style sheets and scripts of pages count for no target; a missing one is an error like others."""
    own = structs.replace(_record(path="/a/.tornado-proxy/style.css"), target=None)
    activity = _activity(Served(own, 200, 10, 0, 0.1), Served(own, 404, 10, 0, 0.1, reason="why", is_error=True))
    assert {name: tally.requests for name, tally in activity.targets.items()} == {OWN_FILES: 1, "": 1}


def test_the_hits_of_a_rewrite_are_counted_by_its_texts():
    """A rewrite is identified by its source and its template, and not by its name or number."""
    moved = replace(SECOND, name="moved", number=7)
    activity = _activity(_hit(SECOND), _hit(moved), _hit(FIRST), _hit())
    assert activity.hits == {("site", "^/a", "/x"): 1, ("site", "^/b", "/y"): 2}


def test_the_number_of_rewrites_with_hits_is_limited(monkeypatch):
    """At the limit, the hits of the rewrite that was hit first are removed."""
    monkeypatch.setattr("tornado_proxy.telemetry.limits.MOST_HIT", 1)
    activity = _activity(_hit(FIRST), _hit(SECOND), _hit(SECOND))
    assert activity.hits == {("site", "^/b", "/y"): 2}


def test_the_last_refused_requests_of_both_kinds_are_kept():
    """Many errors with 4xx don't remove those with 5xx, nor vice versa; the oldest comes first."""
    errors = _activity(_refusal(502, at=1.0), *(_refusal(404, at=2.0 + number) for number in range(50))).errors
    assert [row.status for row in errors] == [502] + [404] * MOST_ERRORS
    assert [row.at for row in errors][-1] == 51.0


def test_the_texts_of_a_refused_request_are_cut():
    (row,) = _activity(_refusal(400, path="/" + "a" * 9000, reason="b" * 9000)).errors
    assert (len(row.path), len(row.reason)) == (300, 300)


def test_a_target_whose_s3_ignores_conditions_is_known_until_an_upload_succeeds():
    """An upload that failed for that is known of every process, until the next one or an edit."""
    calls = [S3Called("site", "put", ConditionIgnored.__name__, 0.1)]
    assert (_activity(*calls) + _activity()).ignoring == {"site"}
    calls.append(S3Called("site", "remove", "ok", 0.1))
    assert _activity(*calls).ignoring == {"site"}
    calls.append(S3Called("site", "put", "ok", 0.1))
    assert _activity(*calls).ignoring == set()


def test_the_activity_of_processes_is_added_up():
    first, second = _activity(_hit(FIRST)), _activity(_hit(FIRST), _refusal(404, at=5.0))
    total = pickle.loads(pickle.dumps(first)) + second
    assert (total.total.requests, total.in_flight, len(total.errors)) == (3, 6, 1)
    assert total.hits == {("site", "^/a", "/x"): 2}


def _sample(requests: int, in_flight: int = 0) -> Activity:
    return Activity({"site": Tally(classes=(0, requests, 0, 0, 0))}, in_flight=in_flight)


def test_an_interval_is_the_difference_of_two_samples():
    history = ActivityHistory()
    for at, requests in ((100.0, 7), (105.0, 17), (110.5, 17)):
        history.add(at, _sample(requests, in_flight=2))
    intervals = [*history.intervals()]
    assert [
        (interval.end, interval.seconds, interval.tally.requests, interval.in_flight) for interval in intervals
    ] == [(105.0, 5.0, 10, 2), (110.5, 5.5, 0, 2)]


def test_the_number_of_samples_is_limited():
    history = ActivityHistory()
    for number in range(1000):
        history.add(5.0 * number, _sample(number))
    assert len([*history.intervals()]) == 180


def test_a_clock_that_is_set_back_restarts_the_history():
    history = ActivityHistory()
    for at in (100.0, 105.0, 50.0, 55.0):
        history.add(at, _sample(1))
    assert [interval.end for interval in history.intervals()] == [55.0]
