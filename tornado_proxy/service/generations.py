"""The generations of a process: built in the background without network, and held while requests use them.

A generation takes over what did not change from the one before it, so that an edit of a rule keeps S3's connections.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import ParamSpec, TypeVar

from tornado_proxy.auth.authenticator import Authenticator, CertificateAuthenticator, HeaderAuthenticator
from tornado_proxy.auth.basic import Verifier, basic_authenticators
from tornado_proxy.auth.fetching import HttpFetcher
from tornado_proxy.config.model import Bucket, ObjectCache, Settings, Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.pages.custom import CustomPages
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.s3.pool import most_connections
from tornado_proxy.s3.resumable import ResumedRead, read_memory
from tornado_proxy.s3.store import S3Store, prepare_boto3
from tornado_proxy.s3.upload import UploadMemory
from tornado_proxy.service.snapshot import CompiledSnapshot
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import ForwardingStore, Store
from tornado_proxy.telemetry.events import Event, ObjectWritten, ReadResumed, Retired, S3Called
from tornado_proxy.telemetry.metrics import CountedNames, rewrite_id
from tornado_proxy.web.custom_pages import PageRenderer
from tornado_proxy.web.filters import Compressions
from tornado_proxy.web.generation import Generation, Parts, Shared

_LOG = logging.getLogger("tornado_proxy")


THAW_AFTER = 200
"""Reloads after which the collector looks at every object once more."""

CLIENT_WEIGHT = 20
"""A boto3 client is megabytes of cycles: a new one counts as this many reloads."""

_SWITCH_INTERVAL = 0.0005  # seconds that a thread may keep the interpreter's lock; a tenth of Python's default

_background = threading.Lock()

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


async def in_background(work: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
    """Does seconds of Python work on a thread, one task at a time, without much delay for requests.

    The switch interval and the collector belong to the whole process. A request on the loop takes the interpreter's
    lock many times, and each time waits for the switch interval while the other thread computes: 5 ms each time by
    default. Compiling rules makes hundreds of thousands of objects that stay, so the collector would run again and
    again, find nothing, and stop every thread meanwhile.
    """

    def quietly() -> Result:
        with _background:
            usual, collects = sys.getswitchinterval(), gc.isenabled()
            sys.setswitchinterval(_SWITCH_INTERVAL)
            gc.disable()
            try:
                return work(*args, **kwargs)
            finally:
                if collects:
                    gc.enable()
                sys.setswitchinterval(usual)

    return await asyncio.to_thread(quietly)


class GcFreezer:
    """Hides long-lived objects from the garbage collector, which would otherwise scan them in every full collection.

    The compiled rules are hundreds of thousands of objects, and a full collection stops every request while it looks at
    them. A frozen object is still freed with its last reference; one that only a cycle keeps alive is freed at the next
    thaw.
    """

    def __init__(self, thaw_after: int = THAW_AFTER) -> None:
        self._thaw_after = thaw_after
        # A forked worker starts with frozen objects; a look at them would copy memory that it shares.
        self._due = 0 if gc.get_freeze_count() else thaw_after

    def freeze(self, new_clients: int = 0) -> None:
        """Freezes all living objects; each new S3 client brings the next thaw nearer."""
        self._due += 1 + CLIENT_WEIGHT * new_clients
        if self._due > self._thaw_after:
            self._due = 0
            gc.unfreeze()
            gc.collect()
        gc.freeze()


class Unbuildable(Exception):
    """Valid files that cannot be made a generation, such as those with an endpoint that boto3 refuses."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


