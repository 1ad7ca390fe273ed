import asyncio
import contextlib
import threading
from dataclasses import replace

import pytest
from scripted_s3 import object_reply, reply, scripted_s3
from serving import serve
from stores import async_chunks, read_object, store_at

from tornado_proxy.config.server import Log
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.store import USE, BucketUse, Entry, Write, start_after
from tornado_proxy.telemetry.events import MeasuredStore


@pytest.mark.parametrize(("name", "is_directory"), [("a", False), ("a/", True), ("/", True)])
def test_an_entry_is_a_directory_if_its_name_ends_in_a_slash(name, is_directory):
    """`is_directory` is true for a name that ends in a slash."""
    assert Entry(name).is_directory is is_directory


@pytest.mark.parametrize(("name", "inside", "following"), [("b/", "d/b/1", "d/b0"), ("b", "d/b", "d/b/1")])
def test_a_listing_continues_after_all_keys_of_an_entry(name, inside, following):
    """`start_after` returns a key that follows all keys of an entry, but not the next entry's."""
    assert inside <= start_after("d/", name) < following


def _new_use() -> BucketUse:
    use = BucketUse()
    USE.set(use)
    return use


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_the_id_of_the_last_call_is_noted(reads):
    """Answers and errors of all calls have one, in both ways of reading."""
    use = _new_use()
    answers = (
        object_reply(b"x", x_amz_request_id="1"),
        reply(200, ETag='"1"', x_amz_request_id="2"),
        reply(404, x_amz_request_id="3"),
    )
    ids = []
    with scripted_s3(*answers) as s3:
        async with store_at(s3.url, reads, max_attempts=1) as store:
            for call in (
                read_object(store, "a"),
                store.put("a", async_chunks(b"x"), Write("text/plain")),
                store.head("a", Conditions()),
            ):
                with contextlib.suppress(StorageError):
                    await call
                ids.append(use.request_id)
    assert ids == ["1", "2", "3"]


async def test_the_waits_for_an_answer_and_its_body_are_added_up():
    """S3 says nothing for a while, and then sends a body that does not come with its head."""
    use, waited = _new_use(), []
    with scripted_s3(replace(object_reply(b"x" * 1_000_000), gate=(gate := threading.Event()))) as s3:
        async with store_at(s3.url) as store:
            asyncio.get_running_loop().call_later(0.05, gate.set)
            await read_object(MeasuredStore(store, "site", waited.append), "a")
    assert use.seconds > waited[0].seconds >= 0.04


@pytest.mark.parametrize("form", ["json", "text"])
async def test_a_record_has_them_if_the_log_shows_them(form):
    """Lines of JSON and entries of the journal do."""
    with scripted_s3(object_reply(b"x", x_amz_request_id="9C")) as s3:
        async with store_at(s3.url) as store, serve(store, log=Log(format=form)) as site:
            await site.get("/a")
            facts = (await site.last_event()).request.facts
    assert facts.get("s3RequestId") == (None if form == "text" else "9C")
