"""A cache in two workers: what is purged or written is forgotten by both."""

from __future__ import annotations

import http.client
import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from administering import Admin
from endless_s3 import endless_s3
from running import start_proxy

CONFIGURATION = """
server: {{port: 0}}
internalServer: {{port: 0}}
rules: [rules]
targets:
  site:
    mount: {{path: [/]}}
    cache: {{maxAge: 1h}}
    actions: {{DELETE: {{enabled: true}}}}
    bucket: {{name: some-bucket, s3Endpoint: "{endpoint}", s3ForcePathStyle: true,
              credentials: {{accessKey: {{env: ACCESS}}, secretKey: {{env: SECRET}}}}}}
"""


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A service of two workers that keep objects, and its admin listener."""
    folder = tmp_path_factory.mktemp("cache")
    with (
        endless_s3() as (endpoint, _),
        start_proxy(folder, CONFIGURATION.format(endpoint=endpoint), "--workers", "2", site="") as proxy,
    ):
        yield proxy, Admin.of(proxy)


def _ask(proxy, method: str, path: str) -> str | None:
    """What the cache knew of an object, on a connection of its own."""
    with closing(http.client.HTTPConnection(*proxy.address, timeout=60)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status in (200, 204)
        return answer.headers["X-Cache"]


@contextmanager
def _only(admin: Admin, place: int) -> Iterator[None]:
    """Have one of the two workers answer; the other is stopped meanwhile, and has heard everything after."""
    pids = [worker["pid"] for worker in admin.status()["workers"]]
    os.kill(pids[1 - place], signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pids[1 - place], signal.SIGCONT)
    admin.ask("GET", "/metrics")  # answered by each worker after all that it was sent before


def _known(proxy, admin: Admin, path: str) -> list[str | None]:
    """What each worker knew of an object."""
    known = []
    for place in range(2):
        with _only(admin, place):
            known.append(_ask(proxy, "GET", path))
    return known


def test_a_purge_reaches_all_workers(pair):
    """Each worker keeps an object by itself; a purge makes both forget it, and says so."""
    proxy, admin = pair
    assert [_known(proxy, admin, "/purged.txt") for _ in range(2)] == [["miss", "miss"], ["hit", "hit"]]
    status, text = admin.ask("POST", "/-/purge?target=site&prefix=purged")
    assert (status, json.loads(text)) == (200, {"purged": 2})
    assert _known(proxy, admin, "/purged.txt") == ["miss", "miss"]


def test_a_write_reaches_all_workers(pair):
    """What one worker removes, the other forgets."""
    proxy, admin = pair
    assert _known(proxy, admin, "/written.txt") == ["miss", "miss"]
    with _only(admin, 0):
        _ask(proxy, "DELETE", "/written.txt")
    assert _known(proxy, admin, "/written.txt") == ["miss", "miss"]


def test_a_target_without_a_cache_cannot_be_purged(pair):
    """A wrong name is an error, not a success that purged nothing."""
    _, admin = pair
    assert admin.ask("POST", "/-/purge?target=typo") == (404, "target `typo` has no cache\n")


def test_requests_are_counted_in_all_workers(pair):
    """The metrics of both workers are added up."""
    proxy, admin = pair
    before = admin.metric("tornado_proxy_cache_requests_total")
    _known(proxy, admin, "/counted.txt")
    assert admin.metric("tornado_proxy_cache_requests_total") == before + 2
    assert admin.metric("tornado_proxy_cache_bytes") > 0
