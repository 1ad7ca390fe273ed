"""Writes to S3s that differ from Amazon's, by the name of the difference."""

import asyncio
import logging

import pytest
import real_s3
from msgspec.structs import replace
from quirky_s3 import etag, quirky_s3
from scripted_s3 import Reply, object_reply, reply
from stores import async_chunks, read_object, scripted_store, store_at

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Target
from tornado_proxy.config.server import S3Pool
from tornado_proxy.routing.upload_steps import Properties
from tornado_proxy.s3.store import S3Store
from tornado_proxy.semantics.conditions import UNCONDITIONAL, Conditions
from tornado_proxy.storage.errors import (
    AccessDenied,
    Busy,
    ConditionIgnored,
    ObjectExists,
    PreconditionFailed,
    UpstreamError,
)
from tornado_proxy.storage.probe import probe
from tornado_proxy.storage.store import IncomingPart, Write

MIB = 1024**2
SMALL, LARGE = b"x", b"x" * 6 * MIB


async def upload_in_steps(store, key: str, write: Write) -> None:
    """Uploads a file as a client does that sends its parts itself."""
    upload = await store.begin_upload(key, write)
    await store.put_part(key, upload, IncomingPart(1, len(LARGE), async_chunks(LARGE)))
    await store.put_part(key, upload, IncomingPart(2, len(SMALL), async_chunks(SMALL)))
    await store.complete_upload(key, upload, await store.list_parts(key, upload), write)


WAYS = {
    "small": lambda store, key, write: store.put(key, async_chunks(SMALL), write),
    "empty": lambda store, key, write: store.put(key, async_chunks(b""), write),
    "large": lambda store, key, write: store.put(key, async_chunks(LARGE), write),
    "in steps": upload_in_steps,
}
"""The ways to write an object."""

WRITE = Write("text/plain")


@pytest.mark.parametrize(
    ("quirk", "checksums", "header"),
    [
        ("checksum-needed", "when_required", "content-md5"),
        ("crc32-needed", "when_required", "x-amz-checksum-crc32"),
        ("checksum-needed", "when_supported", "x-amz-checksum-crc32"),
        ("checksums-unknown", "md5", "content-md5"),
    ],
)
async def test_a_checksum_is_sent_as_s3_wants_it(quirk, checksums, header):
    """Each PUT has a header, and no trailer; one that was refused without is the last to be."""
    async with quirky_s3(quirk) as s3, store_at(s3.url, checksums=checksums) as store:
        await store.put("first", async_chunks(SMALL), WRITE)
        s3.requests.clear()
        for way, write in WAYS.items():
            await write(store, way, WRITE)
    assert s3.objects.keys() == {"first", *WAYS}
    puts = [each for each in s3.requests if each.method == "PUT"]
    assert len(puts) == 1 + 1 + 2 + 2
    assert all(header in each.headers and "x-amz-trailer" not in each.headers for each in puts)


@pytest.mark.parametrize("way", ["large", "in steps"])
async def test_a_part_that_is_refused_without_a_checksum_is_sent_again(way):
    """The process may learn by a part of an upload that has begun."""
    async with quirky_s3("checksum-needed") as s3, store_at(s3.url) as store:
        await WAYS[way](store, "a", WRITE)
    assert s3.objects.keys() == {"a"}


async def test_a_checksum_is_not_tried_without_end():
    """An S3 that is content with none refuses the upload."""
    async with quirky_s3("checksum-in-vain") as s3, store_at(s3.url) as store:
        with pytest.raises(UpstreamError, match="HTTP header is required"):
            await store.put("a", async_chunks(SMALL), WRITE)
    assert len(s3.requests) == 3


async def test_no_checksum_is_sent_that_s3_does_not_ask_for():
    """By default, an S3 that knows no checksums gets none."""
    async with quirky_s3("checksums-unknown") as s3, store_at(s3.url) as store:
        await store.put("a", async_chunks(LARGE), WRITE)
    assert not [name for each in s3.requests for name in each.headers if "checksum" in name or "md5" in name]


