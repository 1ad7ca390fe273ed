"""Counts of a process: requests, calls to buckets, hits of rewrites; for Prometheus, and for the status page.

No label is chosen by a client.
"""

from __future__ import annotations

import asyncio
import operator
from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace
from prometheus_client import Metric

from tornado_proxy.routing.compare import KeptRequest
from tornado_proxy.routing.mounts import Site
from tornado_proxy.routing.request import ASSETS_AT
from tornado_proxy.rules.model import Counted, ListedAddress, Rule
from tornado_proxy.semantics.request import METHODS
from tornado_proxy.storage.cache import CacheCounts
from tornado_proxy.storage.errors import ConditionIgnored
from tornado_proxy.telemetry import events, limits
from tornado_proxy.telemetry.exposition import Observed, counter, gauge, histogram

CACHE_RESULTS = ("hit", "miss", "revalidated")
OTHER = "other"

BYTES = tuple(4**power * 1024 for power in range(11))
"""The upper bounds of the buckets of sizes, from 1 KiB to 1 GiB; there is one more for everything larger."""

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600)
"""The upper bounds of a histogram's buckets; there is one more for everything longer."""

WAITS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""The upper bounds of the buckets of times to the first byte of an answer; there is one more for everything longer."""

OWN_FILES = ".tornado-proxy"
"""Stands for the target of style sheets and scripts of pages, for which no rule and no bucket is asked."""


RewriteId = tuple[str, str, str]  # a rule by its target and its texts: an edit of other rewrites does not change it


class RequestRow(msgspec.Struct, frozen=True):
    """A request that was answered; `seconds` is the time to the first byte of the answer."""

    at: float  # Unix time, seconds
    status: int
    method: str
    target: str | None
    path: str
    rule: str | None
    sent: int  # bytes
    seconds: float
    reason: str = ""  # of an error
    request_id: str = ""


def request_row(event: events.Served) -> RequestRow:
    """Returns the row of a request."""
    asked = event.request
    seconds = event.seconds if event.first_byte is None else event.first_byte
    path, reason = asked.path[: limits.LONGEST_KEPT], (event.reason or "")[: limits.LONGEST_KEPT]
    row = asked.at, event.status, asked.method, asked.target, path, asked.rule, event.sent, seconds
    return RequestRow(*row, reason, asked.request_id)


def latest(rows: Iterable[RequestRow], most: int = limits.MOST_RECENT) -> tuple[RequestRow, ...]:
    """Returns the last requests of several processes, the oldest first."""
    return tuple(sorted(rows, key=lambda each: each.at)[-most:])


def latest_errors(rows: Sequence[RequestRow]) -> tuple[RequestRow, ...]:
    """Returns the last requests of each kind, the oldest first."""
    # Apart, so that neither a scanner's requests nor a bucket that is down hides the other kind.
    faults = latest((each for each in rows if each.status >= 500), limits.MOST_ERRORS)
    others = latest((each for each in rows if each.status < 500), limits.MOST_ERRORS)
    return latest((*faults, *others), 2 * limits.MOST_ERRORS)


class KeptRequests:
    """The last requests whose key the rules saw, to be decided again by a draft of them; neither query nor headers."""

    def __init__(self, most: int) -> None:
        self._rows: deque[tuple[Any, ...]] = deque(maxlen=most)

    def add(self, event: events.Served) -> None:
        """Keeps a request."""
        asked = event.request
        key, host = asked.asked_key, asked.host
        if key is not None and len(host) <= limits.LONGEST_HOST:
            self._rows.append((asked.at, asked.target, asked.method, host, asked.path, key, asked.user is not None))

    def resize(self, most: int) -> None:
        """Keeps another number of requests from now on."""
        if most != self._rows.maxlen:
            self._rows = deque(self._rows, most)

    def rows(self) -> tuple[KeptRequest, ...]:
        """Returns the requests, the oldest first."""
        return tuple(map(KeptRequest._make, self._rows))


class HitHistory:
    """The hits of rewrites in each of the last minutes."""

    def __init__(self) -> None:
        self._before: Counter[RewriteId] = Counter()
        self._since = 0.0
        self._minutes: deque[dict[RewriteId, int]] = deque(maxlen=limits.MINUTES_KEPT - 1)

    def add(self, at: float, hits: Counter[RewriteId]) -> None:
        """Notes the hits since the start; `at` is the Unix time in seconds. A minute ends 60 seconds after the last."""
        if 0 <= at - self._since < 60:
            return
        if self._since:
            self._minutes.append(dict((hits - self._before).most_common(limits.MOST_COUNTED)))
        self._before, self._since = hits.copy(), at

    def minutes(self, rewrite: RewriteId, hits: int) -> tuple[int, ...]:
        """Returns the hits of a rewrite in each minute, the oldest first; `hits` are those since the start."""
        return (*(each.get(rewrite, 0) for each in self._minutes), max(0, hits - self._before[rewrite]))


def rewrite_id(target: str, rule: Rule | Counted) -> RewriteId:
    """Returns the identity under which the hits of a rule are counted: a list is one."""
    return target, rule.source_text, "" if isinstance(rule, ListedAddress) else rule.result_text


class CountedNames(msgspec.Struct, frozen=True):
    """The names in force under which requests are counted, each with its target."""

    targets: frozenset[str] = frozenset()
    providers: frozenset[str] = frozenset()
    rules: frozenset[tuple[str, str]] = frozenset()
    rewrites: frozenset[RewriteId] = frozenset()

    @classmethod
    def of(cls, sites: Sequence[Site], providers: Iterable[str]) -> CountedNames:
        """Returns the names of a generation's sites and providers."""
        rewrites = [(site.target.name, each) for site in sites for each in site.rules.counted]
        return cls(
            frozenset(site.target.name for site in sites),
            frozenset(providers),
            frozenset((target, each.label) for target, each in rewrites),
            frozenset(rewrite_id(target, each) for target, each in rewrites),
        )

    def cover(self, labels: Mapping[str, str]) -> bool:
        """Whether a series with these labels is about nothing that has gone."""
        target, rule, provider = labels.get("target"), labels.get("rule", OTHER), labels.get("provider")
        is_target = not target or target == OWN_FILES or target in self.targets
        is_rule = rule == OTHER or (target, rule) in self.rules
        return is_target and is_rule and (not provider or provider in self.providers)


