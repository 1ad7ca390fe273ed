"""Builds the parts of a generation, without network: stores, sites, ways to sign in, pages.

A generation takes over what did not change from the one in force, so that an edit of a rule keeps S3's connections.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from tornado_proxy.auth.authenticator import Authenticator, CertificateAuthenticator, HeaderAuthenticator
from tornado_proxy.auth.basic import Verifier, basic_authenticators
from tornado_proxy.auth.oidc import OidcAuthenticator
from tornado_proxy.config.model import Bucket, ObjectCache, Settings, Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.pages.custom import CustomPages, PageRenderer
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.routing.plan import Attempt
from tornado_proxy.rules.diagnostic import Diagnostic
from tornado_proxy.s3.resumable import ResumedRead, read_memory
from tornado_proxy.s3.store import S3Store
from tornado_proxy.s3.upload import UploadMemory
from tornado_proxy.service.runtime import connections_of
from tornado_proxy.service.snapshot import Configuration
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.probe import Outlook, ProbeResult, look, probe_all
from tornado_proxy.storage.store import ForwardingStore, Store
from tornado_proxy.telemetry.events import Event, MeasuredStore, ObjectWritten, ReadResumed
from tornado_proxy.web.generation import Generation, Parts, Shared
from tornado_proxy.wire.dialing import HttpFetcher


class Unbuildable(Exception):
    """Valid files that cannot be made a generation, such as those with an endpoint that boto3 refuses."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


def missing_extra(message: str, extra: str, otherwise: str = "") -> Unbuildable:
    """Returns the error about an extra that a configuration needs."""
    advice = f"install it with `pip install '.[{extra}]'` in a checkout{otherwise}"
    return Unbuildable((Diagnostic("missing-extra", message, help=advice),))


def _stored_by(target: Target) -> tuple[str, Bucket, ObjectCache | None]:
    """Returns the values that a store depends on."""
    return target.name, target.bucket, target.cache


def store_of(parts: Parts, target: str) -> Store:
    """Returns the store of a target, without the wrappers that cache and measure."""
    store = parts.stores[target].store
    while isinstance(store, ForwardingStore):
        store = store.behind
    return store


async def probe_stores(generation: Generation) -> Sequence[ProbeResult]:
    """Probes the buckets of a generation over the connections of requests."""
    with generation:
        parts = generation.parts
        return await probe_all((each, store_of(parts, each.name)) for each in parts.settings.targets)


async def look_now(generation: Generation, target: str, attempts: Sequence[Attempt]) -> Outlook:
    """Asks S3 what it answers to the attempts of a plan for a target now; changes nothing."""
    with generation:
        return await look(store_of(generation.parts, target), attempts)


def cache_counts(parts: Parts) -> dict[str, CacheCounts]:
    """Returns the counts of the caches by target; a cache takes over those of its target's earlier ones."""
    return {target.name: cache.counts for target, cache in _caches(parts)}


def purge(parts: Parts, target: str | None, prefix: str) -> int:
    """Purges the caches of a target, or all; returns the number of objects."""
    return sum(cache.purge(prefix) for each, cache in _caches(parts) if target in (None, each.name))


def forget_written(parts: Parts, written: ObjectWritten) -> bool:
    """Drops an object from all caches of its bucket; returns whether there is such a cache."""
    places = {_place(target) for target in parts.settings.targets if target.name == written.target}
    caches = [cache for target, cache in _caches(parts) if _place(target) in places]
    for cache in caches:
        cache.forget(written.key)
    return bool(caches)


def _place(target: Target) -> tuple[str, str | None]:
    return target.bucket.name, target.bucket.s3_endpoint


def _caches(parts: Parts) -> Iterator[tuple[Target, CachingStore]]:
    for target in parts.settings.targets:
        if isinstance(store := parts.stores[target.name].store, CachingStore):
            yield target, store


class GenerationBuilder:
    """Builds the parts of generations; pools and caches are shared, and sized by the first settings."""

    def __init__(self, settings: Settings, emit: Callable[[Event], None]) -> None:
        self.pages = Pages()
        self._verifier = Verifier()
        self._s3, self._emit = settings.s3, emit
        self._upload_memory, self._bodies = (
            UploadMemory(settings.s3.upload_memory),
            read_memory(settings.s3.read_memory),
        )
        self._fetch = HttpFetcher()

    def build(self, configuration: Configuration, in_force: Parts | None = None) -> Parts:
        """Builds the parts of a generation; raises `Unbuildable`."""
        settings = configuration.settings
        if any(target.listing.readme for target in settings.targets):
            try:
                import tornado_proxy.pages.readme  # noqa: F401, PLC0415 - an extra
            except ImportError:
                raise missing_extra("`listing.readme` needs the extra `readme`", "readme") from None
        stores = self._make_stores(settings, in_force)
        kept = in_force.mounts.sites if in_force else ()
        mounts = Mounts(
            sites(settings.targets, configuration.rule_sets, kept), settings.oidc_providers, settings.list_targets
        )
        if in_force and in_force.settings == settings:
            authenticators = in_force.authenticators
        else:
            authenticators = self._authenticators(settings, in_force)
        pages = configuration.pages.pages if configuration.pages else CustomPages()
        renderer = in_force.renderer if in_force and in_force.renderer.pages is pages else PageRenderer(pages)
        own = pages.themed.get(None, self.pages)
        digest = configuration.snapshot.digest
        return Parts(settings, mounts, own, stores, authenticators, self._fetch, renderer, digest)

    def _make_stores(self, settings: Settings, in_force: Parts | None) -> dict[str, Shared]:
        """Makes the store of each target; keeps it if name, bucket and cache are unchanged. Raises `Unbuildable`."""
        old: dict[tuple[str, Bucket, ObjectCache | None], Shared] = {}
        if in_force is not None:
            old = {_stored_by(target): in_force.stores[target.name] for target in in_force.settings.targets}
        counts = cache_counts(in_force) if in_force else {}
        stores: dict[str, Shared] = {}
        mistakes: list[Diagnostic] = []
        pool = replace(self._s3, connections=connections_of(self._s3.connections, len(settings.targets)))
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
        def resumed(read: ResumedRead) -> None:
            self._emit(ReadResumed(target.name, *read))

        s3 = S3Store(target.bucket, pool, self._upload_memory, self._bodies, resumed)
        store: Store = MeasuredStore(s3, target.name, self._emit)
        if target.cache is not None:
            store = CachingStore(store, target.cache, counts or CacheCounts())
        return Shared(store)

    def _authenticators(self, settings: Settings, in_force: Parts | None) -> dict[str, Authenticator]:
        authenticators: dict[str, Authenticator] = {**basic_authenticators(settings, self._verifier)}
        for header in settings.header_providers:
            authenticators[header.name] = HeaderAuthenticator(header)
        for certificate in settings.certificate_providers:
            authenticators[certificate.name] = CertificateAuthenticator(certificate, time.time)
        if settings.oidc_providers:
            for oidc in settings.oidc_providers:
                kept = in_force.authenticators.get(oidc.name) if in_force else None
                # An unchanged one keeps the keys of its issuer.
                if not isinstance(kept, OidcAuthenticator) or kept.settings != oidc:
                    kept = OidcAuthenticator(oidc, self._fetch, time.time)
                authenticators[oidc.name] = kept
        return authenticators

    async def close(self) -> None:
        """Ends the threads."""
        await self._verifier.close()