async def test_an_s3_that_is_not_to_be_asked_for_checksums_is_read(reads):
    """Reads are refused once each; a 400 to a HEAD for another reason does not stop the question."""
    async with quirky_s3("checksum-mode-unknown") as s3, store_at(s3.url, reads) as store:
        s3.objects["a"] = b"abc", {}
        for _ in range(2):
            assert (await store.head("a", UNCONDITIONAL)).size == 3
            assert await read_object(store, "a") == b"abc"
    assert len([each for each in s3.requests if each.key == "a"]) == 5  # boto3 asks for the region of the bucket, too

    def answer(request: str) -> Reply:
        return object_reply(b"", Content_Length="1") if "/a " in request.splitlines()[0] else reply(400)

    async with scripted_store(answer=answer, reads=reads) as (s3, store):
        with pytest.raises(UpstreamError):
            await store.head("b", UNCONDITIONAL)
        await store.head("a", UNCONDITIONAL)
    assert s3.header(-1, "x-amz-checksum-mode") == "ENABLED"


async def test_a_chosen_checksum_is_not_left_out():
    """An S3 that does not know the checksum that the configuration wants refuses the upload."""
    async with quirky_s3("checksums-unknown") as s3, store_at(s3.url, checksums="when_supported") as store:
        with pytest.raises(UpstreamError, match="501 NotImplemented: x-amz-checksum- is not implemented"):
            await store.put("a", async_chunks(SMALL), WRITE)


KEPT = Write(replace=False)
IF_MATCH = Write(conditions=Conditions(if_match=(etag(b"old"),)))


@pytest.mark.parametrize("quirk", ["conditions-unknown", "conditions-invalid", "conditions-ignored"])
@pytest.mark.parametrize("write", [KEPT, IF_MATCH], ids=["If-None-Match", "If-Match"])
async def test_nothing_is_written_if_s3_heeds_no_condition(quirk, write, caplog):
    """No way of writing replaces the file or makes a new one; the option is named once in the log, and in each error."""
    async with quirky_s3(quirk) as s3, store_at(s3.url, conditional_writes="tried") as store:
        s3.objects["a"] = b"old", {}
        for way in WAYS.values():
            for key in "ab":
                with pytest.raises((ConditionIgnored, ObjectExists, PreconditionFailed)) as raised:
                    await way(store, key, write)
                if raised.type is ConditionIgnored:
                    assert "see `bucket.conditionalWrites`" in str(raised.value)
    assert {key: body for key, (body, _) in s3.objects.items()} == {"a": b"old"}
    assert s3.uploads == {}
    assert len([each for each in caplog.records if each.levelno == logging.ERROR]) == 1


@pytest.mark.parametrize("way", ["large", "in steps"])
async def test_a_head_stands_for_the_condition_of_a_completion_alone(way, caplog):
    """An S3 that heeds the condition of a PUT may ignore that of a completion: a file that is there is not replaced."""
    quirk, loss = (
        "completions-ignore-conditions",
        "two large uploads to `bucket` at the same moment can replace each other",
    )
    async with quirky_s3(quirk) as s3, store_at(s3.url, conditional_writes="tried") as store:
        await WAYS[way](store, "a", KEPT)
        with pytest.raises(ObjectExists):
            await WAYS[way](store, "a", KEPT)
        uploads = [WAYS[each](store, "turns", KEPT) for each in (way, "small", "small", way)]
        outcomes = await asyncio.gather(*uploads, return_exceptions=True)
    assert sum(isinstance(each, ObjectExists) for each in outcomes) == 3
    assert s3.objects.keys() == {"a", "turns"}
    (said,) = [each.getMessage() for each in caplog.records if each.levelno == logging.ERROR]
    assert said.startswith(f"{loss}: S3 ignores `If-None-Match` of an upload in parts")


@pytest.mark.parametrize("quirks", [(), ("removal-200",), ("removal-404",), ("conditions-304",)])
async def test_an_s3_that_heeds_conditions_is_tried_once(quirks):
    """Later writes take one call; nothing is left of the trials, and a file is not replaced."""
    async with quirky_s3(*quirks) as s3, store_at(s3.url, conditional_writes="tried") as store:
        for key in "ab":
            await store.put(key, async_chunks(SMALL), KEPT)
        assert [each.method for each in s3.requests if each.key == "b"] == ["PUT"]
        assert [each.method for each in s3.requests][-2:] == ["PUT", "PUT"]
        for way in WAYS.values():
            with pytest.raises(ObjectExists):
                await way(store, "a", KEPT)
        await store.remove("b")
        await store.remove("missing")
    assert (s3.objects.keys(), s3.uploads) == ({"a"}, {})


