"""Metrics: events are counted, and nothing that a client chooses becomes a label."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.telemetry.events import Asked, Failed, InFlight, Refused, Reloaded, ReloadRefused, S3Called, Served
from tornado_proxy.telemetry.metrics import MOST_RULES, ReloadMetrics, RequestMetrics


def _asked(method: str = "GET", target: str | None = "site", rule: str | None = None) -> Asked:
    return Asked("id", 0.0, "127.0.0.1", method, "", "/a", 1, target, rule=rule)


@pytest.fixture
def registry():
    """Where metrics are kept."""
    return CollectorRegistry()


@pytest.fixture
def requests(registry):
    """The listener that counts requests."""
    return RequestMetrics(registry)


def test_an_answer_is_counted_with_its_bytes_and_time(registry, requests):
    """Status, bytes and duration go to the target."""
    requests(Served(_asked(), 200, sent=7, received=0, seconds=0.5))
    labels = {"target": "site", "method": "GET"}
    assert registry.get_sample_value("tornado_proxy_requests_total", {**labels, "status": "200"}) == 1
    assert registry.get_sample_value("tornado_proxy_sent_bytes_total", {"target": "site"}) == 7
    assert registry.get_sample_value("tornado_proxy_request_duration_seconds_sum", labels) == 0.5


def test_a_method_that_a_client_made_up_is_no_label(registry, requests):
    """Methods that the service does not know are counted together, and so are requests without a target."""
    for method in ("BREW", "STEEP"):
        requests(Refused(_asked(method, None), 405, sent=0, received=0, seconds=0.1, reason="no"))
    labels = {"target": "", "method": "other", "status": "405"}
    assert registry.get_sample_value("tornado_proxy_requests_total", labels) == 2


def test_the_hits_of_a_rewrite_are_counted(registry, requests):
    """A request that a rewrite took counts for it."""
    requests(Served(_asked(rule="press"), 200, sent=0, received=0, seconds=0.1))
    labels = {"target": "site", "rule": "press"}
    assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 1


def test_rewrites_beyond_a_bound_are_counted_together(registry, requests):
    """However many rewrites come and go over the years, the series stay bounded."""
    for number in range(MOST_RULES + 5):
        requests(Served(_asked(rule=f"#{number}"), 200, sent=0, received=0, seconds=0.1))
    labels = {"target": "site", "rule": "other"}
    assert registry.get_sample_value("tornado_proxy_rewrite_hits_total", labels) == 5


def test_calls_to_a_bucket_are_counted_by_outcome(registry, requests):
    """The name of a storage error is the outcome."""
    requests(S3Called("site", "open", "TimedOut", 5.0))
    labels = {"target": "site", "call": "open", "outcome": "TimedOut"}
    assert registry.get_sample_value("tornado_proxy_s3_calls_total", labels) == 1


def test_defects_and_requests_in_flight_are_shown(registry, requests):
    """A defect is counted; what is in flight is what was told last."""
    requests(Failed(_asked(), ValueError()))
    requests(InFlight(3))
    requests(InFlight(2))
    assert registry.get_sample_value("tornado_proxy_defects_total") == 1
    assert registry.get_sample_value("tornado_proxy_requests_in_flight") == 2


@pytest.fixture
def reloads(registry):
    """The listener that counts reloads, of a service started at 100 seconds."""
    return ReloadMetrics(registry, 1, 100.0)


def _reload_values(registry) -> dict[str, float | None]:
    names = {
        "generation": "tornado_proxy_generation",
        "successful": "tornado_proxy_config_last_reload_successful",
        "at": "tornado_proxy_config_last_reload_success_timestamp_seconds",
    }
    return {word: registry.get_sample_value(name) for word, name in names.items()}


def test_a_start_counts_as_a_success(registry, reloads):
    """The first generation is in force since it was loaded."""
    assert _reload_values(registry) == {"generation": 1, "successful": 1, "at": 100}


def test_a_refused_edit_keeps_the_generation_and_says_so(registry, reloads):
    """The last reload was no success; when the last success was stays."""
    reloads(ReloadRefused(1, (Diagnostic("x", "y"),)))
    assert _reload_values(registry) == {"generation": 1, "successful": 0, "at": 100}
    assert registry.get_sample_value("tornado_proxy_reloads_total", {"outcome": "refused"}) == 1


def test_the_next_good_edit_is_a_success_again(registry, reloads):
    """A new generation, and its time."""
    reloads(ReloadRefused(1, (Diagnostic("x", "y"),)))
    reloads(Reloaded(2, 0.1, rewrites=3, at=200.0))
    assert _reload_values(registry) == {"generation": 2, "successful": 1, "at": 200}


def test_other_events_are_not_its_business(registry, reloads, requests):
    """Each listener takes what it knows."""
    before = _reload_values(registry)
    reloads(InFlight(1))
    requests(Reloaded(2, 0.1, rewrites=3, at=200.0))
    assert _reload_values(registry) == before
