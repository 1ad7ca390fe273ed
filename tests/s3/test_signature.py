import asyncio
import logging
import re
import string
import threading
from datetime import UTC, datetime

import pytest
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError
from fakes import Clock
from hostile_s3 import wait_until
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.s3.signature import KeyPair, KeyPairs, Scope, encode_path, encode_query, sign
from tornado_proxy.storage.errors import UpstreamError

PAIR = KeyPair("access", "secret")

NAMES = st.text(string.ascii_lowercase + string.digits + "-", min_size=1, max_size=12).map("x-{}".format)
VALUES = st.text(string.ascii_letters + string.digits + string.punctuation + " \t", max_size=30)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TOKENS = st.none() | st.text(string.ascii_letters + string.digits + "+/=", min_size=1)


def authorization(lines: str) -> str:
    return lines.partition("\r\nauthorization: ")[2].removesuffix("\r\n")


class _SignerAt(S3SigV4Auth):
    """A signer of botocore with a fixed time, for which botocore has no parameter."""

    def __init__(self, moment: float, *arguments: object) -> None:
        super().__init__(*arguments)
        self._moment = moment

    def add_auth(self, request: AWSRequest) -> None:
        """Signs a request."""
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
def test_signatures_are_those_of_botocore(key, query, headers, pair, moment):
    """A request with any key, query, headers and session token has the signature of botocore."""
    path, text = encode_path(f"/bucket/{key}"), encode_query(query)
    signed = sign(("GET", path, text), (("host", "s3.example"), *headers.items()), Scope("r-1"), pair, moment)
    request = AWSRequest("GET", f"http://s3.example{path}?{text}", headers=headers)
    request.context["payload_signing_enabled"] = True
    _SignerAt(moment, Credentials(pair.access_key, pair.secret_key, pair.session_token), "s3", "r-1").add_auth(request)
    assert authorization(signed) == request.headers["Authorization"]


@given(TEXTS)
def test_a_header_has_no_line_break(text):
    """Line breaks in the value of a header are removed or replaced."""
    signed = sign(("GET", "/", ""), (("host", "a"), ("if-match", f"a\r\n{text}")), Scope("r"), PAIR, 0)
    names = [line.partition(":")[0] for line in re.split("[\r\n]+", signed.removesuffix("\r\n"))]
    assert names == ["host", "if-match", "x-amz-content-sha256", "x-amz-date", "authorization"]


def test_the_repr_of_a_key_pair_has_no_secret():
    """The `repr` of a key pair, which a traceback can contain, has no secret."""
    assert repr(PAIR) == "<KeyPair>"


class ProviderChain(Credentials):
    """A provider chain that numbers its key pairs, waits until `gate` is set, and fails if `fails` is set."""

    def __init__(self) -> None:
        super().__init__("", "")
        self.threads: list[threading.Thread] = []
        self.fails = False
        self.gate = threading.Event()
        self.gate.set()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Returns the next key pair, or raises."""
        self.threads.append(threading.current_thread())
        assert self.gate.wait(10)
        if self.fails:
            raise CredentialRetrievalError(provider="chain", error_msg="gone")
        return ReadOnlyCredentials(f"key-{len(self.threads)}", "secret", "token")


@pytest.fixture
def chain():
    return ProviderChain()


@pytest.fixture
def clock():
    return Clock()


async def test_a_pair_is_resolved_in_a_thread_and_kept(chain, clock):
    """The first request waits for boto3 in a thread; requests in the next minute use the same pair."""
    keys = KeyPairs(chain, clock)
    assert keys.at_hand() is None
    assert await keys.ask() == KeyPair("key-1", "secret", "token")
    clock.now += 59
    assert (keys.at_hand().access_key, len(chain.threads)) == ("key-1", 1)
    assert chain.threads[0] is not threading.current_thread()


async def test_a_pair_is_renewed_while_it_is_used(chain, clock):
    """After a minute, boto3 renews the pair once, and no request waits for that."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 61
    chain.gate.clear()
    assert [keys.at_hand().access_key for _ in range(3)] == ["key-1"] * 3
    chain.gate.set()
    await wait_until(lambda: keys.at_hand().access_key == "key-2")
    assert len(chain.threads) == 2


async def test_an_old_pair_is_not_used(chain, clock):
    """After five minutes without requests, the next request waits for a new pair."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 301
    assert keys.at_hand() is None
    assert (await keys.ask()).access_key == "key-2"


async def test_concurrent_requests_share_one_resolution(chain, clock):
    """Concurrent requests wait for one resolution of the pair, even if one of them is cancelled."""
    keys = KeyPairs(chain, clock)
    chain.gate.clear()
    tasks = [asyncio.ensure_future(keys.ask()) for _ in range(5)]
    await wait_until(lambda: bool(chain.threads))
    tasks[0].cancel()
    chain.gate.set()
    results = await asyncio.gather(*tasks[1:])
    assert ({pair.access_key for pair in results}, len(chain.threads)) == ({"key-1"}, 1)


async def test_missing_credentials_are_an_error(chain, clock):
    """A failed resolution raises an error, and the next request tries again."""
    keys = KeyPairs(chain, clock)
    chain.fails = True
    with pytest.raises(UpstreamError, match="credentials"):
        await keys.ask()
    chain.fails = False
    assert (await keys.ask()).access_key == "key-2"


async def test_a_failed_renewal_keeps_the_pair(chain, clock, caplog):
    """After a failed renewal, which is logged, requests use the old pair, and boto3 tries again seconds later."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    clock.now += 61
    chain.fails = True
    with caplog.at_level(logging.WARNING):
        keys.at_hand()
        await wait_until(lambda: bool(caplog.records))
    assert "credentials could not be renewed" in caplog.text
    assert (keys.at_hand().access_key, len(chain.threads)) == ("key-1", 2)
    chain.fails = False
    clock.now += 6
    await wait_until(lambda: keys.at_hand().access_key == "key-3")


async def test_an_expired_pair_is_not_used(chain, clock):
    """A pair that S3 has refused as expired is not used again."""
    keys = KeyPairs(chain, clock)
    await keys.ask()
    keys.distrust()
    assert keys.at_hand() is None
