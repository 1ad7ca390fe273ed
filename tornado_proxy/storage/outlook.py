"""The answer of S3 to the attempts of a plan at this moment, without a change and without the content of an object."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from http import HTTPStatus
from typing import NamedTuple

from tornado_proxy.routing import plan
from tornado_proxy.routing.request import ObjectKey
from tornado_proxy.semantics.conditions import UNCONDITIONAL
from tornado_proxy.storage.errors import ObjectMissing, StorageError
from tornado_proxy.storage.store import ObjectInfo, Store

_WITHIN = 5.0  # seconds


class Outlook(NamedTuple):
    """The first attempt of a plan that would answer, and the object that it finds; an error instead if S3 fails."""

    attempt: plan.Attempt | None = None
    info: ObjectInfo | None = None
    error: str = ""


async def look(store: Store, attempts: Sequence[plan.Attempt]) -> Outlook:
    """Returns the attempt that would answer a request now; uploads and removals are not tried."""
    try:
        async with asyncio.timeout(_WITHIN):
            for attempt in attempts:
                found = await _look(store, attempt)
                if found is not None:
                    return found
    except StorageError as error:
        return Outlook(error=f"{error.status} {HTTPStatus(error.status).phrase}: {error}")
    except TimeoutError:
        return Outlook(error=f"S3 did not answer within {_WITHIN:g} s")
    return Outlook()


async def _look(store: Store, attempt: plan.Attempt) -> Outlook | None:
    """Returns the outlook of an attempt; None if it would hand over to the next."""
    match attempt:
        case plan.Serve(key=key) | plan.RedirectToSignedUrl(key=key):
            try:
                return Outlook(attempt, await store.head(key, UNCONDITIONAL))
            except ObjectMissing:
                return None
        case plan.Browse(prefix=prefix, root=root):
            return Outlook(attempt) if root or await _has_any(store, prefix) else None
        case plan.Redirect(below=below) if below is not None:
            return Outlook(attempt) if await _has_any(store, below) else None
    return Outlook(attempt)


async def _has_any(store: Store, prefix: ObjectKey) -> bool:
    found = await store.list(prefix, None, 1)
    return bool(found.entries) or found.exists
