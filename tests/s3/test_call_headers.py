import json
from base64 import b64decode
from urllib.parse import parse_qs, urlsplit

from scripted_s3 import BEGUN, COMPLETED, STORED, object_reply, reply
from stores import async_chunks, read_object, scripted_store, store_at

from tornado_proxy.config.model import Bucket, CallHeaders
from tornado_proxy.s3.client import addressing_style
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.store import Write

MIB = 1024**2
LISTING = reply(200, b"<ListBucketResult><Contents><Key>a/b</Key></Contents></ListBucketResult>")
HEADERS = CallHeaders(
    list_headers=(("x-kind", "list"),),
    get_headers=(("x-kind", "get"), ("x-amz-request-payer", "requester")),
    put_headers=(
        ("x-kind", "put"),
        ("content-type", "text/css"),
        ("x-amz-meta-by", "ann"),
        ("x-amz-request-payer", "requester"),
        ("x-amz-server-side-encryption", "AES256"),
    ),
    delete_headers=(("x-kind", "delete"),),
)
ENCRYPTION = "x-amz-server-side-encryption"


def signed(s3, number):
    """The names of the headers that the signature of a request covers."""
    return s3.header(number, "authorization").partition("SignedHeaders=")[2].partition(",")[0].split(";")


async def test_reads_have_the_configured_headers(reads):
    """GET, HEAD and listings have the headers of their kind, which the signature covers."""
    head = object_reply(b"", Content_Length="1")
    async with scripted_store(object_reply(b"x"), head, LISTING, reads=reads, request_config=HEADERS) as (s3, store):
        await read_object(store, "a")
        await store.head("a", Conditions())
        await store.list("a/")
    assert [s3.header(number, "x-kind") for number in range(3)] == ["get", "get", "list"]
    payers = [s3.header(number, "x-amz-request-payer") for number in range(3)]
    assert payers == ["requester", "requester", None]
    assert "x-amz-request-payer" in signed(s3, 0)


async def test_writes_have_the_configured_headers():
    """PUT and DELETE have the headers of their kind, which replace those of the upload's options."""
    async with scripted_store(reply(200, ETag='"1"'), reply(204), request_config=HEADERS) as (s3, store):
        await store.put("a", async_chunks(b"x"), Write("text/plain"))
        await store.remove("a")
    assert [s3.header(number, "x-kind") for number in range(2)] == ["put", "delete"]
    assert [line for line in s3.requests[0].lower().splitlines() if line.startswith("content-type")] == [
        "content-type: text/css"
    ]
    assert {"x-amz-request-payer", ENCRYPTION} <= {*signed(s3, 0)}


async def test_each_call_of_an_upload_has_the_headers_that_it_may_have():
    """What describes the object is sent when an upload in parts begins, and the rest with each of its calls."""
    async with scripted_store(BEGUN, STORED, STORED, COMPLETED, request_config=HEADERS, part_size=5 * MIB) as (
        s3,
        store,
    ):
        await store.put("a", async_chunks(b"x" * 6 * MIB), Write())
    assert [s3.header(number, "x-kind") for number in range(4)] == ["put"] * 4
    assert [s3.header(number, "x-amz-request-payer") for number in range(4)] == ["requester"] * 4
    assert [s3.header(number, ENCRYPTION) for number in range(4)] == ["AES256", None, None, None]
    assert [s3.header(number, "x-amz-meta-by") for number in range(4)] == ["ann", None, None, None]


async def test_a_signed_url_has_the_headers_of_s3():
    """A browser sends no header of S3, so those of GET are in the URL."""
    async with store_at("http://127.0.0.1:9", request_config=HEADERS) as store:
        query = parse_qs(urlsplit(await store.presign("a", 60)).query)
    assert (query["x-amz-request-payer"], query["X-Amz-SignedHeaders"]) == (["requester"], ["host"])
    assert "x-kind" not in query


async def test_a_form_has_the_headers_of_s3():
    """The form of a direct upload has the headers of S3 for uploads as fields."""
    async with store_at("http://127.0.0.1:9", request_config=HEADERS) as store:
        fields = (await store.presign_upload("a", Write(max_size=1), 60)).fields
    assert (fields["x-amz-request-payer"], fields[ENCRYPTION], "x-kind" in fields) == ("requester", "AES256", False)


async def test_a_bucket_of_a_tenant_is_read_and_written():
    """The name of the tenant is part of the path; it cannot be part of a host."""
    async with scripted_store(object_reply(b"x"), reply(200, ETag='"1"'), name="tenant:bucket") as (s3, store):
        await read_object(store, "a")
        await store.put("a", async_chunks(b"x"), Write())
        form = await store.presign_upload("a", Write(max_size=1), 60)
    assert [request.split()[:2] for request in s3.requests] == [
        ["GET", "/tenant%3Abucket/a"],
        ["PUT", "/tenant%3Abucket/a"],
    ]
    assert form.url == f"{s3.url}/tenant%3Abucket"
    assert {"bucket": "bucket"} in json.loads(b64decode(form.fields["policy"]))["conditions"]
    assert addressing_style(Bucket("tenant:bucket", s3_endpoint="https://s3.example.org")) == "path"
