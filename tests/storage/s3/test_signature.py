from __future__ import annotations

import asyncio
import logging
import string
import threading
from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError
from hostile_s3 import wait_until
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.signature import KeyPair, KeyPairs, Scope, encode_path, encode_query, sign

# Of the S3 API, "Signature Calculations for the Authorization Header: Transferring Payload in a Single Chunk".
EXAMPLE = KeyPair("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
EXAMPLE_DATE = datetime(2013, 5, 24, tzinfo=UTC).timestamp()
EXAMPLE_HOST = ("host", "examplebucket.s3.amazonaws.com")

NAMES = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=12).map("x-{}".format)
VALUES = st.text(string.ascii_letters + string.digits + string.punctuation + " \t", max_size=30)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TOKENS = st.none() | st.text(string.ascii_letters + string.digits + "+/=", min_size=1)


def signature(headers) -> str:
    return dict(headers)["authorization"].rpartition("Signature=")[2]


@pytest.mark.parametrize(
    ("path", "query", "headers", "expected"),
    [
        ("/test.txt", {}, [("range", "bytes=0-9")], "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"),
        ("/", {"lifecycle": ""}, [], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"),
        ("/", {"max-keys": "2", "prefix": "J"}, [], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"),
    ],
)
def test_the_published_examples_are_signed_alike(path, query, headers, expected):
    """The examples of the S3 API have the signatures that are printed there."""
    request = ("GET", path, encode_query(query))
    assert signature(sign(request, (EXAMPLE_HOST, *headers), Scope("us-east-1"), EXAMPLE, EXAMPLE_DATE)) == expected


class _At(S3SigV4Auth):
    """botocore's signer at a moment, for which it has no parameter of its own."""

    def __init__(self, moment: float, *arguments: object) -> None:
        super().__init__(*arguments)
        self._moment = moment

    def add_auth(self, request: AWSRequest) -> None:
        """Sign."""
        request.context["timestamp"] = datetime.fromtimestamp(self._moment, UTC).strftime("%Y%m%dT%H%M%SZ")
        self._modify_request_before_signing(request)
        canonical = self.canonical_request(request)
        self._inject_signature_to_request(request, self.signature(self.string_to_sign(request, canonical), request))

    def _set_necessary_date_headers(self, request: AWSRequest) -> None:
        request.headers["X-Amz-Date"] = request.context["timestamp"]


@given(
    key=TEXTS,
    query=st.dictionaries(TEXTS, TEXTS, max_size=4),
    headers=st.dictionaries(NAMES, VALUES, max_size=4),
    pair=st.builds(KeyPair, TEXTS.filter(bool), TEXTS, TOKENS),
    moment=st.integers(0, 4_000_000_000),
)
def test_requests_are_signed_as_botocore_signs_them(key, query, headers, pair, moment):
    """For any key, query, headers and session token, the signature is botocore's."""
    path, text = encode_path(f"/bucket/{key}"), encode_query(query)
    signed = sign(("GET", path, text), (("host", "s3.example"), *headers.items()), Scope("r-1"), pair, moment)
    request = AWSRequest("GET", f"http://s3.example{path}?{text}", headers=headers)
    request.context["payload_signing_enabled"] = True
    _At(moment, Credentials(pair.access_key, pair.secret_key, pair.session_token), "s3", "r-1").add_auth(request)
    assert dict(signed)["authorization"] == request.headers["Authorization"]


@given(TEXTS)
def test_no_line_break_survives(text):
    """Whatever a header holds, it stays one line."""
    signed = sign(("GET", "/", ""), (("host", "a"), ("if-match", f"a\r\n{text}")), Scope("r"), EXAMPLE, 0)
    assert not any("\n" in value or "\r" in value for _, value in signed)


def test_a_key_pair_is_not_shown():
    """A pair's `repr`, which a traceback may hold, has no secret in it."""
    assert repr(EXAMPLE) == "<KeyPair>"


class Chain(Credentials):
    """Credentials that number their pairs, and fail or wait where they are told to."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.asked: list[threading.Thread] = []
        self.fails = False
        self.gate = threading.Event()
        self.gate.set()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """The next pair."""
        self.asked.append(threading.current_thread())
        assert self.gate.wait(10)
        if self.fails:
            raise CredentialRetrievalError(provider="chain", error_msg="gone")
        return ReadOnlyCredentials(f"key-{len(self.asked)}", "secret", "token")


class Clock:
    """A time that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def chain():
    return Chain()


@pytest.fixture
def clock():
    return Clock()


async def test_a_pair_is_asked_for_in_a_thread_and_kept(chain, clock):
    """The first request waits for boto3, in a thread; those of the next minute have the pair at hand."""
    keys = KeyPairs(chain, clock)
    assert keys.at_hand() is None
    assert await keys.ask() == KeyPair("key-1", "secret", "token")
    clock.now += 59
    assert (keys.at_hand().access_key, len(chain.asked)) == ("key-1", 1)
    assert chain.asked[0] is not threading.current_thread()


async def test_a_pair_is_renewed_while_it_is_used(chain, clock):
    """After a minute boto3 is asked once, and no request waits for it."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 61
    chain.gate.clear()
    assert [keys.at_hand().access_key for _ in range(3)] == ["key-1"] * 3
    chain.gate.set()
    await wait_until(lambda: keys.at_hand().access_key == "key-2")
    assert len(chain.asked) == 2


async def test_a_pair_of_long_ago_is_not_used(chain, clock):
    """After a pause boto3 is asked before anything is signed."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 301
    assert keys.at_hand() is None
    assert (await keys.ask()).access_key == "key-2"


async def test_all_wait_for_one_answer(chain, clock):
    """However many requests come first, boto3 is asked once; one that goes away takes nothing from the others."""
    keys = KeyPairs(chain, clock)
    chain.gate.clear()
    tasks = [asyncio.ensure_future(keys.ask()) for _ in range(5)]
    await wait_until(lambda: bool(chain.asked))
    tasks[0].cancel()
    chain.gate.set()
    results = await asyncio.gather(*tasks[1:])
    assert ({pair.access_key for pair in results}, len(chain.asked)) == ({"key-1"}, 1)


async def test_credentials_that_are_not_found_are_an_error(chain, clock):
    """Whoever waits is told; the next request asks again."""
    keys = KeyPairs(chain, clock)
    chain.fails = True
    with pytest.raises(UpstreamError, match="credentials"):
        await keys.ask()
    chain.fails = False
    assert (await keys.ask()).access_key == "key-2"


async def test_a_renewal_that_fails_leaves_the_pair(chain, clock, caplog):
    """Requests go on with the pair there is, the log says why, and boto3 is asked again a few seconds later."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 61
    chain.fails = True
    with caplog.at_level(logging.WARNING):
        keys.at_hand()
        await wait_until(lambda: bool(caplog.records))
    assert "credentials could not be renewed" in caplog.text
    assert (keys.at_hand().access_key, len(chain.asked)) == ("key-1", 2)
    chain.fails = False
    clock.now += 6
    await wait_until(lambda: keys.at_hand().access_key == "key-3")


async def test_a_pair_that_has_expired_is_asked_for_again(chain, clock):
    """A pair that S3 calls expired is not used again unasked."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    keys.distrust()
    assert keys.at_hand() is None


async def test_keys_are_not_shown(chain):
    """The `repr` has no secret in it."""
    keys = KeyPairs(chain)
    await keys.ask()
    assert repr(keys) == "<KeyPairs>"
