"""A generation takes over the parts that did not change."""

from __future__ import annotations

import pytest

from tornado_proxy.service.reload.building import GenerationBuilder
from tornado_proxy.service.reload.snapshot import compile_snapshot, read_snapshot
from tornado_proxy.service.reload.stores import Unbuildable, bare_stores, cache_counts
from tornado_proxy.storage.cache import CachingStore
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.web.generation import Parts

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
    """An unchanged bucket keeps its store with its connections; a changed one gets a new store."""
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("other-bucket", "another-bucket"))
    assert second.stores["site"] is first.stores["site"]
    assert second.stores["other"] is not first.stores["other"]


def test_a_new_cache_gets_a_new_store(builder):
    """A target with a new cache gets a new store, even if its bucket is unchanged."""
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("  other:", "    cache: {maxAge: 10s}\n  other:"))
    assert isinstance(second.stores["site"].store, CachingStore)
    assert second.stores["other"] is first.stores["other"]


def test_an_unchanged_provider_is_reused(builder):
    """An unchanged provider keeps its state, and a changed one is made again."""
    first = builder.build(CONFIGURATION)
    second = builder.build(CONFIGURATION.replace("/other/", "/elsewhere/"))
    third = builder.build(CONFIGURATION.replace("clientID: me", "clientID: you"))
    assert second.authenticators["people"] is first.authenticators["people"]
    assert third.authenticators["people"] is not first.authenticators["people"]
    assert builder.build(CONFIGURATION.replace("clientID: me", "clientID: you")).authenticators is third.authenticators


def test_counts_of_compressions_and_caches_are_handed_over(builder):
    """A generation goes on with the counts of the one before it, whatever its options are."""
    text = CONFIGURATION.replace("  other:", "    cache: {maxAge: 10s}\n  other:")
    first = builder.build(text)
    second = builder.build(f"{text.replace('10s', '20s')}server: {{compress: {{level: 9}}}}\n")
    assert second.compressions is first.compressions
    assert cache_counts(second)["site"] is cache_counts(first)["site"]


def test_the_access_of_an_unchanged_target_is_reused(builder):
    """A target of an unchanged configuration keeps its compiled resources."""
    first = builder.build(CONFIGURATION)
    assert builder.build(CONFIGURATION).mounts.sites[0].access is first.mounts.sites[0].access


def test_all_unusable_buckets_are_reported(builder, monkeypatch):
    """If no clients can be made, the error names every target."""

    def refuse(*_):
        raise StorageError("the profile is not known")

    monkeypatch.setattr("tornado_proxy.service.reload.stores.S3Store", refuse)
    with pytest.raises(Unbuildable) as error:
        builder.build(CONFIGURATION)
    assert [diagnostic.message for diagnostic in error.value.diagnostics] == [
        "target `site`: the profile is not known",
        "target `other`: the profile is not known",
    ]


def test_probes_bypass_caches_and_measurements(builder):
    """A probe uses the store of S3 itself."""
    parts = builder.build(CONFIGURATION.replace("  other:\n", "  other:\n    cache: {maxAge: 10s}\n"))
    assert {target.name: type(store).__name__ for target, store in bare_stores(parts)} == {
        "site": "S3Store",
        "other": "S3Store",
    }
