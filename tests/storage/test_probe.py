"""The operations that a probe tries, and the problem that it reports for each failure."""

import asyncio
import time

import pytest
from fakes import FailingStore
from hostile_s3 import hostile_s3
from memory_store import MemoryStore
from scripted_s3 import Then, error_reply, reply, with_ending
from stores import store_at

from tornado_proxy.config.actions import Actions, DeleteAction, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Target
from tornado_proxy.routing.plan import Browse, Redirect, RedirectToSignedUrl, Refuse, Serve
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.storage.errors import (
    NOT_S3,
    AccessDenied,
    BucketMissing,
    Busy,
    ObjectMissing,
    StorageError,
    TimedOut,
    Unreachable,
    UpstreamError,
)
from tornado_proxy.storage.probe import find_object, look, probe, probe_all

SITE = Target("site", bucket=Bucket("my-bucket", prefix="www/"))
WRITABLE = Target("site", bucket=Bucket("my-bucket"), actions=Actions(put=PutAction(enabled=True)))
EMPTY = reply(200, b"<ListBucketResult></ListBucketResult>")


def _with_code(error: StorageError, code: str) -> StorageError:
    error.code = code
    return error


class _FrozenStore(MemoryStore):
    """A store that never answers."""

    async def list(self, *_arguments):
        """Never returns."""
        await asyncio.Event().wait()

    async def head(self, *_arguments):
        """Never returns."""
        await asyncio.Event().wait()


async def test_an_upload_only_target_is_not_read():
    """A probe does not try to read if the target has no GET."""
    actions = Actions(get=GetAction(enabled=False), put=PutAction(enabled=True))
    result = await probe(Target("drop", bucket=Bucket("b"), actions=actions), MemoryStore())
    assert result.granted == ("s3:ListBucket",)


@pytest.mark.parametrize("actions", [Actions(put=PutAction(enabled=True)), Actions(delete=DeleteAction(enabled=True))])
async def test_a_probe_that_writes_removes_its_object(actions):
    """A probe with `write` tries to store and remove an object, and leaves no object behind."""
    store = MemoryStore()
    result = await probe(Target("site", bucket=Bucket("b"), actions=actions), store, write=True)
    assert result.granted[2:] == ("s3:PutObject", "s3:DeleteObject")
    assert store.keys() == ()


async def test_a_read_only_target_is_never_written_to():
    """A probe with `write` does not write if the target has no PUT and no DELETE, which needs no such permission."""
    result = await probe(SITE, FailingStore(put=AssertionError(), remove=AssertionError()), write=True)
    assert result.granted == ("s3:ListBucket", "s3:GetObject")


@pytest.mark.parametrize(
    ("operation", "action", "resource"),
    [
        ("list", "s3:ListBucket", "arn:aws:s3:::my-bucket"),
        ("head", "s3:GetObject", "arn:aws:s3:::my-bucket/*"),
        ("put", "s3:PutObject", "arn:aws:s3:::my-bucket/*"),
        ("remove", "s3:DeleteObject", "arn:aws:s3:::my-bucket/*"),
    ],
)
async def test_a_missing_permission_is_named(operation, action, resource):
    """The help names the permission to grant and the ARN to grant it on."""
    denied = FailingStore(**{operation: _with_code(AccessDenied("ListObjectsV2: 403"), "AccessDenied")})
    problem = (await probe(WRITABLE, denied, write=True)).problem
    assert (problem.code, problem.message) == ("access-denied", f"`{action}` is not permitted")
    assert problem.help == f"grant `{action}` on `{resource}`"


ACCESS_POINT = "arn:aws:s3:eu-west-1:123456789012:accesspoint/files"


@pytest.mark.parametrize(
    ("bucket", "objects"),
    [
        (Bucket("my-bucket", prefix="www/"), "arn:aws:s3:::my-bucket/www/*"),
        (Bucket(ACCESS_POINT), f"{ACCESS_POINT}/object/*"),
    ],
)
async def test_a_permission_is_needed_on_the_objects_of_the_target_only(bucket, objects):
    """The ARN in the help has the prefix, and that of an access point `object/` (IAM, "Access points policies")."""
    denied = FailingStore(head=_with_code(AccessDenied("HeadObject: 403"), "403"))
    problem = (await probe(Target("site", bucket=bucket), denied)).problem
    assert problem.help == f"grant `s3:GetObject` on `{objects}`"