class Tally(msgspec.Struct, frozen=True):
    """Requests as numbers: answers by class (1xx to 5xx), times to the first byte by bucket of `WAITS`, and bytes."""

    classes: tuple[int, ...] = (0,) * 5
    buckets: tuple[int, ...] = (0,) * (len(WAITS) + 1)
    sent: int = 0
    received: int = 0

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(self.classes)

    def __add__(self, other: Tally) -> Tally:
        return self._joined(other, operator.add)

    def __sub__(self, other: Tally) -> Tally:
        return self._joined(other, operator.sub)

    def _joined(self, other: Tally, join: Callable[[int, int], int]) -> Tally:
        classes, buckets = map(join, self.classes, other.classes), map(join, self.buckets, other.buckets)
        return Tally(tuple(classes), tuple(buckets), join(self.sent, other.sent), join(self.received, other.received))

    def quantile(self, part: float) -> float | None:
        """Returns the upper bound of a quantile's bucket in seconds, the last bound at most; None without requests."""
        rank, before = part * sum(self.buckets), 0
        for bound, count in zip((*WAITS, WAITS[-1]), self.buckets, strict=True):
            before += count
            if count and before >= rank:
                return bound
        return None


class Activity(msgspec.Struct, frozen=True):
    """The activity of a process since its start, for the status page. Values can be added and pickled."""

    targets: Mapping[str, Tally] = {}
    hits: Counter[RewriteId] = msgspec.field(default_factory=Counter)
    errors: tuple[RequestRow, ...] = ()  # the oldest first
    in_flight: int = 0
    gone: Tally = Tally()  # of targets that are no longer in force
    recent: tuple[RequestRow, ...] = ()  # requests, the oldest first
    ignoring: frozenset[str] = frozenset()  # targets whose last upload failed, since S3 does not heed its condition

    @property
    def total(self) -> Tally:
        """The numbers of all targets, former ones included."""
        return sum(self.targets.values(), self.gone)

    def only(self, names: CountedNames) -> Activity:
        """Returns the activity of what is in force."""
        kept = {name: tally for name, tally in self.targets.items() if names.cover({"target": name})}
        gone = sum((tally for name, tally in self.targets.items() if name not in kept), self.gone)
        hits = Counter({each: count for each, count in self.hits.items() if each in names.rewrites})
        return replace(self, targets=kept, hits=hits, gone=gone)

    def __add__(self, other: Activity) -> Activity:
        targets = {
            name: self.targets.get(name, Tally()) + other.targets.get(name, Tally())
            for name in {**self.targets, **other.targets}
        }
        errors = latest_errors((*self.errors, *other.errors))
        in_flight, gone = self.in_flight + other.in_flight, self.gone + other.gone
        recent = latest((*self.recent, *other.recent))
        return Activity(
            targets, self.hits + other.hits, errors, in_flight, gone, recent, self.ignoring | other.ignoring
        )