async def test_a_trial_has_the_properties_of_the_upload():
    """A policy of the bucket may demand them; where the trial is denied, the error names what leaves it out."""
    write = Write(replace=False, properties=Properties(canned_acl="bucket-owner-full-control"))
    async with quirky_s3("acl-demanded") as s3, store_at(s3.url, conditional_writes="tried") as store:
        with pytest.raises(AccessDenied, match="conditionalWrites: trusted` tries nothing"):
            await store.put("a", async_chunks(SMALL), KEPT)
        await store.put("a", async_chunks(SMALL), write)
    assert s3.objects.keys() == {"a"}


async def test_an_object_that_is_locked_is_not_replaced():
    """Where S3 denies that, its condition counts as heeded; what cannot be removed remains."""
    async with quirky_s3("locked", "checksum-needed") as s3, store_at(s3.url, conditional_writes="tried") as store:
        for way, write in WAYS.items():
            await write(store, way, KEPT)
    assert {each for each in s3.objects if not each.startswith(".tornado-proxy-probe-")} == WAYS.keys()


async def test_a_trial_that_fails_is_made_again():
    """An S3 that cannot be asked now is asked by the next upload; all uploads of the moment share a trial."""
    async with quirky_s3("busy-once") as s3, store_at(s3.url, conditional_writes="tried") as store:
        with pytest.raises(Busy):
            await store.put("a", async_chunks(SMALL), KEPT)
        await asyncio.gather(*(store.put(key, async_chunks(SMALL), KEPT) for key in "abcdefgh"))
    assert s3.objects.keys() == set("abcdefgh")
    assert len([each for each in s3.requests if "probe" in each.key]) == 2 + 3


@pytest.mark.parametrize("quirk", ["conditions-unknown", "conditions-ignored"])
@pytest.mark.parametrize("write", [KEPT, IF_MATCH], ids=["If-None-Match", "If-Match"])
async def test_a_head_stands_for_the_condition(quirk, write):
    """With `headBefore`, all ways of writing work, without a condition, and none replaces another file."""
    error, free = (ObjectExists, "new") if write is KEPT else (PreconditionFailed, "old")
    async with quirky_s3(quirk) as s3, store_at(s3.url, conditional_writes="headBefore") as store:
        for name, way in WAYS.items():
            s3.objects |= {"taken": (b"other", {}), "old": (b"old", {})}
            s3.objects.pop("new", None)
            await way(store, free, write)
            assert s3.objects[free][0] != b"old", name
            with pytest.raises(error):
                await way(store, "taken", write)
    assert s3.objects["taken"][0] == b"other"
    assert not [each for each in s3.requests if each.headers.keys() & {"if-match", "if-none-match"}]


