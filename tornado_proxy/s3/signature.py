"""Signature Version 4 for requests without a body, and the key pairs for it.

S3 API, "Authenticating Requests: Using the Authorization Header".

The signing key is a chain of HMACs over day, region and service, and is cached for the day. Everything that depends
only on the time and the headers is cached for the second. Two hashes for each request remain.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from hmac import HMAC, digest
from math import inf
from typing import NamedTuple
from urllib.parse import quote

import msgspec
from botocore.credentials import Credentials

from tornado_proxy.s3 import limits
from tornado_proxy.s3.failures import translated
from tornado_proxy.storage.errors import StorageError
from tornado_proxy.wire.shares import in_own_thread

_LOG = logging.getLogger(__name__)

EMPTY_BODY = sha256(b"").hexdigest()
"""The hash of the body of each GET and HEAD."""


class KeyPair(msgspec.Struct, frozen=True):
    """An access key pair with an optional session token; never shown."""

    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return "<KeyPair>"


class Scope(msgspec.Struct, frozen=True):
    """The scope of a signature."""

    region: str
    service: str = "s3"


def encode_path(path: str) -> str:
    """Percent-encodes a path as S3 expects it: RFC 3986's unreserved characters and `/` remain."""
    return quote(path, safe="/")


def encode_query(parameters: Mapping[str, str]) -> str:
    """Returns a query in canonical form: encoded, and sorted by encoded name."""
    pairs = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in parameters.items())
    return "&".join([f"{name}={value}" for name, value in pairs])


class _Prepared(NamedTuple):
    """The values that all requests of a second with the same headers share."""

    lines: str  # the headers, up to the signature
    canonical: str  # the canonical request after method, path and query
    to_sign: str  # the string to sign, up to the hash of the canonical request
    key: HMAC


def header_lines(headers: Iterable[tuple[str, str]]) -> str:
    """Returns headers as the lines of a request."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


def sign(
    request: tuple[str, str, str], headers: tuple[tuple[str, str], ...], scope: Scope, pair: KeyPair, now: float
) -> str:
    """Returns the header lines of a signed request; the signature covers all of them.

    `request` is the method, the encoded path and the encoded query. `headers` have lower-case names and include `host`.
    `now` is the Unix time in seconds.
    """
    prepared = _prepared(headers, scope, pair, int(now))
    method, path, query = request
    canonical = f"{method}\n{path}\n{query}\n{prepared.canonical}"
    signature = prepared.key.copy()
    signature.update(f"{prepared.to_sign}{sha256(canonical.encode()).hexdigest()}".encode())
    return f"{prepared.lines}{signature.hexdigest()}\r\n"


@lru_cache(limits.SIGNED_HEADS_KEPT)
def _prepared(headers: tuple[tuple[str, str], ...], scope: Scope, pair: KeyPair, second: int) -> _Prepared:
    moment = datetime.fromtimestamp(second, UTC).strftime("%Y%m%dT%H%M%SZ")
    signed = [(name, " ".join(value.split())) for name, value in headers]
    signed += (("x-amz-content-sha256", EMPTY_BODY), ("x-amz-date", moment))
    if pair.session_token:
        signed.append(("x-amz-security-token", pair.session_token))
    signed.sort()
    names = ";".join([name for name, _ in signed])
    lines = "".join([f"{name}:{value}\n" for name, value in signed])
    credential = f"{moment[:8]}/{scope.region}/{scope.service}/aws4_request"
    authorization = f"AWS4-HMAC-SHA256 Credential={pair.access_key}/{credential}, SignedHeaders={names}, Signature="
    key = f"AWS4{pair.secret_key}".encode()
    for part in credential.split("/"):
        key = digest(key, part.encode(), "sha256")
    return _Prepared(
        f"{header_lines(signed)}authorization: {authorization}",
        f"{lines}\n{names}\n{EMPTY_BODY}",
        f"AWS4-HMAC-SHA256\n{moment}\n{credential}\n",
        HMAC(key, digestmod="sha256"),
    )


class KeyPairs:
    """Provides the access key pair of boto3's credentials: cached, and renewed while it is still valid.

    A given pair never changes.
    """

    def __init__(self, credentials: Credentials | KeyPair, clock: Callable[[], float] = time.monotonic) -> None:
        self._credentials = credentials
        self._clock = clock
        self._pair: KeyPair | None = None
        self._ask_at = -inf
        self._good_until = -inf
        self._asking: asyncio.Task[KeyPair] | None = None

    def __repr__(self) -> str:
        return "<KeyPairs>"

    def at_hand(self) -> KeyPair | None:
        """Returns the pair to sign with; None if `ask` must be awaited."""
        now = self._clock()
        if now >= self._good_until:
            return None
        if now >= self._ask_at:
            self._begin_to_ask().add_done_callback(_log_failure)
        return self._pair

    async def ask(self) -> KeyPair:
        """Fetches the pair from boto3, once for all who wait; raises `StorageError` if that fails."""
        # A cancelled caller must not cancel the request for the others.
        return await asyncio.shield(self._begin_to_ask())

    def distrust(self) -> None:
        """Fetches the pair again before the next request, because S3 says that it has expired."""
        self._good_until = -inf

    def _begin_to_ask(self) -> asyncio.Task[KeyPair]:
        if self._asking is None or self._asking.done():
            self._ask_at = self._clock() + limits.CREDENTIALS_AGAIN_AFTER
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        return self._asking

    async def _ask(self) -> KeyPair:
        if isinstance(self._credentials, KeyPair):
            self._pair = self._credentials
        else:
            with translated("credentials"):
                found = await in_own_thread(self._credentials.get_frozen_credentials)
            self._pair = KeyPair(found.access_key or "", found.secret_key or "", found.token)
        now = self._clock()
        self._ask_at, self._good_until = now + limits.CREDENTIALS_ASKED_EVERY, now + limits.CREDENTIALS_GOOD_FOR
        return self._pair


def _log_failure(asking: asyncio.Task[KeyPair]) -> None:
    """Logs a failed renewal that nobody awaits; the previous pair is still used."""
    error = None if asking.cancelled() else asking.exception()
    if isinstance(error, StorageError):
        _LOG.warning("credentials could not be renewed: %s", error)
