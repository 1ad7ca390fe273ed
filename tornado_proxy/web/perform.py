"""Performs a plan on a store: tries its attempts in order until one has an answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from tornado_proxy.config.actions import Webhook
from tornado_proxy.pages.custom import FILE_HEADERS, NEVER, DeleteData, DeletePageData, StreamFile, StreamFileData
from tornado_proxy.routing import upload_steps
from tornado_proxy.routing.plan import (
    Attempt,
    Browse,
    OfferForm,
    Plan,
    Receive,
    Redirect,
    RedirectToSignedUrl,
    Refuse,
    Remove,
    Serve,
    tries_files,
)
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, ContentRange
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.storage.cache import MemoryObject
from tornado_proxy.storage.errors import AccessDenied, NotModified, ObjectMissing
from tornado_proxy.storage.store import ObjectInfo
from tornado_proxy.telemetry.events import ObjectUsed
from tornado_proxy.templates.template import ObjectMetadata
from tornado_proxy.web import perform_uploads
from tornado_proxy.web.answer import Answer, Outcome, Streamed, Whole, answer_attempt, file_headers, with_headers
from tornado_proxy.web.browse import Directory, browse
from tornado_proxy.web.custom_pages import customized
from tornado_proxy.web.generation import RequestContext
from tornado_proxy.web.incoming_file import FileHead
from tornado_proxy.web.limits import SENT_WHOLE

_AT_PATHS = (Serve, RedirectToSignedUrl, Redirect)


async def perform(plan: Plan, context: RequestContext) -> tuple[Outcome, Attempt]:
    """Returns the outcome of the first attempt that finds something, and that attempt.

    Raises `StorageError`, and `RequestError` for an upload.
    """
    denied: AccessDenied | None = None
    for attempt in plan:
        if isinstance(attempt, Refuse):
            if denied is not None:
                raise denied
            return answer_attempt(attempt), attempt
        if isinstance(attempt, _AT_PATHS) and attempt.paths and not await _admitted(attempt.paths, context):
            continue
        try:
            outcome = await _PERFORMERS[type(attempt)](attempt, context)
        except ObjectMissing:
            continue
        except AccessDenied as error:
            # A missing object is one that is denied if the bucket may not be listed.
            if not tries_files(plan):
                raise
            denied = error
            continue
        if outcome is not None:
            return outcome, attempt
    raise ObjectMissing("no attempt of the plan found anything")


async def _admitted(paths: tuple[RequestPath, ...], context: RequestContext) -> bool:
    for path in paths:
        if not context.decision.admits(await context.ask(path)):
            return False
    return True


async def _serve(attempt: Serve, context: RequestContext) -> Answer:
    try:
        if context.decision.request.method == "HEAD":
            # RFC 9110 14.2: a Range counts for GET only.
            return await _head(context, await context.store.head(attempt.key, context.conditions))
        asked_range = context.headers.get("Range")
        part = None if asked_range is None else ByteRange.from_header(asked_range)
        opened = await context.store.open(attempt.key, context.conditions, part)
    except NotModified as unchanged:
        return replace(await _head(context, unchanged.info), status=304) if unchanged.info else Whole(304)
    try:
        head = await _head(context, opened.info, opened.content_range)
    except BaseException:
        await opened.close()
        raise
    status = 206 if opened.content_range else 200
    if isinstance(opened, MemoryObject) and len(opened.body) <= SENT_WHOLE:
        return Whole(status, head.headers, opened.body, head.templated)
    return Streamed(status, head.headers, opened, head.templated)


async def _head(context: RequestContext, info: ObjectInfo, part: ContentRange | None = None) -> Whole:
    """Returns the answer to a HEAD of a file, with what the target's templates write; an empty text changes nothing."""
    actions = context.match.site.target.actions
    headers = file_headers(info, actions, part)
    if not actions.get.streamed_file_headers:
        return Whole(200, headers)
    own = dict(headers)
    file = StreamFile(
        int(own.get("Content-Length", 0)),
        info.content_type or "",
        own.get("Content-Range", ""),
        own.get("Content-Disposition", "").encode("latin-1").decode(errors="replace"),
        info.content_encoding or "",
        info.content_language or "",
        own.get("Content-Digest", ""),
        info.cache_control or "",
        info.expires or "",
        info.etag or "",
        info.last_modified or NEVER,
        ObjectMetadata(info.metadata),
    )
    custom = await context.written(FILE_HEADERS, partial(StreamFileData, context.request, context.user, file))
    if custom is None:
        return Whole(200, headers)
    return Whole(200, with_headers(headers, tuple(each for each in custom.headers if each[1])), b"", custom.written)