@pytest.mark.parametrize(
    "get", [GetAction(disable_listing=True), GetAction(enabled=False)], ids=["disableListing", "no GET"]
)
async def test_a_target_without_listings_does_not_need_to_list(get):
    """The bucket is up without s3:ListBucket if the target has no listings, and the result does not name it as granted."""
    denied = FailingStore(list=_with_code(AccessDenied("ListObjectsV2: 403"), "AccessDenied"))
    result = await probe(Target("site", bucket=Bucket("b"), actions=Actions(get=get)), denied)
    assert result.is_up
    assert "s3:ListBucket" not in result.granted


async def test_a_bucket_that_can_be_read_but_not_listed_is_up():
    """Without s3:ListBucket, S3 also answers 403 for a missing object, so that a 403 proves nothing (API, GetObject)."""
    denied = _with_code(AccessDenied("x: 403"), "AccessDenied")
    target = Target("site", bucket=Bucket("b"), actions=Actions(get=GetAction(disable_listing=True)))
    result = await probe(target, FailingStore(list=denied, head=_with_code(AccessDenied("x: 403"), "403")))
    assert (result.is_up, result.granted) == (True, ())


async def test_bad_credentials_are_reported_if_listing_is_not_needed():
    """An invalid access key is a problem even if the target has no listings."""
    denied = FailingStore(list=_with_code(AccessDenied("ListObjectsV2: 403"), "InvalidAccessKeyId"))
    target = Target("site", bucket=Bucket("b"), actions=Actions(get=GetAction(disable_listing=True)))
    assert (await probe(target, denied)).problem.code == "bad-credentials"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BucketMissing("x: 404"), "no-bucket", "there is no bucket `my-bucket`"),
        (ObjectMissing("x: 404"), "no-bucket", "there is no bucket `my-bucket`"),
        (Unreachable("x: no connection to s3:443: refused"), "unreachable", "no connection to s3:443: refused"),
        (TimedOut("S3 did not answer within 5 s"), "timed-out", "S3 did not answer within 5 s"),
        (Busy("x: 503 SlowDown: wait"), "busy", "503 SlowDown: wait"),
        (UpstreamError(f"x: {NOT_S3}: the document is a `html`"), "not-s3", NOT_S3),
        (UpstreamError("x: 500 InternalError: no"), "failed", "s3:ListBucket: 500 InternalError: no"),
    ],
)
async def test_each_failure_has_a_code_and_a_message(error, code, message):
    """Each error of a store leads to a problem with a code, a message and a help."""
    problem = (await probe(SITE, FailingStore(list=error))).problem
    assert (problem.code, problem.message) == (code, message)
    assert problem.help


@pytest.mark.parametrize(
    ("bucket", "advises"),
    [
        (Bucket("my-bucket", s3_endpoint="http://minio:9000"), True),
        (Bucket("my-bucket", s3_endpoint="http://minio:9000", force_path_style=True), False),
        (Bucket("my-bucket"), False),
    ],
)
async def test_the_help_of_an_unreachable_bucket_may_be_its_host(bucket, advises):
    """Few S3s other than AWS have a host name for each bucket."""
    store = FailingStore(list=Unreachable("x: no connection to my-bucket.minio:9000: Name or service not known"))
    problem = (await probe(Target("site", bucket=bucket), store)).problem
    assert ("`bucket.s3ForcePathStyle: true`" in problem.help) is advises


async def test_a_frozen_bucket_is_not_waited_for():
    """A probe of a store that never answers ends in time with `timed-out`."""
    began = time.monotonic()
    result = await probe(SITE, _FrozenStore(), within=0.05)
    assert (result.problem.code, result.problem.message) == ("timed-out", "S3 did not answer within 0.05 s")
    assert time.monotonic() - began < 5


async def test_buckets_are_probed_concurrently():
    """Eight frozen buckets take less time than one after another, and the results keep the order."""
    began = time.monotonic()
    results = await probe_all([(Target(str(number), bucket=Bucket("b")), _FrozenStore()) for number in range(8)], 0.3)
    assert [result.target for result in results] == list("01234567")
    assert time.monotonic() - began < 8 * 0.3


@pytest.mark.parametrize("reads", ["loop", "executor"])
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (error_reply(404, "NoSuchBucket"), "no-bucket"),
        (error_reply(403, "AccessDenied"), "access-denied"),
        (error_reply(403, "InvalidAccessKeyId"), "bad-credentials"),
        (error_reply(403, "SignatureDoesNotMatch"), "bad-credentials"),
        (error_reply(400, "IllegalLocationConstraintException"), "wrong-region"),
        (with_ending(EMPTY, Then.CLOSE, after=0), "unreachable"),
        (error_reply(503, "SlowDown"), "busy"),
    ],
)
async def test_answers_of_s3_have_the_same_problem_in_both_ways_of_reading(answer, code, reads):
    """An answer of S3 leads to the same problem, whether the loop or boto3 reads it."""
    async with hostile_s3(answer) as s3, store_at(s3.url, reads, max_attempts=1) as store:
        result = await probe(Target("site", bucket=Bucket("bucket")), store)
    assert result.problem.code == code


