"""Stores and buckets for tests, with ways to fill and inspect them that bypass the store."""

import itertools
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from coroutines import run
from memory_store import MemoryStore
from real_s3 import Endpoint
from scripted_s3 import Reply, ScriptedS3, scripted_s3

from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3.store import S3Store
from tornado_proxy.semantics.conditions import ByteRange, Conditions
from tornado_proxy.storage.store import ObjectInfo, Store, UploadForm

_NUMBERS = itertools.count(1)

# The parameters of PutObject that set the fields of an object's info.
_PARAMETERS = {
    "cache_control": "CacheControl",
    "content_disposition": "ContentDisposition",
    "content_encoding": "ContentEncoding",
    "content_language": "ContentLanguage",
    "content_type": "ContentType",
    "expires": "Expires",
    "redirect": "WebsiteRedirectLocation",
}


@dataclass(frozen=True)
class StoreUnderTest:
    """An empty store, and a function that adds objects without the store."""

    name: str
    store: Store
    add: Callable[..., object]


@dataclass(frozen=True)
class BucketUnderTest:
    """A new bucket, a store of it, and boto3's client to inspect it without the store."""

    name: str
    store: S3Store
    client: Any
    backend: Any = None  # moto's objects; adding objects over HTTP would take most of the time of the tests

    def uploads(self) -> list[str]:
        """The keys of uploads that are neither completed nor aborted."""
        answer = self.client.list_multipart_uploads(Bucket=self.name)
        return [upload["Key"] for upload in answer.get("Uploads", [])]

    def keys(self) -> list[str]:
        """All keys."""
        return [entry["Key"] for entry in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def empty(self) -> None:
        """Removes all objects without the store."""
        if self.backend is not None:
            self.backend.get_bucket(self.name).keys.clear()
            return
        for key in self.keys():
            self.client.delete_object(Bucket=self.name, Key=key)

    def add(self, key: str, body: bytes, **info: str) -> None:
        """Adds an object without the store; `info` are fields of its info."""
        if self.backend is not None:
            added = self.backend.put_object(self.name, key, body)
            if (location := info.pop("redirect", None)) is not None:
                added.website_redirect_location = location
            added.set_metadata({name.replace("_", "-"): value for name, value in info.items()})
            return
        parameters = {_PARAMETERS[name]: value for name, value in info.items()}
        self.client.put_object(Bucket=self.name, Key=key, Body=body, **parameters)


@contextmanager
def new_bucket(endpoint: Endpoint, reads: Literal["loop", "executor"] = "loop") -> Iterator[BucketUnderTest]:
    """Creates a bucket at an S3, and closes its store at the end."""
    name = f"bucket-{next(_NUMBERS)}"
    store = S3Store(endpoint.bucket(name), S3Pool(8, reads=reads))
    endpoint.client.create_bucket(Bucket=name)
    yield BucketUnderTest(name, store, endpoint.client, endpoint.backend)
    run(store.close())


def in_memory() -> StoreUnderTest:
    """An empty memory store."""
    store = MemoryStore()
    return StoreUnderTest(
        "memory", store, lambda key, body, **info: store.add(key, body, ObjectInfo(len(body), **info))
    )


async def read_object(
    store: Store, key: str, conditions: Conditions | None = None, part: ByteRange | None = None
) -> bytes:
    """Reads all bytes of an object, or of a part of it."""
    opened = await store.open(key, conditions or Conditions(), part)
    try:
        return b"".join([chunk async for chunk in opened.chunks()])
    finally:
        await opened.close()


async def async_chunks(*chunks: bytes) -> AsyncIterator[bytes]:
    """Yields the chunks of an upload."""
    for chunk in chunks:
        yield chunk


@asynccontextmanager
async def store_at(
    url: str, reads: Literal["loop", "executor"] = "loop", threads: int = 4, name: str = "bucket", **settings: Any
) -> AsyncIterator[S3Store]:
    """Opens a store of a bucket at an S3, whose conditions are trusted; the machine may be busy, so timeouts are long.

    `settings` are those of the bucket and of the pool.
    """
    defaults = {"connect_timeout": 20.0, "read_timeout": 20.0, "conditional_writes": "trusted"}
    pool = {field: settings.pop(field) for field in S3Pool.__struct_fields__ if field in settings}
    store = S3Store(Endpoint(url).bucket(name, **defaults | settings), S3Pool(threads, reads=reads, **pool))
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def scripted_store(
    *replies: Reply, answer: Callable[[str], Reply] | None = None, **settings: Any
) -> AsyncIterator[tuple[ScriptedS3, S3Store]]:
    """Runs an S3 as `scripted_s3` does, and opens a store at it; `settings` are those of `store_at`."""
    with scripted_s3(*replies, answer=answer) as s3:
        async with store_at(s3.url, **settings) as store:
            yield s3, store


def post_form(form: UploadForm, content: bytes) -> None:
    """Sends a file by a form, as a browser does; raises `HTTPError`."""
    boundary = "a-boundary"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="'
    fields = "".join(f'{head}{name}"\r\n\r\n{value}\r\n' for name, value in form.fields.items())
    file = f'{head}file"; filename="a"\r\n\r\n'
    body = f"{fields}{file}".encode() + content + f"\r\n--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(form.url, body, headers), timeout=20):
            pass
    except urllib.error.HTTPError as error:
        error.close()
        raise
