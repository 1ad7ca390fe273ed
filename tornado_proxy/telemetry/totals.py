"""The metrics of several processes as one view: what each has counted, added up."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector

Counts = tuple[Metric, ...]
"""Everything that a process has counted; may be pickled."""

_Series = tuple[str, tuple[tuple[str, str], ...]]


def counts_of(registry: CollectorRegistry) -> Counts:
    """What stands in a registry now."""
    return tuple(registry.collect())


class Totals(Collector):
    """Adds up processes: of those that have ended, what they counted stays, and what they were doing goes."""

    def __init__(self) -> None:
        self._living: dict[Hashable, Counts] = {}
        self._ended: Counts = ()

    def __repr__(self) -> str:
        return f"<Totals of {len(self._living)}>"

    def take(self, process: Hashable, counts: Counts) -> None:
        """Take what a process has counted so far, in place of what it had counted before."""
        self._living[process] = counts

    def end(self, process: Hashable) -> None:
        """Keep the counts of a process that has ended."""
        counts = self._living.pop(process, ())
        self._ended = tuple(_added((*self._ended, *(each for each in counts if each.type != "gauge"))))

    def collect(self) -> Iterator[Metric]:
        """The sums; called by prometheus_client."""
        return _added((*self._ended, *(each for counts in self._living.values() for each in counts)))


def _added(metrics: Iterable[Metric]) -> Iterator[Metric]:
    """One metric for all of one name, in the order in which they first come."""
    sums: dict[str, tuple[Metric, dict[_Series, float]]] = {}
    for metric in metrics:
        _, values = sums.setdefault(metric.name, (metric, {}))
        for sample in metric.samples:
            series = sample.name, tuple(sample.labels.items())
            # When a series began is no number to add.
            add = min if sample.name.endswith("_created") else float.__add__
            values[series] = add(values[series], sample.value) if series in values else sample.value
    for metric, values in sums.values():
        total = Metric(metric.name, metric.documentation, metric.type)
        for (name, labels), value in values.items():
            total.add_sample(name, dict(labels), value)
        yield total
