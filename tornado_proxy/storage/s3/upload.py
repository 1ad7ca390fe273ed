"""An upload in parts: a few on their way at a time, completed at the end or taken back."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from tornado_proxy.storage.errors import StorageError, UpstreamError
from tornado_proxy.storage.s3.client import Parameters, ask
from tornado_proxy.storage.s3.executor import BlockingCall, Executor
from tornado_proxy.storage.s3.failures import translated
from tornado_proxy.storage.s3.parts import Part

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, CompleteMultipartUploadOutputTypeDef

_log = logging.getLogger(__name__)

# Seconds: S3 may take minutes to make an object of many parts, while it sends white space (S3 API,
# "CompleteMultipartUpload").
_COMPLETION = 600.0

_PARTS_ON_THEIR_WAY = 2
"""With the part that is being filled, three are in memory."""


class Upload:
    """An upload that S3 has begun; it is completed or aborted, and holds nothing open in between."""

    def __init__(self, client: S3Client, executor: Executor, names: Parameters) -> None:
        self._client = client
        self._executor = executor
        self._names = names
        self._pending: deque[tuple[Part, BlockingCall[CompletedPartTypeDef]]] = deque()
        self._sent: list[CompletedPartTypeDef] = []
        self._completing: BlockingCall[CompleteMultipartUploadOutputTypeDef] | None = None

    @classmethod
    async def begin(cls, client: S3Client, executor: Executor, target: Parameters, said: Parameters) -> Upload:
        """Begin an upload to a target (`Bucket` and `Key`), whose object will have what is said of it."""

        def undo(answer: Parameters) -> None:
            if "UploadId" in answer:
                _abort(client, {**target, "UploadId": answer["UploadId"]}, (), 0)

        create = partial(ask, client.create_multipart_upload, **target, **said)
        with translated(f"beginning an upload of `{target['Key']}`"):
            answer = await executor.run(create, undo, is_upload=True)
        if "UploadId" not in answer:
            raise UpstreamError(f"S3 begins an upload of `{target['Key']}` without an UploadId")
        return cls(client, executor, {**target, "UploadId": answer["UploadId"]})

    async def send(self, part: Part) -> None:
        """Send a part, as soon as fewer than the most are on their way; raises what went wrong with earlier ones."""
        try:
            while len(self._pending) >= _PARTS_ON_THEIR_WAY:
                await self._arrived()
        except BaseException:
            part.body.close()
            raise
        call = self._executor.submit(partial(self._send, part), is_upload=True)
        self._pending.append((part, call))
        # At once, and not when the part's turn comes: the upload itself may wait for this memory.
        loop = asyncio.get_running_loop()
        call.ended.add_done_callback(lambda _: _close(part, loop))

    async def complete(self, precondition: Parameters) -> Parameters:
        """Make the parts an object, if the precondition holds, and return S3's answer."""
        while self._pending:
            await self._arrived()
        named: Parameters = {**self._names, **precondition, "MultipartUpload": {"Parts": self._sent}}
        self._completing = self._executor.submit(
            partial(ask, self._client.complete_multipart_upload, **named), is_upload=True
        )
        with translated(f"completing an upload of `{self._names['Key']}`"):
            return await self._completing.result(max(_COMPLETION, self._executor.timeout))

    async def abort(self) -> None:
        """Take the upload back, even if the caller is cancelled meanwhile: it is done by a thread, which goes on."""
        calls: list[BlockingCall[Any]] = [
            *(call for _, call in self._pending),
            *([self._completing] if self._completing else []),
        ]
        for call in calls:
            call.outcome.cancel()
        for part, _ in self._pending:
            part.body.close()
        abort = partial(_abort, self._client, self._names, calls, self._executor.timeout)
        await asyncio.shield(asyncio.wrap_future(self._executor.submit(abort).outcome))

    async def _arrived(self) -> None:
        """Wait for the oldest part on its way."""
        _, call = self._pending[0]
        with translated(f"uploading a part of `{self._names['Key']}`"):
            self._sent.append(await call.result(self._executor.timeout))
        self._pending.popleft()

    def _send(self, part: Part) -> CompletedPartTypeDef:
        """Send a part, in a thread."""
        said: Parameters = {"PartNumber": part.number, "Body": part.body}
        answer = ask(self._client.upload_part, **self._names, **said)
        if "ETag" not in answer:
            raise UpstreamError(f"S3 takes part {part.number} without an ETag")
        return {"ETag": answer["ETag"], "PartNumber": part.number}


def _close(part: Part, loop: asyncio.AbstractEventLoop) -> None:
    """Close the body of a part on its loop, from any thread."""
    with suppress(RuntimeError):  # the loop has ended, and nobody waits for memory any more
        loop.call_soon_threadsafe(part.body.close)


def _abort(client: S3Client, names: Parameters, calls: Sequence[BlockingCall[Any]], timeout: float) -> None:
    """Abort an upload, in a thread, once nothing of it is on its way: a part that arrives later would stay."""
    wait([call.ended for call in calls], timeout)
    for call in calls:
        call.cut()
    try:
        with translated(f"aborting an upload of `{names['Key']}`"), suppress(client.exceptions.NoSuchUpload):
            client.abort_multipart_upload(**names)
    except StorageError as error:
        _log.warning("parts of an upload may stay behind: %s", error)
