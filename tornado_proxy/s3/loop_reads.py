"""Reads of a bucket on the event loop: signed and sent here, over connections that stay open."""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from contextlib import suppress
from functools import partial

import msgspec

from tornado_proxy.config.model import Bucket
from tornado_proxy.config.server import S3Pool
from tornado_proxy.s3 import answers, client, limits
from tornado_proxy.s3.connection import Pool, Retries, S3Response
from tornado_proxy.s3.failures import THROTTLED, TRANSIENT, from_answer
from tornado_proxy.s3.resumable import ObjectRequest
from tornado_proxy.s3.signature import KeyPair, KeyPairs, encode_path, encode_query, header_lines, sign
from tornado_proxy.semantics.conditions import parse_date
from tornado_proxy.storage.errors import StorageError, TimedOut, Unreachable, UpstreamError
from tornado_proxy.storage.store import ObjectInfo, note_request_id

_LOG = logging.getLogger(__name__)

_LAST_LINES = "\r\nuser-agent: tornado-proxy\r\n\r\n"

# The 400 of a HEAD has no code.
_WRONG_REGION = ("AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "")

# A region becomes part of a host name.
_REGION = re.compile(r"[a-z0-9-]{1,40}")


class _ReadRequest(msgspec.Struct, frozen=True):
    """A request without everything that changes: time, keys, and the endpoint of the bucket."""

    doing: str
    method: str = "GET"
    key: str | None = None  # None for the bucket itself
    query: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    is_bulk: bool = False


class LoopReads:
    """The read calls on the event loop, over connections that stay open.

    If S3 names another region, this and all later requests go there. If its clock differs, requests are signed by its
    clock. A request that fails before any data was passed on is retried after a random pause, up to the number of
    attempts in the configuration of the bucket.
    """

    def __init__(
        self, bucket: Bucket, keys: KeyPairs, endpoint: client.Endpoint, pool: S3Pool, retries: Retries
    ) -> None:
        self._bucket = bucket
        self._retries = retries
        self._keys = keys
        self._endpoint = endpoint
        self._settings = pool
        self._pool = self._pool_of(endpoint)
        self._skew = 0.0
        self._quirks = answers.Quirks()
        added = bucket.request_config
        self._of_objects, self._of_listings = (client.CHECKSUM_MODE, *added.get_headers), added.list_headers

    async def get(self, request: ObjectRequest) -> S3Response:
        """Sends a GetObject and opens its answer."""
        key, part, if_match, version, continues = request
        headers = [*self._of_objects]
        if part is not None:
            headers.append(("range", part.to_header()))
        if if_match is not None:
            headers.append(("if-match", self._quirks.condition(if_match)))
        query = encode_query({"versionId": version}) if version else ""
        call = _ReadRequest("GetObject", "GET", key, query, tuple(headers), is_bulk=continues)
        answer = await self._send(call)
        try:
            answer.head = answers.object_head(answer.status, answer.headers, part, lists=self._quirks.lists)
            if answer.head.info.etag is None:
                answers.check_no_error(answer.peek())
        except ValueError as error:
            fault = answers.read_error(answer.peek())
            answer.close()
            if fault.code:
                raise self._failure(call, answer, fault) from error
            raise UpstreamError(f"{self._doing(call)}: {error}") from error
        return answer

    async def head(self, key: str) -> ObjectInfo:
        """Sends a HeadObject."""
        request = _ReadRequest("HeadObject", "HEAD", key, headers=self._of_objects)
        answer = await self._send(request)
        try:
            return answers.object_head(answer.status, answer.headers, has_body=False, lists=self._quirks.lists).info
        except ValueError as error:
            raise UpstreamError(f"{self._doing(request)}: {error}") from error

    async def list(
        self, prefix: str, after: str | None, limit: int, continuation: str | None = None
    ) -> answers.ListAnswer:
        """Sends a ListObjectsV2 with the delimiter `/`, a `MaxKeys` of `limit`, and the other parameters if given."""
        wanted = {"list-type": "2", "encoding-type": "url", "prefix": prefix, "delimiter": "/", "max-keys": str(limit)}
        if after:
            wanted["start-after"] = after
        if continuation:
            wanted["continuation-token"] = continuation
        request = _ReadRequest("ListObjectsV2", query=encode_query(wanted), headers=self._of_listings)
        answer = await self._send(request)
        document = await answer.read_all(limits.LARGEST_LISTING)
        try:
            listed = answers.read_listing(document, answer.headers)
        except ValueError as error:
            self._quirks.lists = not answers.is_foreign(answer.headers)
            if (fault := answers.read_error(document)).code:
                raise self._failure(request, answer, fault) from error
            raise UpstreamError(f"{self._doing(request)}: {error}") from error
        self._quirks.lists = True
        return listed

    async def close(self) -> None:
        """Closes the connections; open objects can be read to their end."""
        self._pool.close()

    async def _send(self, request: _ReadRequest) -> S3Response:
        """Sends a request until it succeeds or the attempts are used up; raises `StorageError`."""
        corrected: set[str] = set()
        attempts, paid = 1, 0
        while True:
            asked, accepted, status = self._endpoint, self._quirks.accepted, 0
            try:
                pair = None if self._bucket.anonymous else self._keys.at_hand() or await self._keys.ask()
                data, is_head_only = self._signed(request, pair), request.method == "HEAD"
                answer = await self._pool.request(data, is_head_only=is_head_only, is_bulk=request.is_bulk)
                note_request_id(answer.headers.get(b"x-amz-request-id", b"").decode("latin-1"))
                if answer.status in (200, 206):
                    self._retries.give_back(paid)
                    if request.key is None or not self._quirks.is_better(accepted, answer.headers):
                        return answer
                    answer.close()
                    continue
                fault = answers.ErrorDocument()
                with suppress(StorageError):  # it is too large or truncated
                    fault = answers.read_error(await answer.read_all(limits.LARGEST_ERROR))
                if await self._correct(request, answer, fault, asked, corrected):
                    continue
                error, status = self._failure(request, answer, fault), answer.status
            except (Unreachable, TimedOut) as caught:
                error = type(caught)(f"{self._doing(request)}: {caught}")
            is_final = attempts >= self._bucket.max_attempts or (status != 0 and status not in TRANSIENT)
            if is_final or not (paid := self._retries.take(status)):
                try:
                    raise error
                finally:
                    del error  # a frame that keeps what it raises is a cycle, and keeps the request and its generation
            pause = limits.READ_PAUSE_IF_THROTTLED if status in THROTTLED else limits.READ_PAUSE
            # Random from 0 on, so that requests that failed together do not return together.
            await asyncio.sleep(random.uniform(0, min(pause * 2 ** (attempts - 1), limits.LONGEST_READ_PAUSE)))  # noqa: S311 - no secret
            attempts += 1

    def _signed(self, request: _ReadRequest, pair: KeyPair | None) -> bytes:
        """Returns the bytes of a request; unsigned without a key pair."""
        endpoint = self._endpoint
        path = endpoint.bucket_path if request.key is None else endpoint.object_path + encode_path(request.key)
        kept = request.headers
        if not self._quirks.knows_checksums:
            kept = tuple(each for each in kept if each is not client.CHECKSUM_MODE)
        headers = (("host", endpoint.authority), *kept)
        if pair is None:
            lines = header_lines(headers)
        else:
            asked = request.method, path, request.query
            lines = sign(asked, headers, endpoint.scope, pair, time.time() + self._skew)
        target = f"{path}?{request.query}" if request.query else path
        accepted = "identity" if request.key is None else self._quirks.accepted
        return f"{request.method} {target} HTTP/1.1\r\n{lines}accept-encoding: {accepted}{_LAST_LINES}".encode()

    async def _correct(
        self,
        request: _ReadRequest,
        answer: S3Response,
        fault: answers.ErrorDocument,
        asked: client.Endpoint,
        corrected: set[str],
    ) -> bool:
        """Corrects region, clock or keys after a request was refused; returns whether to send it again."""
        before = len(corrected)
        region = answer.headers.get(b"x-amz-bucket-region", b"").decode("latin-1") or fault.region
        is_elsewhere = answer.status in (301, 302, 307) or (answer.status == 400 and fault.code in _WRONG_REGION)
        if is_elsewhere and _REGION.fullmatch(region):
            corrected.add("region")
            if self._endpoint is asked and region != asked.scope.region:
                # All requests go there from now on.
                moved = msgspec.structs.replace(self._bucket, region=region)
                endpoint = await asyncio.to_thread(lambda: client.find_endpoint(client.make_client(moved), moved.name))
                if endpoint is not None and self._endpoint is asked:
                    self._pool.close()
                    self._endpoint, self._pool = endpoint, self._pool_of(endpoint)
        if self._clock_differs(request, answer, fault):
            corrected.add("clock")
        if fault.code == "ExpiredToken":
            self._keys.distrust()
            corrected.add("keys")
        is_refused = client.refuses_checksum_mode(request.doing, answer.status, fault.message)
        if client.CHECKSUM_MODE in request.headers and is_refused and len(corrected) == before:
            # The reason of a HEAD may be another, and is the same then.
            self._quirks.knows_checksums = "checksums" in corrected
            corrected.add("checksums")
        return len(corrected) > before

    def _pool_of(self, endpoint: client.Endpoint) -> Pool:
        make_tls = partial(client.tls_context, self._bucket.ca_path) if endpoint.is_tls else None
        return Pool(endpoint.host, endpoint.port, make_tls, self._bucket, self._settings)

    def _clock_differs(self, request: _ReadRequest, answer: S3Response, fault: answers.ErrorDocument) -> bool:
        """Adopts S3's clock if the difference of the clocks is why a request was refused; returns whether it is."""
        date = parse_date(answer.headers.get(b"date", b"").decode("latin-1"))
        if answer.status != 403 or date is None:
            return False
        skew = date.timestamp() - time.time()
        is_far = request.method == "HEAD" and abs(skew - self._skew) > limits.LARGEST_SKEW
        if fault.code == "RequestTimeTooSkewed" or is_far:
            if abs(skew) > limits.LARGEST_SKEW:
                # Nothing else would say it before an upload, which boto3 signs by the machine's clock, is refused.
                _LOG.warning("the clock is wrong: that of S3 differs by %+.0f s (bucket `%s`)", skew, self._bucket.name)
            self._skew = skew
            return True
        return False

    def _failure(self, request: _ReadRequest, answer: S3Response, fault: answers.ErrorDocument) -> StorageError:
        request_id = fault.request_id or answer.headers.get(b"x-amz-request-id", b"").decode("latin-1")
        return from_answer(self._doing(request), answer.status, fault.code, fault.message, request_id)

    def _doing(self, request: _ReadRequest) -> str:
        of = "" if request.key is None else f" of `{request.key}`"
        return f"{request.doing}{of} in `{self._bucket.name}`"
