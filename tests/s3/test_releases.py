"""Releases of rules in a bucket, in moto and in Ceph."""

from __future__ import annotations

import itertools
import socketserver
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from pushed_rules import FIRST, FakeReleases

from tornado_proxy.config.model import Credentials, RulesBucket
from tornado_proxy.config.secrets import Secret
from tornado_proxy.rules.releases import LARGEST_POINTER, Pointer
from tornado_proxy.s3.releases import ReleaseBucket
from tornado_proxy.storage.errors import (
    BucketMissing,
    NotModified,
    ObjectMissing,
    PreconditionFailed,
    TimedOut,
    UpstreamError,
)

_NUMBERS = itertools.count()


@pytest.fixture(params=["moto", pytest.param("radosgw", marks=pytest.mark.integration)])
def releases(request):
    """A place without a release, in a new bucket."""
    endpoint = request.getfixturevalue(request.param)
    name = f"rules-{next(_NUMBERS)}"
    endpoint.client.create_bucket(Bucket=name)
    pair = Credentials(Secret("test", endpoint.access_key), Secret("test", endpoint.secret_key))
    place = RulesBucket(f"s3://{name}/some/rules/", s3_endpoint=endpoint.url, force_path_style=True, credentials=pair)
    with closing(ReleaseBucket(place)) as bucket:
        bucket.put = lambda key, data: endpoint.client.put_object(Bucket=name, Key=f"some/rules/{key}", Body=data)
        yield bucket


def test_a_release_is_written_once_and_read_back(releases):
    """A second write of the same release changes nothing."""
    releases.write_release(FIRST)
    releases.write_release(FIRST)
    assert releases.read_release(FIRST.digest) == FIRST


def test_the_pointer_moves_from_what_was_read(releases):
    """Whoever has read an older pointer cannot move it."""
    with pytest.raises(ObjectMissing):
        releases.read_pointer()
    first = Pointer().pushed(FIRST.digest, "now", "ann")
    releases.move(first, "")
    pointer, etag = releases.read_pointer()
    assert pointer == first
    with pytest.raises(NotModified):
        releases.read_pointer(etag)
    releases.move(first.pushed("b" * 64, "later", "ben"), etag)
    for late in (etag, ""):
        with pytest.raises(PreconditionFailed):
            releases.move(first, late)
    assert releases.read_pointer()[0].moves[0].by == "ben"


def test_of_all_who_move_the_pointer_at_once_one_wins(releases):
    """The others get an error, and the pointer is the winner's."""
    releases.move(Pointer().pushed(FIRST.digest, "now", "ann"), "")
    pointer, etag = releases.read_pointer()

    def move(name: str) -> str:
        try:
            releases.move(pointer.pushed("b" * 64, "later", name), etag)
        except PreconditionFailed:
            return ""
        return name

    with ThreadPoolExecutor(8) as threads:
        winners = [each for each in threads.map(move, map(str, range(8))) if each]
    assert len(winners) == 1
    assert releases.read_pointer()[0].moves[0].by == winners[0]


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nETag: ", b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n"])
def test_a_bucket_that_sends_byte_by_byte_is_given_up(head):
    """A pointer, or the head before it, that keeps coming a byte at a time does not hold the thread of the poll."""
    ended = threading.Event()

    class Dripping(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(65536)
            self.request.sendall(head)
            with suppress(OSError):
                for _ in range(2000):
                    ended.wait(0.01)
                    self.request.sendall(b"x")
            ended.set()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Dripping) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        pair = Credentials(Secret("test", "a"), Secret("test", "b"))
        url = "http://{}:{}".format(*server.server_address)
        place = RulesBucket("s3://rules/", s3_endpoint=url, force_path_style=True, credentials=pair)
        try:
            with closing(ReleaseBucket(place, longest=1)) as bucket, pytest.raises(TimedOut, match="whole answer"):
                bucket.read_pointer()
            assert ended.wait(20)
        finally:
            server.shutdown()


def test_conditions_are_tried(releases):
    """Both S3s refuse a write whose condition is false."""
    releases.write_release(FIRST)
    assert releases.heeds_conditions(FIRST)


@pytest.mark.parametrize("header", ["If-Match", "If-None-Match"])
def test_an_s3_that_ignores_a_condition_is_noticed(releases, header):
    """Here the client drops the header, as if the S3 did not know it."""
    releases.write_release(FIRST)
    releases._client.meta.events.register(  # only there the S3 can be made to look so
        "before-call.s3.PutObject", lambda params, **_: params["headers"].pop(header, None) and None
    )
    assert not releases.heeds_conditions(FIRST)


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"{}", "its digest is"), (b"", "it has 0 bytes")],
    ids=["other", "empty"],
)
def test_a_release_that_was_changed_is_refused(releases, data, reason):
    """The error names the object, and the next push of the same files repairs it."""
    releases.put(f"releases/{FIRST.digest}.json", data)
    with pytest.raises(UpstreamError, match=f"s3://.*/some/rules/releases/{FIRST.digest}.json`: {reason}"):
        releases.read_release(FIRST.digest)
    releases.write_release(FIRST)
    assert releases.read_release(FIRST.digest) == FIRST


def test_a_pointer_of_any_size_is_not_read(releases):
    """A large object is refused by its length."""
    releases.put("current.json", b" " * (LARGEST_POINTER + 1))
    with pytest.raises(UpstreamError, match="it has 262,145 bytes, and may have 262,144"):
        releases.read_pointer()


def test_without_a_bucket_the_error_names_the_place(moto, monkeypatch):
    """The environment says where, as for boto3."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", moto.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with closing(ReleaseBucket(RulesBucket("s3://nowhere/"))) as bucket, pytest.raises(BucketMissing) as caught:
        bucket.read_pointer()
    assert "`s3://nowhere/current.json`: 404 NoSuchBucket" in str(caught.value)


def test_the_fake_is_as_a_real_bucket(releases):
    """Its answers to the calls of a poll are those of an S3."""
    fake = FakeReleases()
    for each in (releases, fake):
        with pytest.raises(ObjectMissing):
            each.read_pointer()
        with pytest.raises(ObjectMissing):
            each.read_release(FIRST.digest)
    releases.write_release(FIRST)
    releases.move(Pointer().pushed(FIRST.digest, "now", "ann"), "")
    fake.push(FIRST)
    for each in (releases, fake):
        pointer, etag = each.read_pointer()
        assert (pointer, each.read_release(FIRST.digest)) == (fake.pointer, FIRST)
        with pytest.raises(NotModified):
            each.read_pointer(etag)
