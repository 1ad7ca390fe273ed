"""The requests of boto3 on connections of the service; `test_executor` and tests/hostile test what S3 does to them."""

from contextlib import contextmanager

import boto3
import pytest
from scripted_s3 import Reply, Then, error_reply, object_reply, reply, scripted_s3
from stores import async_chunks, read_object, scripted_store

from tornado_proxy.config.model import Bucket, Credentials
from tornado_proxy.config.secrets import Secret
from tornado_proxy.s3 import connection
from tornado_proxy.s3.client import make_client
from tornado_proxy.s3.connection import Retries
from tornado_proxy.s3.transport import Transport
from tornado_proxy.storage.errors import Unreachable
from tornado_proxy.storage.store import Write


@contextmanager
def client_of(url: str, **settings):
    """A client whose requests are carried."""
    credentials = Credentials(Secret("test", "a"), Secret("test", "s"))
    bucket = Bucket("bucket", **{"credentials": credentials, "s3_endpoint": url, "max_attempts": 1, **settings})
    client, transport = make_client(bucket), Transport(bucket, 1, Retries())
    transport.carry(client)
    yield client
    transport.close()


@pytest.mark.parametrize(("lifetime", "connections"), [(300.0, 1), (0.0, 3)])
def test_an_old_connection_is_not_used_again(monkeypatch, lifetime, connections):
    """A connection of a certain age is replaced although it always works, so that calls follow a name's address."""
    monkeypatch.setattr(connection.limits, "LONGEST_LIFETIME", lifetime)
    with scripted_s3(*[reply(204)] * 3) as s3, client_of(s3.url) as client:
        for _ in range(3):
            client.delete_object(Bucket="bucket", Key="k")
    assert (len(s3.requests), len(s3.connections)) == (3, connections)


def test_a_request_is_that_of_boto3(monkeypatch):
    """Line, headers and body are as boto3 alone would send them, but for its name, the time and its `Expect`."""
    names = {"amz-sdk-invocation-id", "amz-sdk-request", "authorization", "expect", "user-agent", "x-amz-date"}

    def sent(request: str) -> tuple[str, dict[str, str]]:
        line, *lines = request.splitlines()
        headers = dict(each.lower().split(": ", 1) for each in lines if each)
        return line, {name: value for name, value in headers.items() if name not in names}

    with scripted_s3(*[reply(200, ETag='"e"')] * 2) as s3:
        with client_of(s3.url, force_path_style=True) as client:
            client.put_object(Bucket="bucket", Key="a/ä b", Body=b"abc")
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "s", "region_name": "us-east-1"}
        plain = boto3.client("s3", endpoint_url=s3.url, config=client.meta.config, **keys)
        plain.put_object(Bucket="bucket", Key="a/ä b", Body=b"abc")
        plain.close()
    assert sent(s3.requests[0]) == sent(s3.requests[1])


@pytest.mark.parametrize("ending", ["", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", 'HTTP/1.1 200 OK\r\nETag: "e"\r\n'])
async def test_a_head_without_its_end_is_a_lost_answer(ending):
    """An answer whose connection ends within the head is none."""
    async with scripted_store(Reply(ending.encode(), Then.CLOSE)) as (_, store):
        with pytest.raises(Unreachable):
            await store.put("k", async_chunks(b""), Write())


async def test_a_connection_serves_calls_of_both_kinds():
    """An answer that was read, and an error, leave their connection to the next call."""
    replies = reply(200, ETag='"e"'), error_reply(403, "AccessDenied"), object_reply(b"abc")
    async with scripted_store(*replies, reads="executor", threads=1) as (s3, store):
        await store.put("k", async_chunks(b""), Write())
        with pytest.raises(Exception, match="AccessDenied"):
            await store.put("k", async_chunks(b""), Write())
        assert await read_object(store, "k") == b"abc"
    assert len(s3.connections) == 1
