"""The parts of a generation are built, and taken over where nothing changed; the caches of its stores."""

import asyncio

import pytest
from memory_store import MemoryStore
from stores import read_object

from tornado_proxy.config.model import Bucket, ObjectCache, Settings, Target
from tornado_proxy.pages.render import Pages
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.service.building import GenerationBuilder, Unbuildable, cache_counts, forget_written, purge, store_of
from tornado_proxy.service.snapshot import compile_snapshot, read_snapshot
from tornado_proxy.storage.cache import CacheCounts, CachingStore
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.telemetry.events import ObjectWritten
from tornado_proxy.web.generation import Parts, Shared

CONFIGURATION = """
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
    """A builder of generations from texts, each with the parts of the previous one."""

    def __init__(self, folder) -> None:
        self._config = folder / "proxy.yaml"
        self._builder: GenerationBuilder | None = None
        self.parts: Parts | None = None

    def build(self, text: str) -> Parts:
        """The parts of the next generation."""
        self._config.write_text(text)
        configuration = compile_snapshot(read_snapshot(self._config, {}))
        assert configuration.usable, [diagnostic.message for diagnostic in configuration.diagnostics]
        self._builder = self._builder or GenerationBuilder(configuration.settings, lambda _: None)
        self.parts = self._builder.build(configuration, self.parts)
        return self.parts


@pytest.fixture
def builder(tmp_path):
    """A builder."""
    return _Builder(tmp_path)


def test_the_store_of_an_unchanged_bucket_is_reused(builder):
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("other-bucket", "another-bucket"))
    assert second.stores["site"] is first.stores["site"]
    assert second.stores["other"] is not first.stores["other"]


def test_a_new_cache_gets_a_new_store(builder):
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("  other:", "    cache: {maxAge: 10s}\n  other:"))
    assert isinstance(second.stores["site"].store, CachingStore)
    assert second.stores["other"] is first.stores["other"]


def test_an_unchanged_provider_is_reused(builder):
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("/other/", "/elsewhere/"))
    third = builder.build(CONFIGURATION.replace("clientID: me", "clientID: you"))
    assert second.authenticators["people"] is first.authenticators["people"]
    assert third.authenticators["people"] is not first.authenticators["people"]
    assert builder.build(CONFIGURATION.replace("clientID: me", "clientID: you")).authenticators is third.authenticators


def test_counts_of_caches_are_handed_over(builder):
    """A generation goes on with the counts of the one before it, whatever its options are."""
    text = CONFIGURATION.replace("  other:", "    cache: {maxAge: 10s}\n  other:")
    first = builder.build(text)
    second = builder.build(text.replace("10s", "20s"))
    assert cache_counts(second)["site"] is cache_counts(first)["site"]


def test_the_access_of_an_unchanged_target_is_reused(builder):
    first = builder.build(CONFIGURATION)
    assert builder.build(CONFIGURATION).mounts.sites[0].access is first.mounts.sites[0].access


def test_all_unusable_buckets_are_reported(builder, monkeypatch):

    def refuse(*_):
        raise StorageError("the profile is not known")

    monkeypatch.setattr("tornado_proxy.service.building.S3Store", refuse)
    with pytest.raises(Unbuildable) as error:
        builder.build(CONFIGURATION)
    assert [diagnostic.message for diagnostic in error.value.diagnostics] == [
        "target `site`: the profile is not known",
        "target `other`: the profile is not known",
    ]


def test_probes_bypass_caches_and_measurements(builder):
    parts = builder.build(CONFIGURATION.replace("  other:\n", "  other:\n    cache: {maxAge: 10s}\n"))
    assert [type(store_of(parts, name)).__name__ for name in ("site", "other")] == ["S3Store", "S3Store"]


# Two targets of one bucket, one of a bucket of the same name at another endpoint, and one without a cache.
TARGETS = (
    Target("public", bucket=Bucket("files"), cache=ObjectCache()),
    Target("private", bucket=Bucket("files", prefix="p/"), cache=ObjectCache()),
    Target("elsewhere", bucket=Bucket("files", s3_endpoint="http://minio"), cache=ObjectCache()),
    Target("bare", bucket=Bucket("files")),
)


@pytest.fixture
def parts():
    """The parts of a generation with `TARGETS`, and with the objects `a` and `p/a` in each cache."""
    stores = {}
    for target in TARGETS:
        store = MemoryStore({"a": b"x", "p/a": b"x"})
        cached = CachingStore(store, target.cache, CacheCounts()) if target.cache else store
        for key in ("a", "p/a"):
            asyncio.run(read_object(cached, key))
        stores[target.name] = Shared(cached)
    return Parts(Settings(targets=TARGETS), Mounts(()), Pages(), stores)


def _remaining(parts):
    """Purge all caches and return the number of objects that each contained."""
    return {name: shared.store.purge("") for name, shared in parts.stores.items() if name != "bare"}


@pytest.mark.parametrize(
    ("filters", "number", "remaining"),
    [
        ((None, ""), 6, (0, 0, 0)),
        (("public", ""), 2, (0, 2, 2)),
        ((None, "p/"), 3, (1, 1, 1)),
        (("public", "p/"), 1, (1, 2, 2)),
        (("bare", ""), 0, (2, 2, 2)),
    ],
)
def test_a_purge_can_name_target_and_prefix(parts, filters, number, remaining):
    assert purge(parts, *filters) == number
    assert tuple(_remaining(parts).values()) == remaining


@pytest.mark.parametrize(
    ("target", "remaining"), [*((name, (1, 1, 2)) for name in ("public", "private", "bare")), ("elsewhere", (2, 2, 1))]
)
def test_a_write_drops_the_object_from_all_caches_of_its_bucket(parts, target, remaining):
    """Even if a target without a cache wrote it; a bucket of the same name at another endpoint is another one."""
    assert forget_written(parts, ObjectWritten(target, "a"))
    assert tuple(_remaining(parts).values()) == remaining


def test_a_write_to_a_removed_target_is_ignored(parts):
    """A write by a request of an earlier generation drops nothing if its target no longer exists."""
    assert not forget_written(parts, ObjectWritten("removed", "a"))
