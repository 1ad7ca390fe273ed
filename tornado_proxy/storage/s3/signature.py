"""Signature Version 4 of requests without a body, and the key pairs that sign them.

S3 API, "Authenticating Requests: Using the Authorization Header".

The signing key is an HMAC chain over day, region and service, and is kept for the day. All that depends on the moment
and the headers is kept for the second, which leaves two hashes for a request.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from hmac import HMAC, digest
from math import inf
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from tornado_proxy.storage.errors import StorageError
from tornado_proxy.storage.s3.failures import translated

if TYPE_CHECKING:
    from botocore.credentials import Credentials

_LOG = logging.getLogger(__name__)

# boto3 renews what expires 15 minutes ahead, whenever it is asked: so it is asked each minute in which there are
# requests, and a pair of five minutes ago is still good while it is.
_ASK_AFTER = 60.0
_GOOD_FOR = 300.0

_AGAIN_AFTER_FAILURE = 5.0

EMPTY_BODY = sha256(b"").hexdigest()
"""The hash of the body of every GET and HEAD."""

# A process signs with the keys of a few targets, and with those of yesterday for a moment after midnight.
_KEYS_KEPT = 256

# Most requests of a second have the same headers, but for those that ask for a range or for one version.
_HEADS_KEPT = 256


@dataclass(frozen=True, slots=True)
class KeyPair:
    """An access key pair, with a session token if it has one; shown nowhere."""

    access_key: str
    secret_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return "<KeyPair>"


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature is good for."""

    region: str
    service: str = "s3"


def encode_path(path: str) -> str:
    """A decoded path, percent-encoded as S3 expects it: RFC 3986's unreserved characters and `/` stay."""
    return quote(path, safe="/")


def encode_query(parameters: Mapping[str, str]) -> str:
    """A query in the canonical form, which is also the one to send: encoded, in the order of the encoded names."""
    pairs = sorted((quote(name, safe=""), quote(value, safe="")) for name, value in parameters.items())
    return "&".join([f"{name}={value}" for name, value in pairs])


class _Prepared(NamedTuple):
    """What is the same for all requests of a second with the same headers."""

    headers: tuple[tuple[str, str], ...]
    canonical: str  # the canonical request behind method, path and query
    to_sign: str  # the string to sign, up to the hash of the canonical request
    key: HMAC
    authorization: str  # up to the signature


def sign(
    request: tuple[str, str, str], headers: tuple[tuple[str, str], ...], scope: Scope, pair: KeyPair, now: float
) -> tuple[tuple[str, str], ...]:
    """The headers of a signed request, all of them covered by the signature, with no space that could be misread.

    `request` is method, path and query, encoded as they are sent; `headers` have names in lower case, `host` among
    them; `now` is in seconds since 1970.
    """
    prepared = _prepared(headers, scope, pair, int(now))
    canonical = "\n".join((*request, prepared.canonical))
    signature = prepared.key.copy()
    signature.update(f"{prepared.to_sign}{sha256(canonical.encode()).hexdigest()}".encode())
    return (*prepared.headers, ("authorization", f"{prepared.authorization}{signature.hexdigest()}"))


@lru_cache(_HEADS_KEPT)
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
    return _Prepared(
        tuple(signed),
        f"{lines}\n{names}\n{EMPTY_BODY}",
        f"AWS4-HMAC-SHA256\n{moment}\n{credential}\n",
        _signing_key(pair.secret_key, moment[:8], scope.region, scope.service),
        f"AWS4-HMAC-SHA256 Credential={pair.access_key}/{credential}, SignedHeaders={names}, Signature=",
    )


@lru_cache(_KEYS_KEPT)
def _signing_key(secret_key: str, day: str, region: str, service: str) -> HMAC:
    key = f"AWS4{secret_key}".encode()
    for part in (day, region, service, "aws4_request"):
        key = digest(key, part.encode(), "sha256")
    return HMAC(key, digestmod="sha256")


class KeyPairs:
    """Fetches the access key pair of boto3's credentials, kept for a while and renewed while it is still in use.

    A pair that is given is used as it is.
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
        """Asks again before the next request: S3 says that the pair has expired."""
        self._good_until = -inf

    def _begin_to_ask(self) -> asyncio.Task[KeyPair]:
        if self._asking is None or self._asking.done():
            self._ask_at = self._clock() + _AGAIN_AFTER_FAILURE
            self._asking = asyncio.get_running_loop().create_task(self._ask())
        return self._asking

    async def _ask(self) -> KeyPair:
        if isinstance(self._credentials, KeyPair):
            self._pair = self._credentials
        else:
            with translated("credentials"):
                found = await asyncio.to_thread(self._credentials.get_frozen_credentials)
            self._pair = KeyPair(found.access_key or "", found.secret_key or "", found.token)
        now = self._clock()
        self._ask_at, self._good_until = now + _ASK_AFTER, now + _GOOD_FOR
        return self._pair


def _log_failure(asking: asyncio.Task[KeyPair]) -> None:
    """Logs a failure that nobody awaits: the pair of before is still used."""
    error = None if asking.cancelled() else asking.exception()
    if isinstance(error, StorageError):
        _LOG.warning("credentials could not be renewed: %s", error)
