"""Uploads in parts: the steps that a client takes, one request each, and how a request names its step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from tornado_proxy.config.actions import PutAction
from tornado_proxy.config.options import MIB
from tornado_proxy.routing.errors import BadStep
from tornado_proxy.routing.request import ObjectKey, Request

MOST_PARTS = 10_000
"""The most parts of an object (S3 API, "Multipart upload limits")."""

SMALLEST_PART = 5 * MIB
"""The bytes that each part but the last must have (S3 API, as above)."""

LARGEST_PART = 64 * MIB
"""The most bytes of a part here, since each is in memory as a whole."""

_NUMBER = re.compile(r"[0-9]{1,19}")
_LONGEST_ID = 1024


@dataclass(frozen=True, slots=True)
class BeginUpload:
    """Begin an upload in parts of a file of `size` bytes; `location` is its request path, percent-encoded."""

    key: ObjectKey
    location: str
    size: int
    replace: bool
    max_size: int | None


@dataclass(frozen=True, slots=True)
class ReceivePart:
    """Store a part, numbered from 1."""

    key: ObjectKey
    upload: str
    number: int
    max_size: ClassVar[int] = LARGEST_PART


@dataclass(frozen=True, slots=True)
class ListParts:
    """Answer with the parts of an upload that are stored."""

    key: ObjectKey
    upload: str


@dataclass(frozen=True, slots=True)
class CompleteUpload:
    """Make the parts of an upload an object of `size` bytes."""

    key: ObjectKey
    location: str
    upload: str
    size: int
    replace: bool
    max_size: int | None


@dataclass(frozen=True, slots=True)
class AbortUpload:
    """Remove an upload and its parts."""

    key: ObjectKey
    upload: str


UploadStep = BeginUpload | ReceivePart | ListParts | CompleteUpload | AbortUpload

STEPS = ("start", "part", "parts", "complete", "abort")
"""The values of `?upload=` that are a step of an upload in parts."""


def upload_step(request: Request, key: ObjectKey, location: str, put: PutAction) -> UploadStep:
    """Returns the step that a PUT with the name of one takes; raises `BadStep` for an invalid query."""
    query = dict(request.query)
    if len(query) < len(request.query):
        raise BadStep("the query names a parameter twice")
    step = query["upload"]
    if step == "start":
        size = _number(query, "size")
        if size == 0:
            raise BadStep("an empty file has no parts")
        return BeginUpload(key, location, size, put.allow_override, put.max_size)
    upload = query.get("id", "")
    if not 0 < len(upload) <= _LONGEST_ID or not upload.isprintable():
        raise BadStep("the query has no valid `id` of an upload")
    match step:
        case "part":
            number = _number(query, "number")
            if not 1 <= number <= MOST_PARTS:
                raise BadStep(f"the number of a part is not one of 1 to {MOST_PARTS}")
            return ReceivePart(key, upload, number)
        case "parts":
            return ListParts(key, upload)
        case "complete":
            size = _number(query, "size")
            return CompleteUpload(key, location, upload, size, put.allow_override, put.max_size)
        case _:
            return AbortUpload(key, upload)


def _number(query: dict[str, str], name: str) -> int:
    """Returns a number of a query."""
    text = query.get(name, "")
    if _NUMBER.fullmatch(text) is None:
        raise BadStep(f"the query has no valid `{name}`")
    return int(text)
