"""The way to S3, which both ways of reading, and uploads, share: addresses, trust, proxies, regions."""

import asyncio
import socket
import ssl
import time
from contextlib import suppress
from dataclasses import replace

import pytest
from certificates import pair
from hostile_s3 import hostile_s3, silent_port
from scripted_s3 import Reply, error_reply, object_reply, reply
from stores import async_chunks, read_object, store_at

from tornado_proxy.s3 import limits, loop_reads
from tornado_proxy.s3.client import proxy_of
from tornado_proxy.semantics.conditions import Conditions
from tornado_proxy.storage.errors import Busy, Unreachable, UpstreamError
from tornado_proxy.storage.store import Write

ANY = Conditions()
STORED = reply(200, ETag='"e"')
RESOLVE = socket.getaddrinfo


async def put(store) -> bytes:
    """Writes an object, and returns what a read of it would."""
    assert (await store.put("a", async_chunks(b"x"), Write())).etag == '"e"'
    return b"x"


async def get(store) -> bytes:
    return await read_object(store, "a")


@pytest.fixture(params=["loop", "executor", "upload"])
def way(request):
    """A way to S3: how reads are made, a call, and the answer that it needs."""
    if request.param == "upload":
        return "loop", put, STORED
    return request.param, get, object_reply(b"x")


# Addresses


def named(monkeypatch, *hosts: str) -> None:
    """Gives the name `s3.test` these addresses, in order."""

    def resolve(host, port, *arguments, **options):
        answers = [RESOLVE(each, port, *arguments, **options) for each in (hosts if host == "s3.test" else (host,))]
        return [each for answer in answers for each in answer]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


async def test_a_silent_address_is_passed_over(monkeypatch, way):
    """The next address is tried a moment later, and the one that answered is the first one the next time."""
    reads, call, answer = way
    named(monkeypatch, "127.0.0.2", "127.0.0.1")
    once = replace(answer, data=answer.data.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
    async with hostile_s3(once) as s3, store_at(f"http://s3.test:{s3.port}", reads, force_path_style=True) as store:
        with silent_port("127.0.0.2", s3.port):
            took = []
            for _ in range(2):
                begun = time.monotonic()
                assert await call(store) == b"x"
                took.append(time.monotonic() - begun)
    assert s3.connections_made == 2
    assert took[0] < 10  # the time-out is 20 s
    assert took[1] < took[0]


async def test_an_address_that_refuses_is_passed_over(monkeypatch, way):
    """An S3 may listen at one of its addresses only."""
    reads, call, answer = way
    named(monkeypatch, "127.0.0.2", "127.0.0.1")
    async with hostile_s3(answer) as s3, store_at(f"http://s3.test:{s3.port}", reads, force_path_style=True) as store:
        assert await call(store) == b"x"


async def test_a_name_without_an_address_that_answers_is_unreachable(monkeypatch, way):
    """The reason is that of an address."""
    reads, call, _ = way
    named(monkeypatch, "127.0.0.2", "127.0.0.3")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    async with store_at(f"http://s3.test:{port}", reads, force_path_style=True, max_attempts=1) as store:
        with pytest.raises(Unreachable, match=r"refused|Could not connect"):
            await call(store)


# Trust


@pytest.fixture
def made(tmp_path, monkeypatch):
    """The certificate of an S3 at `localhost`, which nobody vouches for."""
    for variable in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(variable, raising=False)
    found = pair("localhost")
    (tmp_path / "both.pem").write_text(found.chain + found.key)
    (tmp_path / "bundle.pem").write_text(found.chain)
    return tmp_path


def serving(folder) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "both.pem")
    return context


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "caPath"])
async def test_an_authority_can_be_named(monkeypatch, way, made, variable):
    """Whom to trust is named in the environment, or for a bucket; the error says so."""
    reads, call, answer = way
    async with hostile_s3(answer, tls=serving(made)) as s3:
        url = f"https://localhost:{s3.port}"
        async with store_at(url, reads, max_attempts=1) as store:
            with pytest.raises(Unreachable, match=r"certificate.*`bucket\.caPath`.*SSL_CERT_FILE"):
                await call(store)
        settings = {"ca_path": made / "bundle.pem"} if variable == "caPath" else {}
        if variable != "caPath":
            monkeypatch.setenv(variable, str(made / "bundle.pem"))
        async with store_at(url, reads, **settings) as store:
            assert await call(store) == b"x"
        async with store_at(f"https://127.0.0.1:{s3.port}", reads, max_attempts=1, **settings) as store:
            with pytest.raises(Unreachable, match="certificate"):
                await call(store)