async def test_two_uploads_to_a_process_take_turns():
    """With `headBefore`, an upload to this process sees what another one to it has written."""
    async with quirky_s3() as s3, store_at(s3.url, conditional_writes="headBefore") as store:
        uploads = [store.put("a", async_chunks(SMALL), KEPT) for _ in range(8)]
        outcomes = await asyncio.gather(*uploads, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == [*["ObjectExists"] * 7, "Stored"]


TRUSTED = {"conditional_writes": "trusted"}
IN_SPITE = "S3 replaces an object in spite of `If-None-Match`"
PROBED = [
    ((), {}, None, ""),
    (("removal-200",), {}, None, ""),
    (("removal-404",), {}, None, ""),
    (("checksum-needed",), {}, None, ""),
    (("even-parts",), {}, None, ""),
    (("ascii-only",), {}, None, ""),
    (("conditions-ignored",), {}, "condition-ignored", "`bucket.conditionalWrites: headBefore`"),
    (("conditions-unknown",), {}, "condition-ignored", "`bucket.conditionalWrites: headBefore`"),
    (("conditions-ignored",), TRUSTED, "condition-ignored", IN_SPITE),
    (("completions-ignore-conditions",), TRUSTED, "condition-ignored", IN_SPITE),
    (("properties-unknown",), {}, "properties-refused", "`storageClass`"),
    (("removal-ignored",), {}, "failed", "look for"),
    (
        ("checksums-unknown",),
        {"checksums": "when_supported"},
        "checksum-refused",
        "another value of `bucket.checksums`",
    ),
]


def target_of(s3, **settings) -> Target:
    put = PutAction(enabled=True, metadata=(("by", "é"),), storage_class="STANDARD_IA")
    return Target("site", bucket=real_s3.Endpoint(s3.url).bucket("bucket", **settings), actions=Actions(put=put))


@pytest.mark.parametrize(("quirks", "settings", "code", "text"), PROBED)
async def test_a_probe_that_writes_says_what_will_not_work(quirks, settings, code, text):
    """The probe writes as the target's clients do, names the option that helps, and removes what it wrote."""
    async with quirky_s3(*quirks) as s3, store_at(s3.url, **{"conditional_writes": "tried", **settings}) as store:
        result = await probe(target_of(s3, **settings), store, write=True)
    assert (result.problem and result.problem.code, result.is_up) == (code, code is None)
    assert result.problem is None or text in f"{result.problem.message}; {result.problem.help}"
    assert s3.uploads == {}
    assert not s3.objects or "removal-ignored" in quirks


@pytest.mark.parametrize(
    ("quirk", "noted"),
    [
        ("if-match-ignored", "uploads with If-Match fail: S3 ignores `If-Match` of a PUT"),
        ("etags-bare", "uploads with If-Match fail: 412 PreconditionFailed"),
        ("completions-ignore-conditions", "two large uploads at the same moment can replace each other: S3 ignores"),
    ],
)
async def test_a_probe_notes_what_few_clients_meet(quirk, noted):
    """What fails for clients with If-Match, or for two at once, where all others work."""
    async with quirky_s3(quirk) as s3, store_at(s3.url, conditional_writes="tried") as store:
        result = await probe(target_of(s3), store, write=True)
    assert result.is_up
    assert [note for note in result.notes if note.startswith(noted)]


async def test_a_probe_names_the_permission_of_a_head():
    """The HEAD before a write needs the permission to list."""
    async with quirky_s3("missing-denied") as s3, store_at(s3.url, conditional_writes="headBefore") as store:
        get_off = Actions(get=GetAction(enabled=False), put=PutAction(enabled=True))
        problem = (await probe(replace(target_of(s3), actions=get_off), store, write=True)).problem
    assert problem.help == "grant `s3:ListBucket` on `arn:aws:s3:::bucket`"


@pytest.mark.integration
@pytest.mark.parametrize("server", [real_s3.radosgw, real_s3.versitygw])
@pytest.mark.parametrize("checksums", ["when_required", "when_supported", "md5"])
async def test_a_real_s3_does_all(server, checksums):
    """It heeds all conditions and takes each checksum, also in a bucket with Object Lock, where nothing can be replaced."""
    rule = {"DefaultRetention": {"Mode": "GOVERNANCE", "Days": 1}}
    with server() as endpoint:
        endpoint.client.create_bucket(Bucket="bucket")
        endpoint.client.create_bucket(Bucket="locked", ObjectLockEnabledForBucket=True)
        endpoint.client.put_object_lock_configuration(
            Bucket="locked", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": rule}
        )
        free, locked = (S3Store(endpoint.bucket(each, checksums=checksums), S3Pool(8)) for each in ("bucket", "locked"))
        put = PutAction(enabled=True, metadata=(("by", "é"),))
        target = Target("site", bucket=endpoint.bucket("bucket"), actions=Actions(put=put))
        result = await probe(target, free, within=60, write=True)
        assert (result.problem, result.notes, endpoint.client.list_objects_v2(Bucket="bucket")["KeyCount"]) == (
            None,
            (),
            0,
        )
        for way, write in WAYS.items():
            await write(locked, way, KEPT)
            with pytest.raises((ObjectExists, AccessDenied)):
                await write(locked, way, KEPT)
        await free.close()
        await locked.close()
