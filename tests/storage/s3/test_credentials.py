from __future__ import annotations

import asyncio
import logging
import threading

import pytest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import CredentialRetrievalError
from hostile_s3 import until

from tornado_proxy.storage.errors import UpstreamError
from tornado_proxy.storage.s3.credentials import KeyPairs
from tornado_proxy.storage.s3.signature import KeyPair


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
    await until(lambda: keys.at_hand().access_key == "key-2")
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
    await until(lambda: bool(chain.asked))
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
        await until(lambda: bool(caplog.records))
    assert "credentials could not be renewed" in caplog.text
    assert (keys.at_hand().access_key, len(chain.asked)) == ("key-1", 2)
    chain.fails = False
    clock.now += 6
    await until(lambda: keys.at_hand().access_key == "key-3")


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