class ProcessReport(NamedTuple):
    """All counts of a process: its metrics and its activity. Can be pickled."""

    counts: tuple[Metric, ...] = ()
    activity: Activity = Activity()


class _Observed:
    """A series of a histogram: plain numbers, read at a scrape."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.sum += value

    @property
    def values(self) -> Observed:
        return self.buckets, self.sum


class _Requests:
    def __init__(self) -> None:
        self.seconds, self.sent, self.received = _Observed(SECONDS), _Observed(BYTES), _Observed(BYTES)
        self.waits = [0] * (len(WAITS) + 1)

    def add(self, event: events.Served) -> None:
        """Adds a request."""
        self.seconds.observe(event.seconds)
        self.sent.observe(event.sent)
        self.received.observe(event.received)
        self.waits[bisect_left(WAITS, event.seconds if event.first_byte is None else event.first_byte)] += 1


_HISTOGRAMS = (
    ("request_duration_seconds", "From a request's head to the end of its answer", SECONDS, "seconds"),
    ("request_size_bytes", "Bytes of the bodies of requests", BYTES, "received"),
    ("response_size_bytes", "Bytes of the bodies of answers", BYTES, "sent"),
)
"""The histograms of requests: name, meaning, bounds, and the attribute of `_Requests`."""


_COUNTED: tuple[tuple[type[events.Event], str, str, tuple[str, ...]], ...] = (
    (events.Failed, "defects", "Requests that raised an unexpected exception", ()),
    (events.S3Called, "s3_calls", "Calls to a bucket, by outcome", ("target", "call", "outcome")),
    (
        events.ReadResumed,
        "resumed_reads",
        "Reads resumed where they stopped, by outcome",
        ("target", "cause", "outcome"),
    ),
    (events.WebhookCalled, "webhooks", "Webhooks called, by outcome", ("target", "method", "outcome")),
    (events.SignInTried, "sign_ins", "Steps of sign-ins, by outcome", ("provider", "step", "outcome")),
    (events.AccessDecided, "authorizations", "Requests of users, by outcome", ("provider", "outcome")),
)
"""The events that are counted by their attributes: name and meaning of each counter, and the attributes, its labels."""


class RequestMetrics:
    """Counts requests and calls to buckets in the process that answers them.

    A request only adds to numbers, which prometheus_client reads at a scrape. Its own counters look labels up under a
    lock each time, which costs a request ten times as much.
    """

    def __init__(
        self, in_flight: Callable[[], int] = int, caches: Callable[[], Mapping[str, CacheCounts]] = dict
    ) -> None:
        self._caches = caches
        self._requests: dict[tuple[str, str, int], int] = defaultdict(int)
        self._series: dict[tuple[str, str, int], _Requests] = defaultdict(_Requests)
        self._gone = Tally()
        self._rules: dict[tuple[str, str, str], int] = {}
        self._hits: Counter[RewriteId] = Counter()
        self._errors = {is_fault: deque[events.Served](maxlen=limits.MOST_ERRORS) for is_fault in (False, True)}
        self._recent: deque[events.Served] = deque(maxlen=limits.MOST_RECENT)
        self._ignoring: set[str] = set()
        self._late = _Observed(SECONDS)
        self._s3_seconds: dict[tuple[str, str, str], _Observed] = defaultdict(lambda: _Observed(SECONDS))
        self._events: dict[type, Counter[tuple[str, ...]]] = {kind: Counter() for kind, *_ in _COUNTED}
        self._events[events.Failed][()] = 0
        self._in_flight = in_flight

    def listen(self, bus: events.Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._count, events.Served)
        bus.add(self._recent.append, events.Served)
        bus.add(self._count_call, events.S3Called)
        for kind, _, _, labels in _COUNTED:
            bus.add(partial(self._count_event, labels), kind)

    def watch_loop(self) -> None:
        """Observes from now on how late timers of the running event loop fire."""
        loop = asyncio.get_running_loop()

        def look(due: float) -> None:
            self._late.observe(max(0.0, loop.time() - due))
            loop.call_later(limits.LOOP_SEEN_EVERY, look, loop.time() + limits.LOOP_SEEN_EVERY)

        look(loop.time())

    def keep_only(self, names: CountedNames) -> None:
        """Forgets what was counted under names that are no longer in force."""
        self._gone = self.activity().only(names).gone
        self._ignoring.clear()  # what is in force may take uploads in another way
        counted: list[tuple[tuple[str, ...], dict[Any, Any]]] = [
            *((("target",), each) for each in (self._requests, self._series, self._s3_seconds)),
            (("target", "rule", "kind"), self._rules),
            *((labels, self._events[kind]) for kind, _, _, labels in _COUNTED),
        ]
        for labels, series in counted:
            for key in [key for key in series if not names.cover(dict(zip(labels, key, strict=False)))]:
                del series[key]
        self._hits = Counter({each: count for each, count in self._hits.items() if each in names.rewrites})

    def collect(self) -> Iterator[Metric]:
        """Yields the metrics."""
        caches = [*self._caches().items()]
        requests = {(target, method, str(status)): count for (target, method, status), count in self._requests.items()}
        sent, received = Counter[tuple[str]](), Counter[tuple[str]]()
        for (target, _, _), series in self._series.items():
            sent[target,] += int(series.sent.sum)
            received[target,] += int(series.received.sum)
        results = {(target, name): getattr(each, name) for target, each in caches for name in CACHE_RESULTS}
        evictions = {(target,): each.evictions for target, each in caches}
        yield counter("tornado_proxy_requests", "Requests answered", ("target", "method", "status"), requests)
        yield counter("tornado_proxy_sent_bytes", "Bytes of bodies sent", ("target",), sent)
        yield counter("tornado_proxy_received_bytes", "Bytes of bodies received", ("target",), received)
        yield counter("tornado_proxy_rewrite_hits", "Keys that a rule took", ("target", "rule", "kind"), self._rules)
        text = "GET and HEAD of objects, by result"
        yield counter("tornado_proxy_cache_requests", text, ("target", "result"), results)
        yield counter("tornado_proxy_cache_evictions", "Objects that made way for others", ("target",), evictions)
        for kind, name, text, counted in _COUNTED:
            yield counter(f"tornado_proxy_{name}", text, counted, self._events[kind])
        labels = "target", "method", "class"
        for name, text, bounds, attribute in _HISTOGRAMS:
            observed = {
                (target, method, f"{first}xx"): getattr(series, attribute).values
                for (target, method, first), series in self._series.items()
            }
            yield histogram(f"tornado_proxy_{name}", text, labels, bounds, observed)
        text = "From a call to a bucket to its answer"
        labels, seconds = ("target", "call", "class"), {key: each.values for key, each in self._s3_seconds.items()}
        yield histogram("tornado_proxy_s3_call_duration_seconds", text, labels, SECONDS, seconds)
        text = "How late a timer of the event loop fires"
        yield histogram("tornado_proxy_event_loop_delay_seconds", text, (), SECONDS, {(): self._late.values})
        sizes = {(target,): each.bytes for target, each in caches}
        yield gauge("tornado_proxy_cache_bytes", "Memory that cached objects take", ("target",), sizes)
        yield gauge("tornado_proxy_requests_in_flight", "Requests being answered", (), {(): self._in_flight()})

    def activity(self) -> Activity:
        """Returns the activity of the process."""
        tallies: dict[str, Tally] = defaultdict(Tally)
        for (target, _, first), series in self._series.items():
            classes = tuple(sum(series.seconds.buckets) * (each == first) for each in range(1, 6))
            volume = int(series.sent.sum), int(series.received.sum)
            tallies[target] += Tally(classes, tuple(series.waits), *volume)
        errors = latest_errors([request_row(each) for kind in self._errors.values() for each in kind])
        recent = tuple(map(request_row, self._recent))
        numbers = dict(tallies), self._hits.copy(), errors, self._in_flight(), self._gone, recent
        return Activity(*numbers, frozenset(self._ignoring))

    def _count(self, event: events.Served) -> None:
        request = event.request
        if event.is_error:
            self._errors[event.status >= 500].append(event)
        is_own = request.target is None and f"/{ASSETS_AT}" in request.path and not event.is_error
        target, method = OWN_FILES if is_own else request.target or "", request.method
        if method not in METHODS:
            method = OTHER
        self._requests[target, method, event.status] += 1
        series = self._series[target, method, event.status // 100]
        series.add(event)
        if request.rewrite is not None:
            rule = target, request.rewrite.label, request.rewrite.kind.value
            identity = rewrite_id(target, request.rewrite)
            if rule not in self._rules and len(self._rules) >= limits.MOST_RULES:
                rule = target, OTHER, rule[2]
            self._rules[rule] = self._rules.get(rule, 0) + 1
            if identity not in self._hits and len(self._hits) >= limits.MOST_HIT:
                del self._hits[next(iter(self._hits))]
            self._hits[identity] += 1

    def _count_event(self, labels: Sequence[str], event: events.Event) -> None:
        self._events[type(event)][tuple([getattr(event, each) for each in labels])] += 1

    def _count_call(self, event: events.S3Called) -> None:
        error_class = "refused" if event.by_client else "failed"
        outcome_class = event.outcome if event.outcome in {"ok", "cancelled"} else error_class
        self._s3_seconds[event.target, event.call, outcome_class].observe(event.seconds)
        if event.outcome == ConditionIgnored.__name__:
            self._ignoring.add(event.target)
        elif event.call in ("put", "complete_upload"):
            self._ignoring.discard(event.target)


class Interval(msgspec.Struct, frozen=True):
    """The activity between two samples; `end` is the Unix time in seconds of the later one."""

    end: float
    seconds: float
    tally: Tally
    in_flight: int


class ActivityHistory:
    """The samples of the last minutes."""

    def __init__(self) -> None:
        self.hits = HitHistory()
        most = round(limits.SAMPLED_FOR / limits.SAMPLE_EVERY) + 1
        self._samples: deque[tuple[float, Tally, int]] = deque(maxlen=most)

    def add(self, at: float, activity: Activity) -> None:
        """Adds a sample; `at` is the Unix time in seconds."""
        if self._samples and at <= self._samples[-1][0]:
            self._samples.clear()  # the clock was set back
        self._samples.append((at, activity.total, activity.in_flight))
        self.hits.add(at, activity.hits)

    def intervals(self) -> Iterator[Interval]:
        """Yields the intervals between the samples, the oldest first."""
        for (began, before, _), (ended, after, in_flight) in pairwise(self._samples):
            yield Interval(ended, ended - began, after - before, in_flight)