async def _redirect(attempt: Redirect, context: RequestContext) -> Answer | None:
    if attempt.below is not None and not await Directory(attempt.below, context, attempt.paths[-1]).exists():
        return None
    return _found(attempt.location, "no-cache")


async def _sign_url(attempt: RedirectToSignedUrl, context: RequestContext) -> Answer:
    await context.store.head(attempt.key, UNCONDITIONAL)
    return _found(await context.store.presign(attempt.key, attempt.expires), "private, no-store")


def _found(location: str, cache_control: str) -> Whole:
    return Whole(302, (("Location", location), ("Cache-Control", cache_control), ("Content-Length", "0")))


async def _remove(attempt: Remove, context: RequestContext) -> Answer:
    data = partial(DeletePageData, context.request, context.user, DeleteData(attempt.key))
    custom = await context.written("delete", data)  # before: what cannot be answered is not done
    await context.store.remove(attempt.key, context.conditions)
    return customized(Whole(204), custom)


_PERFORMERS: Mapping[type[Attempt], Callable[[Any, RequestContext], Awaitable[Answer | None]]] = {
    Serve: _serve,
    Browse: browse,
    Redirect: _redirect,
    RedirectToSignedUrl: _sign_url,
    Receive: perform_uploads.receive,
    OfferForm: perform_uploads.sign_form,
    upload_steps.BeginUpload: perform_uploads.begin,
    upload_steps.ReceivePart: perform_uploads.receive_part,
    upload_steps.ListParts: perform_uploads.list_parts,
    upload_steps.CompleteUpload: perform_uploads.complete,
    upload_steps.AbortUpload: perform_uploads.abort,
    Remove: _remove,
}


def object_used(webhooks: tuple[Webhook, ...], attempt: Attempt, context: RequestContext) -> ObjectUsed | None:
    """Returns the event of a successful attempt; None for one that webhooks are not called for."""
    site, method = context.match.site, context.request.method
    if not isinstance(attempt, Serve | Browse | Receive | upload_steps.CompleteUpload | Remove):
        return None
    bucket = site.target.bucket
    output = {"bucket": bucket.name, "region": bucket.region}
    if bucket.s3_endpoint:
        output["s3Endpoint"] = bucket.s3_endpoint
    output["key"] = attempt.prefix if isinstance(attempt, Browse) else attempt.key
    body = {
        "action": method,
        "requestPath": context.path_below_mount,
        "outputMetadata": output,
        "target": {"name": site.target.name},
    }
    if isinstance(attempt, Receive) and context.upload is not None:
        body["inputMetadata"] = _upload(context.upload.head, context.upload.size)
    elif isinstance(attempt, upload_steps.CompleteUpload):
        body["inputMetadata"] = _upload(perform_uploads.named_file(context), attempt.size)
    elif not isinstance(attempt, Remove):
        body["inputMetadata"] = _conditions(context)
    return ObjectUsed(webhooks, site.target.name, method, body)


def _upload(file: FileHead, size: int) -> dict[str, Any]:
    return {"filename": file.file_name, "contentType": file.content_type, "contentSize": size}


def _conditions(context: RequestContext) -> dict[str, str]:
    headers, conditions = context.headers, context.conditions
    fields = {
        "ifModifiedSince": _moment(conditions.if_modified_since),
        "ifMatch": headers.get("If-Match", ""),
        "ifNoneMatch": headers.get("If-None-Match", ""),
        "ifUnmodifiedSince": _moment(conditions.if_unmodified_since),
    }
    return fields | {"range": headers.get("Range", "")} if context.request.method == "GET" else fields


def _moment(moment: datetime | None) -> str:
    """Formats a time as RFC 3339; empty for None."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