async def test_an_s3_without_tls_needs_no_authorities(way, monkeypatch):
    """A bundle that cannot be read fails no call to it."""
    reads, call, answer = way
    monkeypatch.setenv("AWS_CA_BUNDLE", "/nowhere/bundle.pem")
    async with hostile_s3(answer) as s3, store_at(s3.url, reads) as store:
        assert await call(store) == b"x"


async def test_a_renewed_authority_is_trusted(way, made):
    """The bundle is read again when it does not verify S3's certificate, so that no restart is needed."""
    reads, call, answer = way
    bundle = made / "bundle.pem"
    right = bundle.read_text()
    bundle.write_text(pair("before.example").chain)
    async with (
        hostile_s3(answer, tls=serving(made)) as s3,
        store_at(f"https://localhost:{s3.port}", reads, max_attempts=1, ca_path=bundle) as store,
    ):
        with pytest.raises(Unreachable, match="certificate"):
            await call(store)
        bundle.write_text(right)
        assert await call(store) == b"x"


# Proxies


@pytest.mark.parametrize(
    ("host", "no_proxy", "is_used"),
    [
        ("minio.example", "", True),
        ("minio.example", "*", False),
        ("minio.example", "minio.example", False),
        ("minio.example", "MINIO.example", False),
        ("minio.example", "example", False),
        ("minio.example", ".example", False),
        ("minio.example", "*.example", False),
        ("minio.example:9000", "minio.example:9000", False),
        ("minio.example:9000", "minio.example:9001", True),
        ("minio.example", "other, minio.example", False),
        ("minio.example", "other minio.example", False),
        ("minio.example", "inio.example", True),
        ("minio.example", "10.0.0.0/8", True),
        ("10.1.2.3", "10.0.0.0/8", False),
        ("10.1.2.3", "10.1.2.3", False),
        ("10.1.2.3", "10.1.2.3:443", False),
        ("10.1.2.3", "10.1.2.3:80", True),
        ("11.1.2.3", "10.0.0.0/8", True),
        ("[2001:db8::1]", "2001:db8::/32", False),
        ("[2001:db8::1]", "2001:db8::1", False),
        ("[2001:db8::1]", "[2001:db8::1]:443", False),
    ],
)
@pytest.mark.parametrize("case", [str.lower, str.upper])
def test_a_host_may_need_no_proxy(monkeypatch, case, host, no_proxy, is_used):
    """`no_proxy` names hosts, domains, addresses, networks and ports; the variables may be in upper case."""
    monkeypatch.setenv(case("https_proxy"), "proxy.example:3128")
    monkeypatch.setenv(case("no_proxy"), no_proxy)
    assert proxy_of(f"https://{host}/a") == ("http://proxy.example:3128" if is_used else None)


async def test_a_proxy_is_asked(monkeypatch, way):
    """What is for another host goes to the proxy, and what `no_proxy` has to the host itself."""
    reads, call, answer = way
    async with hostile_s3(answer) as s3, hostile_s3(answer) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.0/8")
        for url in ("http://minio.example:9000", s3.url):
            async with store_at(url, reads, force_path_style=True) as store:
                assert await call(store) == b"x"
    assert [each.split(" ")[1] for each in (*proxy.requests, *s3.requests)] == [
        "http://minio.example:9000/bucket/a",
        "/bucket/a",
    ]


