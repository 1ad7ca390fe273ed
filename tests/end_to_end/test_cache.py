"""A cache in two workers: both forget an object that was purged or written."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from administering import Admin
from endless_s3 import endless_s3
from running import start_proxy

CONFIGURATION = """
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    cache: {{maxAge: 1h}}
    actions: {{DELETE: {{enabled: true}}}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true}}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A service of two workers with a cache, and its admin listener."""
    folder = tmp_path_factory.mktemp("cache")
    with (
        endless_s3() as (endpoint, _),
        start_proxy(folder, CONFIGURATION.format(endpoint=endpoint), "--workers", "2", site="") as proxy,
    ):
        yield proxy, Admin.of(proxy)


@contextmanager
def _only_worker(admin: Admin, index: int) -> Iterator[None]:
    """Lets one of the two workers answer: the other is stopped until the block ends, then catches up."""
    pids = [worker["pid"] for worker in admin.status()["workers"]]
    os.kill(pids[1 - index], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pids[1 - index], signal.SIGCONT)
    admin.request("GET", "/metrics")  # each worker answers this after the messages that it got before


def _x_cache_of_each(proxy, admin: Admin, path: str) -> list[str | None]:
    """Requests an object from each worker; returns the `X-Cache` headers of their answers."""
    headers = []
    for index in range(2):
        with _only_worker(admin, index):
            headers.append(proxy.request("GET", path).headers["x-cache"])
    return headers


def test_a_purge_reaches_all_workers(pair):
    proxy, admin = pair
    assert [_x_cache_of_each(proxy, admin, "/purged.txt") for _ in range(2)] == [["miss", "miss"], ["hit", "hit"]]
    status, text = admin.request("POST", "/-/purge?target=site&prefix=purged")
    assert (status, json.loads(text)) == (200, {"purged": 2})
    assert _x_cache_of_each(proxy, admin, "/purged.txt") == ["miss", "miss"]


def test_a_write_reaches_all_workers(pair):
    proxy, admin = pair
    assert _x_cache_of_each(proxy, admin, "/written.txt") == ["miss", "miss"]
    with _only_worker(admin, 0):
        assert proxy.request("DELETE", "/written.txt").status == 204
    assert _x_cache_of_each(proxy, admin, "/written.txt") == ["miss", "miss"]


def test_requests_are_counted_in_all_workers(pair):
    proxy, admin = pair
    before = admin.metric("tornado_proxy_cache_requests_total")
    _x_cache_of_each(proxy, admin, "/counted.txt")
    assert admin.metric("tornado_proxy_cache_requests_total") == before + 2
    assert admin.metric("tornado_proxy_cache_bytes") > 0
