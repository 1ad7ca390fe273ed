"""Builds the parts of a generation, without network: what did not change is taken over from the parts before."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from tornado_proxy.auth.basic import basic_authenticators
from tornado_proxy.auth.verifier import Verifier
from tornado_proxy.config.model import Bucket, Settings
from tornado_proxy.gateway.generation import Parts, Shared
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.service.live import Live
from tornado_proxy.service.loading import Loaded
from tornado_proxy.service.sources import Sources
from tornado_proxy.storage.s3.store import S3Store
from tornado_proxy.storage.s3.threads import Threads
from tornado_proxy.storage.store import Store


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all generations of a process share: threads for S3, threads for passwords, pages."""

    threads: Threads
    verifier: Verifier
    pages: Pages

    @classmethod
    def open(cls, settings: Settings) -> Workshop:
        """The workshop for a process; its sizes are those of the first configuration."""
        return cls(Threads(settings.s3.threads), Verifier(), Pages())

    def build(self, settings: Settings, rule_sets: Mapping[str, RuleSet], before: Parts | None = None) -> Parts:
        """The parts of a generation; whether passwords can be checked was seen when they were loaded."""
        mounts = Mounts(sites(settings.targets, rule_sets))
        authenticators = basic_authenticators(settings, self.verifier)
        return Parts(settings, mounts, self.pages, self._stores(settings, before), authenticators)

    async def close(self) -> None:
        """End the threads; every generation has retired by then."""
        await self.verifier.close()
        self.threads.close()

    def _stores(self, settings: Settings, before: Parts | None) -> dict[str, Shared[Store]]:
        """A store for each target; targets whose buckets are equal share one, and so do generations."""
        made: dict[Bucket, Shared[Store]] = {}
        if before is not None:
            made.update((target.bucket, before.stores[target.name]) for target in before.settings.targets)
        stores: dict[str, Shared[Store]] = {}
        for target in settings.targets:
            if target.bucket not in made:
                made[target.bucket] = Shared(S3Store(target.bucket, self.threads))
            stores[target.name] = made[target.bucket]
        return stores


class Solo:
    """Generations put in force in this very process."""

    def __init__(self, live: Live, workshop: Workshop) -> None:
        self._live = live
        self._workshop = workshop

    async def put(self, number: int, loaded: Loaded, sources: Sources) -> None:  # noqa: ARG002 - the protocol's
        """Build on a thread, swap on the loop."""
        assert loaded.settings is not None
        before = self._live.current().parts
        parts = await asyncio.to_thread(self._workshop.build, loaded.settings, loaded.rule_sets, before)
        self._live.swap(parts, number)
