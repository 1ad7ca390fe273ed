"""What the current request has used of its bucket, for its line in the log."""

from __future__ import annotations

from contextvars import ContextVar

import msgspec


class BucketUse(msgspec.Struct):
    """The seconds that a request has waited for S3, all calls added up, and the ID that S3 gave its last call."""

    seconds: float = 0.0
    request_id: str = ""


USE: ContextVar[BucketUse | None] = ContextVar("USE", default=None)
"""The use of the current request; None where no log shows it."""


def note_wait(seconds: float) -> None:
    """Adds a wait for S3."""
    if (use := USE.get()) is not None:
        use.seconds += seconds


def note_request_id(request_id: str) -> None:
    """Notes S3's ID of a call (the header `x-amz-request-id`)."""
    if request_id and (use := USE.get()) is not None:
        use.request_id = request_id