class GenerationBuilder:
    """Builds the parts of generations; pools and caches are shared, and sized by the first settings."""

    def __init__(self, settings: Settings, emit: Callable[[Event], None]) -> None:
        self.pages = Pages()
        self._s3 = settings.s3
        self._upload_memory = UploadMemory(settings.s3.upload_memory)
        self._bodies = read_memory(settings.s3.read_memory)
        self._verifier = Verifier()
        self._emit = emit
        self._fetch = HttpFetcher()

    def prepare_to_fork(self, settings: Settings) -> None:
        """Imports and compiles in advance, so that workers share the memory."""
        self.pages.prepare()
        actions = [target.actions for target in settings.targets]
        if any(each.put.enabled or each.delete.enabled or each.get.redirect_to_signed_url for each in actions):
            prepare_boto3()

    def build(self, loaded: CompiledSnapshot, before: Parts | None = None) -> Parts:
        """Builds the parts of a generation; raises `Unbuildable`."""
        settings = loaded.settings
        stores = self._stores(settings, before)
        known = before.mounts.sites if before else ()
        mounts = Mounts(
            sites(settings.targets, loaded.rule_sets, known), settings.oidc_providers, settings.list_targets
        )
        if before and before.settings == settings:
            authenticators = before.authenticators
        else:
            authenticators = self._authenticators(settings, before)
        pages = loaded.pages.pages if loaded.pages else CustomPages()
        renderer = before.renderer if before and before.renderer.pages is pages else PageRenderer(pages)
        own = pages.themed.get(None, self.pages)
        running = before.compressions if before else Compressions()
        digest = loaded.snapshot.digest
        return Parts(settings, mounts, own, stores, authenticators, self._fetch, renderer, digest, running)

    def _authenticators(self, settings: Settings, before: Parts | None) -> dict[str, Authenticator]:
        found: dict[str, Authenticator] = {**basic_authenticators(settings, self._verifier)}
        found |= {each.name: HeaderAuthenticator(each) for each in settings.header_providers}
        found |= {each.name: CertificateAuthenticator(each, time.time) for each in settings.certificate_providers}
        if settings.oidc_providers:
            found |= self._oidc(settings, before)
        return found

    def _oidc(self, settings: Settings, before: Parts | None) -> dict[str, Authenticator]:
        """Makes the authenticators of OpenID Connect; an unchanged one keeps the keys of its issuer."""
        # Some 15 MiB of libraries that few configurations need.
        from tornado_proxy.auth.oidc import OidcAuthenticator  # noqa: PLC0415

        found: dict[str, Authenticator] = {}
        for each in settings.oidc_providers:
            known = before.authenticators.get(each.name) if before else None
            is_unchanged = isinstance(known, OidcAuthenticator) and known.settings == each
            found[each.name] = known if known and is_unchanged else OidcAuthenticator(each, self._fetch, time.time)
        return found

    async def close(self) -> None:
        """Ends the threads."""
        await self._verifier.close()

    def _stores(self, settings: Settings, before: Parts | None) -> dict[str, Shared]:
        """Makes the store of each target; keeps it if name, bucket and cache are unchanged."""
        old: dict[tuple[str, Bucket, ObjectCache | None], Shared] = {}
        if before is not None:
            old = {_stored_by(target): before.stores[target.name] for target in before.settings.targets}
        counts = cache_counts(before) if before else {}
        stores: dict[str, Shared] = {}
        pool = replace(self._s3, connections=most_connections(self._s3.connections, len(settings.targets)))
        mistakes: list[Diagnostic] = []
        for target in settings.targets:
            try:
                stores[target.name] = old.get(_stored_by(target)) or self._store(target, counts.get(target.name), pool)
            except StorageError as error:
                mistakes.append(Diagnostic("unusable-bucket", f"target `{target.name}`: {error}"))
        if mistakes:
            # The stores made so far have opened no connection, so there is nothing to close.
            raise Unbuildable(tuple(mistakes))
        return stores

    def _store(self, target: Target, counts: CacheCounts | None, pool: S3Pool) -> Shared:
        s3 = S3Store(target.bucket, pool, self._upload_memory, self._bodies, partial(self._resumed, target.name))
        store: Store = MeasuredStore(s3, target.name, self._emit)
        if target.cache is not None:
            store = CachingStore(store, target.cache, counts or CacheCounts())
        return Shared(store)

    def _resumed(self, target: str, read: ResumedRead) -> None:
        self._emit(ReadResumed(target, *read))


