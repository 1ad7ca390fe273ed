"""The generations of a process."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from memory_store import MemoryStore
from serving import generation

from tornado_proxy.gateway.generation import Parts, Shared
from tornado_proxy.service.generations import GenerationBuilder, GenerationHolder, Unbuildable, bare_stores
from tornado_proxy.service.snapshot import compile_snapshot, read_snapshot
from tornado_proxy.storage.cache import CachingStore
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.telemetry.events import Retired


class _Closing(MemoryStore):
    """A store that remembers whether it was closed, and may fail at it."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.closed = False
        self._error = error

    async def close(self) -> None:
        self.closed = True
        if self._error:
            raise self._error


def _parts(store):
    # In a holder of its own: the generation that the helper makes holds its store too.
    return replace(generation(store).parts, stores={"site": Shared(store)})


def _run(story):
    return asyncio.run(asyncio.wait_for(story(), 10))


def test_a_swap_closes_what_only_the_old_one_held():
    """If no request holds it, its store is closed, and an event says so."""

    async def story():
        first, second, retired = _Closing(), _Closing(), asyncio.Event()
        holder = GenerationHolder(_parts(first), lambda event: retired.set() if event == Retired(1) else None)
        holder.swap(_parts(second), 2)
        await retired.wait()
        assert (first.closed, second.closed) == (True, False)
        assert holder.current.number == 2
        await holder.close()
        assert second.closed

    _run(story)


def test_a_request_keeps_its_generation_open():
    """The old store stays until the last request has left."""

    async def story():
        first = _Closing()
        holder = GenerationHolder(_parts(first), lambda _event: None)
        with holder.current:
            holder.swap(_parts(_Closing()), 2)
            await asyncio.sleep(0)
            assert (first.closed, holder.retiring) == (False, 1)
        await holder.close()
        assert first.closed

    _run(story)


def test_a_store_that_cannot_be_closed_holds_nothing_up():
    """A failure is logged, and the generation has retired all the same."""

    async def story():
        events = []
        holder = GenerationHolder(_parts(_Closing(OSError("stuck"))), events.append)
        await holder.close()
        assert events == [Retired(1)]

    _run(story)


CONFIGURED = """
authProviders:
  basic: {staff: {realm: staff}}
  oidc:
    people: {issuerUrl: https://id.test, clientID: me, clientSecret: {value: a-long-client-secret}}
targets:
  site:
    bucket: {name: my-bucket, region: eu-west-1}
    resources: [{path: /**, provider: people, oidc: {}}]
  other:
    mount: {path: [/other/]}
    bucket: {name: other-bucket, region: eu-west-1}
"""


class _Builder:
    """Builds generations from the text of a configuration, each from the one before."""

    def __init__(self, folder) -> None:
        self._config = folder / "proxy.yaml"
        self._builder: GenerationBuilder | None = None
        self.parts: Parts | None = None

    def build(self, text: str) -> Parts:
        """The parts of the next generation."""
        self._config.write_text(text)
        loaded = compile_snapshot(read_snapshot(self._config, {}))
        assert loaded.settings is not None, [each.message for each in loaded.diagnostics]
        self._builder = self._builder or GenerationBuilder(loaded.settings, lambda _: None)
        self.parts = self._builder.build(loaded, self.parts)
        return self.parts


@pytest.fixture
def builder(tmp_path):
    """A builder."""
    return _Builder(tmp_path)


def test_the_store_of_an_unchanged_bucket_is_taken_over(builder):
    """With its connections; a bucket that changed gets a new store."""
    first = builder.build(CONFIGURED)
    second = builder.build(CONFIGURED.replace("other-bucket", "another-bucket"))
    assert second.stores["site"] is first.stores["site"]
    assert second.stores["other"] is not first.stores["other"]


def test_a_cache_that_is_turned_on_gets_a_store(builder):
    """The store of the target is made anew, although its bucket is unchanged."""
    first = builder.build(CONFIGURED)
    second = builder.build(CONFIGURED.replace("  other:", "    cache: {maxAge: 10s}\n  other:"))
    assert isinstance(second.stores["site"].store, CachingStore)
    assert second.stores["other"] is first.stores["other"]


def test_a_provider_that_did_not_change_keeps_what_it_knows(builder):
    """Of its issuer, for one; one that changed begins anew, even where others stay."""
    first = builder.build(CONFIGURED)
    second = builder.build(CONFIGURED.replace("/other/", "/elsewhere/"))
    third = builder.build(CONFIGURED.replace("clientID: me", "clientID: you"))
    assert second.authenticators["people"] is first.authenticators["people"]
    assert third.authenticators["people"] is not first.authenticators["people"]
    assert builder.build(CONFIGURED.replace("clientID: me", "clientID: you")).authenticators is third.authenticators


def test_the_target_of_an_unchanged_configuration_keeps_its_access(builder):
    """An unchanged configuration makes no new parts."""
    first = builder.build(CONFIGURED)
    assert builder.build(CONFIGURED).mounts.sites[0].access is first.mounts.sites[0].access


def test_buckets_that_no_client_can_be_made_for_are_named(builder, monkeypatch):
    """All of them are reported at once."""

    def refuse(*_):
        raise StorageError("the profile is not known")

    monkeypatch.setattr("tornado_proxy.service.generations.S3Store", refuse)
    with pytest.raises(Unbuildable) as found:
        builder.build(CONFIGURED)
    assert [each.message for each in found.value.diagnostics] == [
        "target `site`: the profile is not known",
        "target `other`: the profile is not known",
    ]


def test_probes_go_past_caches_and_measures(builder):
    """A probe reaches the bucket itself, past caches."""
    parts = builder.build(CONFIGURED.replace("  other:\n", "  other:\n    cache: {maxAge: 10s}\n"))
    assert {target.name: type(store).__name__ for target, store in bare_stores(parts)} == {
        "site": "S3Store",
        "other": "S3Store",
    }
