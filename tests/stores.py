"""Stores and buckets as tests arrange them, look at them from the other side, and read them."""

from __future__ import annotations

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

from tornado_proxy.config.server import S3Pool
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.s3 import S3Store
from tornado_proxy.storage.store import ObjectInfo, Store, UploadForm

_NUMBERS = itertools.count(1)

# How S3's parameters are called that fill an object's info.
_PARAMETERS = {
    "cache_control": "CacheControl",
    "content_disposition": "ContentDisposition",
    "content_encoding": "ContentEncoding",
    "content_language": "ContentLanguage",
    "content_type": "ContentType",
    "expires": "Expires",
}


@dataclass(frozen=True)
class World:
    """A store that holds nothing yet, and a way to put objects behind its back."""

    name: str
    store: Store
    add: Callable[..., object]


@dataclass(frozen=True)
class Bucketful:
    """A new bucket: a store of it, and boto3's client to look at it from the other side."""

    name: str
    store: S3Store
    client: Any
    inside: Any = None  # moto's objects: tests arrange more than they ask, and HTTP would take most of their time

    def uploads(self) -> list[str]:
        """The keys of uploads that were begun and are neither completed nor aborted."""
        answer = self.client.list_multipart_uploads(Bucket=self.name)
        return [upload["Key"] for upload in answer.get("Uploads", [])]

    def keys(self) -> list[str]:
        """All keys."""
        return [listed["Key"] for listed in self.client.list_objects_v2(Bucket=self.name).get("Contents", [])]

    def empty(self) -> None:
        """Remove all objects, by way of the other side."""
        if self.inside is not None:
            self.inside.get_bucket(self.name).keys.clear()
            return
        for key in self.keys():
            self.client.delete_object(Bucket=self.name, Key=key)

    def add(self, key: str, body: bytes, **info: str) -> None:
        """Put an object that has what an info says."""
        if self.inside is not None:
            made = self.inside.put_object(self.name, key, body)
            made.set_metadata({name.replace("_", "-"): value for name, value in info.items()})
            return
        said = {_PARAMETERS[name]: value for name, value in info.items()}
        self.client.put_object(Bucket=self.name, Key=key, Body=body, **said)


@contextmanager
def a_bucket(endpoint: Endpoint, reads: Literal["loop", "executor"] = "loop") -> Iterator[Bucketful]:
    """A new bucket of an S3."""
    name = f"bucket-{next(_NUMBERS)}"
    store = S3Store(endpoint.bucket(name), S3Pool(8, reads=reads))
    endpoint.client.create_bucket(Bucket=name)
    yield Bucketful(name, store, endpoint.client, endpoint.inside)
    run(store.close())


def in_memory() -> World:
    """A memory store."""
    store = MemoryStore()
    return World("memory", store, lambda key, body, **info: store.add(key, body, ObjectInfo(len(body), **info)))


async def body_of(store: Store, key: str, conditions: Conditions | None = None) -> bytes:
    """All bytes of an object."""
    opened = await store.open(key, conditions or Conditions())
    try:
        return b"".join([chunk async for chunk in opened.chunks()])
    finally:
        await opened.close()


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    """An upload's chunks."""
    for chunk in chunks:
        yield chunk


@asynccontextmanager
async def store_at(
    url: str,
    reads: Literal["loop", "executor"] = "loop",
    threads: int = 4,
    upload_memory: int = 128 * 1024**2,
    **settings: Any,
) -> AsyncIterator[S3Store]:
    """A store of `bucket` at an S3, with threads of its own, and patient: a busy machine is not a silent S3."""
    usual = {"connect_timeout": 20.0, "read_timeout": 20.0}
    store = S3Store(
        Endpoint(url).bucket("bucket", **usual | settings),
        S3Pool(threads, upload_memory=upload_memory, reads=reads),
    )
    try:
        yield store
    finally:
        await store.close()


def post(form: UploadForm, content: bytes) -> None:
    """Send a file by a form, as a browser does; raises `HTTPError`."""
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
