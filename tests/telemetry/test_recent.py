"""What happened lately: the last requests, and the hits of rewrites minute by minute."""

from __future__ import annotations

from collections import Counter

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.telemetry.events import Bus, ErrorServed, RequestRecord, Served
from tornado_proxy.telemetry.limits import MINUTES_KEPT, MOST_RECENT
from tornado_proxy.telemetry.metrics import RequestMetrics
from tornado_proxy.telemetry.recent import HitHistory, KeptRequests, RequestRow

RULE = ("site", "^/a", "/b")


def _served(at, path="/a") -> Served:
    return Served(RequestRecord("id", at, "::1", "GET", "", path, 1, "site", rule="r"), 200, 10, 2, 3.0, first_byte=0.1)


def _activity(*events):
    bus, metrics = Bus(), RequestMetrics()
    metrics.listen(bus)
    for event in events:
        bus.emit(event)
    return metrics.activity()


def test_the_last_requests_are_kept():
    """A bounded number of requests is kept, with the time to the first byte, and without long paths."""
    rows = _activity(*(_served(at, "/" + "a" * 1000) for at in range(MOST_RECENT + 5))).recent
    assert len(rows) == MOST_RECENT
    assert rows[0] == RequestRow(5, 200, "GET", "site", "/" + "a" * 299, "r", 10, 0.1, request_id="id")


def test_errors_are_requests_as_well():
    """A request with an error is among the last requests; one without an answer has its whole time."""
    event = ErrorServed(_served(1).request, 404, 0, 0, 0.5, "why")
    assert [(row.status, row.seconds) for row in _activity(event).recent] == [(404, 0.5)]


def test_the_requests_of_several_processes_are_merged():
    """The rows of all processes are in order of time."""
    added = _activity(_served(1), _served(4)) + _activity(_served(2))
    assert [row.at for row in added.recent] == [1, 2, 4]


def test_hits_are_kept_minute_by_minute():
    """Each minute has its hits, and the last one those so far."""
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
