"""Metrics of the service itself: its version, its reloads, the probes of its buckets, and its processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from platform import python_version

from prometheus_client import Metric, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from tornado_proxy.storage.probe import ProbeResult
from tornado_proxy.telemetry.events import Bus, Reloaded, ReloadFailed, ReloadRefused, Restored
from tornado_proxy.telemetry.metrics import counter


class ServiceMetrics(Collector):
    """Counts reloads, in the process that reads the files.

    `at` is the Unix time in seconds at which the first generation was loaded; `probes` is asked for the last probe of
    each bucket.
    """

    def __init__(
        self, version: str, digest: str, at: float, probes: Callable[[], Iterable[ProbeResult]] = tuple
    ) -> None:
        self._version = version
        self._digest = digest
        self._loaded_at = at
        self._generation = 1
        self._is_successful = True
        self._reloads = dict.fromkeys(("loaded", "refused", "failed"), 0)
        self._probes = probes

    def listen(self, bus: Bus) -> None:
        """Counts the events of a bus."""
        bus.add(self._count, Reloaded, ReloadRefused, Restored, ReloadFailed)

    def collect(self) -> Iterator[Metric]:
        """The metrics; called by prometheus_client."""
        versions = {"version": self._version, "python": python_version()}
        yield _gauge("tornado_proxy_build_info", "Always 1; the labels are versions", versions, 1)
        reloads = {(outcome,): count for outcome, count in self._reloads.items()}
        yield counter("tornado_proxy_reloads", "Reloads of changed files", ("outcome",), reloads)
        yield _gauge("tornado_proxy_generation", "The generation in force", {}, self._generation)
        digest = {"digest": self._digest}
        yield _gauge("tornado_proxy_generation_info", "Always 1; the label is the digest of the files", digest, 1)
        yield _gauge(
            "tornado_proxy_config_last_reload_successful",
            "Whether the files on disk are in force (1 or 0)",
            {},
            self._is_successful,
        )
        yield _gauge(
            "tornado_proxy_config_last_reload_success_timestamp_seconds",
            "When the generation in force was loaded (Unix time)",
            {},
            self._loaded_at,
        )
        yield from self._of_probes()

    def _of_probes(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(
            "tornado_proxy_target_up", "Whether the last probe could use the bucket (1 or 0)", labels=("target",)
        )
        seconds = GaugeMetricFamily(
            "tornado_proxy_target_probe_seconds", "How long the last probe of the bucket took", labels=("target",)
        )
        for result in self._probes():
            up.add_metric((result.target,), result.is_up)
            seconds.add_metric((result.target,), result.seconds)
        yield from (up, seconds)

    def _count(self, event: Reloaded | ReloadRefused | Restored | ReloadFailed) -> None:
        match event:
            case Reloaded():
                self._reloads["loaded"] += 1
                self._generation, self._digest, self._loaded_at = event.generation, event.digest, event.at
            case ReloadRefused():
                self._reloads["refused"] += 1
            case ReloadFailed():
                self._reloads["failed"] += 1
        self._is_successful = isinstance(event, Reloaded | Restored)


class ProcessMetrics(ProcessCollector):
    """The memory, processor time and descriptors of this process, under the names of all Prometheus clients."""

    def __init__(self) -> None:
        super().__init__(registry=None)

    def _boot_time(self) -> float:
        # The library reads /proc/stat, which the units hide (`ProcSubset=pid`), and then has no metrics at all.
        return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)


def _gauge(name: str, text: str, labels: dict[str, str], value: float) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[*labels])
    family.add_metric([*labels.values()], value)
    return family