def _stored_by(target: Target) -> tuple[str, Bucket, ObjectCache | None]:
    """Returns the values that a store depends on."""
    return target.name, target.bucket, target.cache


def bare_stores(parts: Parts) -> Iterator[tuple[Target, Store]]:
    """Yields each target with its store, without the wrappers that cache and measure."""
    for target in parts.settings.targets:
        store = parts.stores[target.name].store
        while isinstance(store, ForwardingStore):
            store = store.behind
        yield target, store


def cache_counts(parts: Parts) -> dict[str, CacheCounts]:
    """Returns the counts of the caches by target; a cache takes over those of its target's earlier ones."""
    return {name: cache.counts for name, cache in _caches(parts)}


def counted_names(parts: Parts) -> CountedNames:
    """Returns the names under which requests of a generation are counted."""
    rewrites = [(site.target.name, each) for site in parts.mounts.sites for each in site.rules.rewrites]
    return CountedNames(
        frozenset(each.name for each in parts.settings.targets),
        frozenset(parts.authenticators),
        frozenset((target, each.label) for target, each in rewrites),
        frozenset(rewrite_id(target, each) for target, each in rewrites),
    )


def purge(parts: Parts, target: str | None, prefix: str) -> int:
    """Purges the caches of a target, or all; returns the number of objects."""
    return sum(cache.purge(prefix) for name, cache in _caches(parts) if target in (None, name))


def forget_written(parts: Parts, written: ObjectWritten) -> bool:
    """Drops an object from all caches of its bucket; returns whether there is such a cache."""
    buckets = {each.name: (each.bucket.name, each.bucket.s3_endpoint) for each in parts.settings.targets}
    found = [cache for name, cache in _caches(parts) if buckets[name] == buckets.get(written.target)]
    for cache in found:
        cache.forget(written.key)
    return bool(found)


def _caches(parts: Parts) -> Iterator[tuple[str, CachingStore]]:
    for name, shared in parts.stores.items():
        if isinstance(shared.store, CachingStore):
            yield name, shared.store


class MeasuredStore(ForwardingStore):
    """Emits the outcome of every call to the bucket, and every object that was written."""

    def __init__(self, store: Store, target: str, emit: Callable[[Event], None]) -> None:
        super().__init__(store)
        self._target = target
        self._emit = emit

    def _wrote(self, key: ObjectKey) -> None:
        self._emit(ObjectWritten(self._target, key))

    async def _forward(self, call: str, result: Awaitable[Result]) -> Result:
        began, outcome, by_client = time.perf_counter(), "cancelled", False
        try:
            found = await result
        except StorageError as error:
            outcome, by_client = type(error).__name__, error.by_client
            raise
        else:
            outcome = "ok"
            return found
        finally:
            self._emit(S3Called(self._target, call, outcome, time.perf_counter() - began, by_client))


class GenerationHolder:
    """Holds the generation in force, `current`, and closes earlier ones when their last requests have left."""

    def __init__(self, first: Parts, emit: Callable[[Event], None], number: int = 1) -> None:
        self._emit = emit
        self.current = Generation(number, first)
        self._retiring: set[asyncio.Task[None]] = set()

    @property
    def retiring(self) -> int:
        """The number of earlier generations that still have requests."""
        return len(self._retiring)

    def swap(self, parts: Parts, number: int) -> None:
        """Puts new parts in force under a number; running requests keep the generation that they have."""
        before, self.current = self.current, Generation(number, parts)
        self._retire(before)

    async def close(self) -> None:
        """Retires all generations and waits for them; call it when no new request can come."""
        self._retire(self.current)
        await asyncio.gather(*self._retiring)

    def _retire(self, generation: Generation) -> None:
        task = asyncio.get_running_loop().create_task(self._wait(generation))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def _wait(self, generation: Generation) -> None:
        try:
            await generation.retire()
        except Exception:  # noqa: BLE001 - a store that cannot be closed must not keep later generations from retiring
            _LOG.exception("generation %d could not be closed completely", generation.number)
        self._emit(Retired(generation.number))