async def test_no_secret_is_shown():
    """The result of a probe has neither the access key nor the secret key."""
    async with hostile_s3(error_reply(403, "SignatureDoesNotMatch")) as s3, store_at(s3.url, max_attempts=1) as store:
        text = repr(await probe(Target("site", bucket=Bucket("bucket")), store))
    assert "access" not in text.replace("access key", "")
    assert "`secret`" not in text


@pytest.mark.parametrize("reads", ["loop", "executor"])
async def test_missing_credentials_are_named(reads, monkeypatch, tmp_path):
    """A probe reports `no-credentials` if boto3 finds no credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    async with hostile_s3(EMPTY) as s3, store_at(s3.url, reads, credentials=None) as store:
        problem = (await probe(SITE, store)).problem
    assert (problem.code, problem.message) == ("no-credentials", "no credentials were found")


async def test_an_object_exists_or_not():
    """A HEAD tells."""
    store = MemoryStore({"a": b""})
    assert [await find_object(Bucket("b"), store, key, 5) for key in ("a", "c")] == [True, False]


@pytest.mark.parametrize(
    ("error", "code"),
    [(AccessDenied("x"), "access-denied"), (Unreachable("x"), "unreachable"), (Busy("x"), "busy"), (None, "timed-out")],
)
async def test_a_bucket_that_does_not_say_is_a_problem(error, code):
    """Nothing is known about the object."""
    store = FailingStore(head=error) if error else _FrozenStore()
    problem = await find_object(Bucket("b"), store, "a", 0.01)
    assert problem.code == code


async def test_a_refusal_may_be_that_of_a_missing_object():
    """S3 needs the permission to list for a 404."""
    problem = await find_object(Bucket("b"), FailingStore(head=AccessDenied("x")), "a", 5)
    assert (
        problem.message == "`s3:GetObject` is not permitted, which S3 also says of missing keys without `s3:ListBucket`"
    )


KEY, MISSING, DIRECTORY = ObjectKey("d/a.txt"), ObjectKey("d/b.txt"), ObjectKey("d/")
NOTHING = Refuse(404, "no object at this key")


@pytest.fixture
def store():
    """A store with one object."""
    return MemoryStore({KEY: b"text"})


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ((Serve(KEY), NOTHING), Serve(KEY)),
        ((Serve(MISSING), NOTHING), NOTHING),
        ((Serve(MISSING), Browse(DIRECTORY), NOTHING), Browse(DIRECTORY)),
        ((Browse(ObjectKey("e/")), NOTHING), NOTHING),
        ((Browse(ObjectKey("e/"), root=True), NOTHING), Browse(ObjectKey("e/"), root=True)),
        ((Redirect("/d/", DIRECTORY), NOTHING), Redirect("/d/", DIRECTORY)),
        ((Redirect("/e/", ObjectKey("e/")), NOTHING), NOTHING),
        ((Redirect("/e/"), NOTHING), Redirect("/e/")),
        ((RedirectToSignedUrl(KEY, 60), NOTHING), RedirectToSignedUrl(KEY, 60)),
        ((), None),
    ],
)
async def test_the_first_attempt_that_applies_is_found(store, attempts, expected):
    """Attempts that find nothing hand over to the next."""
    assert (await look(store, attempts)).attempt == expected


async def test_the_object_is_described(store):
    """The outlook has the headers of the object that would be served."""
    assert (await look(store, (Serve(KEY),))).info.size == 4


async def test_a_denial_is_an_answer_if_no_file_is_found():
    """Of several files, one that S3 denies may be missing."""
    store = FailingStore(head=AccessDenied("denied"))
    for attempts in ((Serve(KEY), NOTHING), (Serve(KEY), Serve(MISSING), NOTHING)):
        assert (await look(store, attempts)).error == "403 Forbidden: denied"


async def test_a_failure_is_an_answer():
    """A bucket that cannot be reached is reported with its status."""
    store = FailingStore(head=Unreachable("S3 cannot be reached"))
    assert (await look(store, (Serve(KEY),))).error == "502 Bad Gateway: S3 cannot be reached"