# Regions


@pytest.mark.parametrize(
    "answer",
    [
        reply(301, x_amz_bucket_region="eu-west-9"),
        reply(307, x_amz_bucket_region="eu-west-9"),
        reply(301, b"<Error><Code>PermanentRedirect</Code><Region>eu-west-9</Region></Error>"),
        reply(400, b"<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-9</Region></Error>"),
    ],
    ids=["301", "307", "document", "400"],
)
async def test_the_region_of_an_answer_is_used_and_kept(way, answer):
    """A request to a bucket in another region is repeated with this region, as are later ones from the start."""
    reads, call, right = way
    async with hostile_s3(answer, right) as s3, store_at(s3.url, reads) as store:
        for _ in range(2):
            assert await call(store) == b"x"
    signed = [line for each in s3.requests for line in each.splitlines() if line.lower().startswith("authorization")]
    assert [line.split("/")[2] for line in signed] == ["us-east-1", "eu-west-9", "eu-west-9"]


@pytest.mark.parametrize("region", ["", "us-east-1", "x.evil.example/", "A B"])
async def test_a_redirect_without_another_region_is_an_error(way, region):
    """A redirect without a region, to the same or to an invalid one is not followed: a region can become part of a host."""
    reads, call, _ = way
    async with hostile_s3(reply(301, x_amz_bucket_region=region)) as s3, store_at(s3.url, reads) as store:
        with pytest.raises(UpstreamError):
            await call(store)


@pytest.mark.parametrize("status", [301, 307])
async def test_a_redirect_is_not_followed_for_ever(way, status):
    """Two regions that redirect to each other do not cause an endless loop."""
    reads, call, _ = way
    answers = [reply(status, x_amz_bucket_region=region, Location="/bucket/a") for region in ("eu-west-8", "eu-west-9")]

    def alternating(number: int) -> Reply:
        return answers[number % 2]

    async with hostile_s3(alternating) as s3, store_at(s3.url, reads) as store:
        async with asyncio.timeout(20):
            with pytest.raises(UpstreamError):
                await call(store)
    assert len(s3.requests) <= 4


# Retries


async def test_a_storm_is_not_answered_with_more_load(monkeypatch, way):
    """While S3 refuses nearly all, a bucket's retries end; once it answers again, a call that fails alone is repeated."""
    monkeypatch.setattr(limits, "RETRIES", 50)  # ten of them
    monkeypatch.setattr(loop_reads.limits, "READ_PAUSE_IF_THROTTLED", 0.01)
    reads, call, right = way
    is_stormy, slow_down = True, error_reply(503, "SlowDown")

    def answer(number: int) -> Reply:
        return slow_down if is_stormy or number % 10 == 0 else right

    async with hostile_s3(answer) as s3, store_at(s3.url, reads, 16, max_attempts=3) as store:
        storm = await asyncio.gather(*[call(store) for _ in range(20)], return_exceptions=True)
        assert {type(each) for each in storm} == {Busy}
        assert len(s3.requests) == 20 + 10  # without a quota 60
        is_stormy = False
        s3.requests.clear()
        for _ in range(8):
            with suppress(Busy):
                await call(store)
        s3.requests.clear()
        assert [await call(store) for _ in range(20)] == [b"x"] * 20
        assert len(s3.requests) == 23


async def test_reads_and_writes_have_one_quota(monkeypatch):
    """What reads have used up is missing to writes of the bucket, which S3 refuses as well."""
    monkeypatch.setattr(limits, "RETRIES", 10)
    monkeypatch.setattr(loop_reads.limits, "READ_PAUSE_IF_THROTTLED", 0.01)
    async with hostile_s3(error_reply(503, "SlowDown")) as s3, store_at(s3.url, max_attempts=3) as store:
        for call in (get, put):
            with pytest.raises(Busy):
                await call(store)
    assert [each.split(" ")[0] for each in s3.requests] == ["GET"] * 3 + ["PUT"]
