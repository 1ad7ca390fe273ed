"""Fetches the key pair that signs requests on the loop; in a thread, because boto3's chain may use the network."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from math import inf

from botocore.credentials import Credentials

from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.signature import KeyPair

_LOG = logging.getLogger(__name__)

# boto3 renews what expires 15 minutes ahead, whenever it is asked: so it is asked each minute in which there are
# requests, and a pair of five minutes ago is still good while it is.
_ASK_AFTER = 60.0
_GOOD_FOR = 300.0

_AGAIN_AFTER_FAILURE = 5.0


class KeyPairs:
    """Fetches the access key pair of boto3's credentials, kept for a while and renewed while it is still in use."""

    def __init__(self, credentials: Credentials, clock: Callable[[], float] = time.monotonic) -> None:
        self._credentials = credentials
        self._clock = clock
        self._pair: KeyPair | None = None
        self._ask_at = -inf
        self._good_until = -inf
        self._asking: asyncio.Task[KeyPair] | None = None

    def __repr__(self) -> str:
        return "<KeyPairs>"

    def at_hand(self) -> KeyPair | None:
        """The pair to sign with now; None where `ask` has to be awaited."""
        now = self._clock()
        if now >= self._good_until:
            return None
        if now >= self._ask_at:
            self._begin_to_ask().add_done_callback(_log_failure)
        return self._pair

    async def ask(self) -> KeyPair:
        """The pair that boto3 has now; all who wait wait for one answer. Raises `StorageError` where it has not one."""
        # One that goes away does not take the answer from the others.
        return await asyncio.shield(self._begin_to_ask())

    def distrust(self) -> None:
        """Ask again before the next request: S3 says that the pair has expired."""
        self._good_until = -inf

    def _begin_to_ask(self) -> asyncio.Task[KeyPair]:
        if self._asking is None or self._asking.done():
            self._ask_at = self._clock() + _AGAIN_AFTER_FAILURE
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        return self._asking

    async def _ask(self) -> KeyPair:
        with translated("credentials"):
            found = await asyncio.to_thread(self._credentials.get_frozen_credentials)
        self._pair = KeyPair(found.access_key or "", found.secret_key or "", found.token)
        now = self._clock()
        self._ask_at, self._good_until = now + _ASK_AFTER, now + _GOOD_FOR
        return self._pair


def _log_failure(asking: asyncio.Task[KeyPair]) -> None:
    """Log what went wrong where nobody awaits it: the pair of before is still used."""
    error = None if asking.cancelled() else asking.exception()
    if isinstance(error, StorageError):
        _LOG.warning("credentials could not be renewed: %s", error)
