"""Builds the parts of a generation, without network: what did not change is taken over from the parts before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tornado_proxy.auth.basic import basic_authenticators
from tornado_proxy.auth.verifier import Verifier
from tornado_proxy.config.model import Bucket, Settings, Target
from tornado_proxy.gateway.generation import Parts, Shared
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.s3.store import S3Store
from tornado_proxy.storage.store import Store
from tornado_proxy.telemetry.events import Event
from tornado_proxy.telemetry.measured import MeasuredStore


class Unbuildable(Exception):
    """A set of files that says nothing wrong, and of which nothing can be made all the same."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all generations of a process share: threads for passwords, pages, and how many threads a bucket gets."""

    s3_threads: int
    verifier: Verifier
    pages: Pages
    tell: Callable[[Event], None]

    @classmethod
    def open(cls, settings: Settings, tell: Callable[[Event], None]) -> Workshop:
        """The workshop for a process; its sizes are those of the first configuration."""
        return cls(settings.s3.threads, Verifier(), Pages(), tell)

    def build(self, settings: Settings, rule_sets: Mapping[str, RuleSet], before: Parts | None = None) -> Parts:
        """The parts of a generation; raises `Unbuildable` where boto3 can make no client of what a target says."""
        stores = self._stores(settings, before)
        mounts = Mounts(sites(settings.targets, rule_sets))
        authenticators = basic_authenticators(settings, self.verifier)
        return Parts(settings, mounts, self.pages, stores, authenticators)

    async def close(self) -> None:
        """Let the threads end."""
        await self.verifier.close()

    def _stores(self, settings: Settings, before: Parts | None) -> dict[str, Shared[Store]]:
        """A store for each target, taken over where its bucket is the same."""
        old: dict[tuple[str, Bucket], Shared[Store]] = {}
        if before is not None:
            old = {(target.name, target.bucket): before.stores[target.name] for target in before.settings.targets}
        stores: dict[str, Shared[Store]] = {}
        mistakes: list[Diagnostic] = []
        for target in settings.targets:
            try:
                stores[target.name] = old.get((target.name, target.bucket)) or self._store(target)
            except StorageError as error:
                mistakes.append(Diagnostic("unusable-bucket", f"target `{target.name}`: {error}"))
        if mistakes:
            # What was made of the other targets has asked nobody for anything: there is nothing to close.
            raise Unbuildable(tuple(mistakes))
        return stores

    def _store(self, target: Target) -> Shared[Store]:
        return Shared(MeasuredStore(S3Store(target.bucket, self.s3_threads), target.name, self.tell))
