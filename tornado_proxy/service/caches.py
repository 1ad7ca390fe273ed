"""What caches are to forget: asked by an operator, or because an object was written; the same in every process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tornado_proxy.config.model import Settings
from tornado_proxy.gateway.generation import Parts
from tornado_proxy.storage.cache import CachingStore
from tornado_proxy.telemetry.events import ObjectWritten


@dataclass(frozen=True, slots=True)
class Purge:
    """Forget the objects of a target, or of all, whose object keys begin with a prefix."""

    target: str | None = None
    prefix: str = ""


def has_cache(settings: Settings, target: str | None) -> bool:
    """Whether a target keeps objects; with None, true."""
    return target is None or any(each.name == target and each.cache for each in settings.targets)


def purge(parts: Parts, order: Purge) -> int:
    """Has the caches of a generation forget; returns the number of objects."""
    return sum(cache.purge(order.prefix) for name, cache in _caches(parts) if order.target in (None, name))


def forget_written(parts: Parts, written: ObjectWritten) -> bool:
    """Has every cache of the target's bucket forget an object; returns whether there is such a cache."""
    buckets = {each.name: (each.bucket.name, each.bucket.s3_endpoint) for each in parts.settings.targets}
    found = [cache for name, cache in _caches(parts) if buckets[name] == buckets.get(written.target)]
    for cache in found:
        cache.forget(written.key)
    return bool(found)


def _caches(parts: Parts) -> Iterator[tuple[str, CachingStore]]:
    for name, shared in parts.stores.items():
        if isinstance(shared.thing, CachingStore):
            yield name, shared.thing
