"""Performs a plan on a store: tries its attempts in order until one has an answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from tornado_proxy.config.actions import Webhook
from tornado_proxy.pages.custom import (
    FILE_HEADERS,
    NEVER,
    CustomRendering,
    DeleteData,
    DeletePageData,
    PutPageData,
    StoredUpload,
    StreamFile,
    StreamFileData,
)
from tornado_proxy.pages.render import UPLOAD_FORMS, choose
from tornado_proxy.routing import plan, upload_steps
from tornado_proxy.routing.limits import LARGEST_PART, MOST_PARTS, SMALLEST_PART
from tornado_proxy.routing.request import BadAddress, LengthRequired, ObjectKey, RequestError
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.conditions import UNCONDITIONAL, ByteRange, ContentRange
from tornado_proxy.semantics.fields import is_of_types
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.storage import errors
from tornado_proxy.storage.cache import MemoryObject
from tornado_proxy.storage.store import IncomingPart, ObjectInfo, UploadedPart, Write
from tornado_proxy.telemetry.events import ObjectUsed
from tornado_proxy.templates.template import HeaderFields, ObjectMetadata, PutData, PutInput
from tornado_proxy.web.answer import (
    Answer,
    Outcome,
    Streamed,
    Whole,
    answer_attempt,
    customized,
    file_headers,
    page,
    with_headers,
)
from tornado_proxy.web.browse import Directory, browse
from tornado_proxy.web.generation import RequestContext
from tornado_proxy.web.incoming_file import FileHead, check_raw
from tornado_proxy.web.limits import SENT_WHOLE


class UploadIncomplete(RequestError):
    """An upload whose parts are not the whole file: one is missing or too small, or their sum is wrong."""

    public_message = "The parts of the upload are not the whole file"


class TypeNotAllowed(RequestError):
    """An upload of a type that is not one of the target's `allowedTypes`."""

    status = 415
    public_message = "Files of this type are not accepted here"


class RedirectAstray(RequestError):
    """An object that should redirect, but to no place that its target could send a client to."""

    status = 404


_AT_PATHS = (plan.Serve, plan.RedirectToSignedUrl, plan.Redirect)


async def perform(attempts: plan.Plan, context: RequestContext) -> tuple[Outcome, plan.Attempt]:
    """Returns the outcome of the first attempt that finds something, and that attempt.

    Raises `StorageError`, and `RequestError` for an upload.
    """
    denied: errors.AccessDenied | None = None
    for attempt in attempts:
        if isinstance(attempt, plan.Refuse):
            if denied is not None:
                raise denied
            return answer_attempt(attempt), attempt
        if isinstance(attempt, _AT_PATHS) and attempt.paths and not await _admitted(attempt.paths, context):
            continue
        try:
            outcome = await _PERFORMERS[type(attempt)](attempt, context)
        except errors.ObjectMissing:
            continue
        except errors.AccessDenied as error:
            # A missing object is one that is denied if the bucket may not be listed.
            if not plan.tries_files(attempts):
                raise
            denied = error
            continue
        if outcome is not None:
            return outcome, attempt
    raise errors.ObjectMissing("no attempt of the plan found anything")


async def _admitted(paths: tuple[RequestPath, ...], context: RequestContext) -> bool:
    for path in paths:
        if not context.decision.admits(await context.ask(path)):
            return False
    return True


async def _serve(attempt: plan.Serve, context: RequestContext) -> Answer:
    try:
        if context.decision.request.method == "HEAD":
            # RFC 9110 14.2: a Range counts for GET only.
            info = await context.store.head(attempt.key, context.conditions)
            return _moved(info, context) or await _head(context, info)
        asked_range = context.headers.get("Range")
        part = None if asked_range is None else ByteRange.from_header(asked_range)
        opened = await context.store.open(attempt.key, context.conditions, part)
    except (errors.NotModified, errors.PreconditionFailed, errors.RangeUnsatisfiable) as unmet:
        found = unmet.info if isinstance(unmet, errors.NotModified) else None
        if found is None and context.match.site.target.actions.get.website_redirects:
            found = await context.store.head(attempt.key, UNCONDITIONAL)
        # RFC 9110 13.2.1: the conditions of a request do not count where it would be redirected without them.
        if found is not None and (moved := _moved(found, context)) is not None:
            return moved
        if not isinstance(unmet, errors.NotModified):
            raise
        return Whole(304) if found is None else replace(await _head(context, found), status=304)
    try:
        if (moved := _moved(opened.info, context)) is not None:
            await opened.close()
            return moved
        head = await _head(context, opened.info, opened.content_range)
    except BaseException:
        await opened.close()
        raise
    status = 206 if opened.content_range else 200
    if isinstance(opened, MemoryObject) and len(opened.body) <= SENT_WHOLE:
        return Whole(status, head.headers, opened.body, head.templated)
    return Streamed(status, head.headers, opened.chunks(), opened.close, head.templated)


def _moved(info: ObjectInfo, context: RequestContext) -> Whole | None:
    """Returns the redirect that an object stands for, if the target has them; raises `RedirectAstray`."""
    match, data = context.match, context.decision.data
    if not info.redirect or not match.site.target.actions.get.website_redirects:
        return None
    assert data is not None, "the key of an object comes from the rules"
    home = Key(data.key.removesuffix(match.key[1:]))
    try:
        location = plan.website_location(info.redirect, match, context.request, home)
    except BadAddress as error:
        raise RedirectAstray(f"the object's `x-amz-website-redirect-location` leads nowhere: {error}") from error
    actions = match.site.target.actions
    own = dict(file_headers(info, actions)).get("Cache-Control")
    return _found(location, own or actions.get.redirect_cache_control, 301)


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


async def _redirect(attempt: plan.Redirect, context: RequestContext) -> Answer | None:
    if attempt.below is not None and not await Directory(attempt.below, context, attempt.paths[-1]).exists():
        return None
    return _found(attempt.location, attempt.cache_control, attempt.status)


async def _sign_url(attempt: plan.RedirectToSignedUrl, context: RequestContext) -> Answer:
    info = await context.store.head(attempt.key, UNCONDITIONAL)
    if (moved := _moved(info, context)) is not None:
        return moved
    return _found(await context.store.presign(attempt.key, attempt.expires), "private, no-store")


def _found(location: str, cache_control: str, status: int = 302) -> Whole:
    return Whole(status, (("Location", location), ("Cache-Control", cache_control), ("Content-Length", "0")))


async def _remove(attempt: plan.Remove, context: RequestContext) -> Answer:
    data = partial(DeletePageData, context.request, context.user, DeleteData(attempt.key))
    custom = await context.written("delete", data)  # before: what cannot be answered is not done
    await context.store.remove(attempt.key, context.conditions)
    return customized(Whole(204), custom)


async def _receive(attempt: plan.Receive, context: RequestContext) -> Answer:
    """Streams the body of a request to the store; the file exists once all of it has arrived."""
    upload, templates = context.upload, context.match.site.properties
    assert upload is not None
    assert templates is not None, "PUT is enabled"
    _check_type(upload.head, context)
    properties = _properties(attempt.key, upload.head, context)
    write = Write(
        upload.head.content_type,
        attempt.replace,
        context.conditions,
        attempt.max_size,
        upload.head.announced,
        properties,
        upload.text,
    )
    await _written(_stored_data(attempt.key, upload.head, upload.head.announced or 1, properties), context)
    async with aclosing(upload.content(exactly=templates.read_size)) as chunks:
        stored = await context.store.put(attempt.key, chunks, write)
    return await _stored(attempt, _stored_data(attempt.key, upload.head, upload.size, properties), stored.etag, context)


async def _sign_form(attempt: plan.OfferForm, context: RequestContext) -> Answer:
    """Answers with a form for S3."""
    asked = context.conditions
    if asked.if_match or asked.if_none_match or asked.if_unmodified_since:
        raise RequestError("a form of S3 has no conditions")
    file = _named_file(context)
    _check_type(file, context)
    properties = _properties(attempt.key, file, context)
    write = Write(file.content_type, max_size=attempt.max_size, properties=properties)
    form = await context.store.presign_upload(attempt.key, write, attempt.expires)
    fields = {"url": form.url, "fields": dict(form.fields), "location": attempt.location, "maxSize": attempt.max_size}
    return _json({**fields, "expiresIn": attempt.expires})


async def _begin(attempt: upload_steps.BeginUpload, context: RequestContext) -> Answer:
    """Begins an upload in parts, if its size and type are allowed."""
    check_raw(context.headers)
    _check_total(attempt.size, attempt.max_size)
    file = _named_file(context)
    _check_type(file, context)
    properties = _properties(attempt.key, file, context)
    write = Write(file.content_type, attempt.replace, context.conditions, properties=properties)
    upload = await context.store.begin_upload(attempt.key, write)
    limits = {"minPartSize": SMALLEST_PART, "maxPartSize": LARGEST_PART, "maxParts": MOST_PARTS}
    return _json({"id": upload, "location": attempt.location, **limits})


async def _receive_part(attempt: upload_steps.ReceivePart, context: RequestContext) -> Answer:
    """Stores the body as a part; removes the upload if its parts are larger than the file may be."""
    upload = context.upload
    assert upload is not None
    if upload.head.announced is None:
        raise LengthRequired("the part does not announce its length")
    async with aclosing(upload.content()) as chunks:
        part = IncomingPart(attempt.number, upload.head.announced, chunks)
        await context.store.put_part(attempt.key, attempt.upload, part)
    if attempt.may_exceed:
        # After the part was stored, so that parts that arrive at the same time count too.
        await _parts_within(attempt.max_total, attempt, context)
    return Whole(204)


async def _list_parts(attempt: upload_steps.ListParts, context: RequestContext) -> Answer:
    """Answers with the numbers and sizes of the stored parts, so that a client can resume an upload."""
    parts = await context.store.list_parts(attempt.key, attempt.upload)
    return _json({"parts": [{"number": each.number, "size": each.size} for each in parts]})


async def _complete(attempt: upload_steps.CompleteUpload, context: RequestContext) -> Answer:
    """Makes a file of the stored parts, if they are complete."""
    # The parts with low numbers may have come last: nothing has counted them yet.
    parts = await _parts_within(attempt.max_size, attempt, context)
    _check_total(attempt.size, attempt.max_size)
    check_parts(parts, attempt.size)
    file = _named_file(context)
    properties = _properties(attempt.key, file, context)
    write = Write(replace=attempt.replace, conditions=context.conditions)
    data = _stored_data(attempt.key, file, attempt.size, properties)
    await _written(data, context)
    stored = await context.store.complete_upload(attempt.key, attempt.upload, parts, write)
    return await _stored(attempt, data, stored.etag, context)


async def _parts_within(
    max_size: int | None, attempt: upload_steps.ReceivePart | upload_steps.CompleteUpload, context: RequestContext
) -> Sequence[UploadedPart]:
    """Returns the parts of an upload; if they are larger than the file may be, removes them and raises `TooLarge`."""
    parts = await context.store.list_parts(attempt.key, attempt.upload)
    try:
        _check_total(sum(each.size for each in parts), max_size)
    except errors.TooLarge:
        await context.store.abort_upload(attempt.key, attempt.upload)
        raise
    return parts


async def _abort(attempt: upload_steps.AbortUpload, context: RequestContext) -> Answer:
    """Removes an upload in parts."""
    await context.store.abort_upload(attempt.key, attempt.upload)
    return Whole(204)


def check_parts(parts: Sequence[UploadedPart], size: int) -> None:
    """Raises `UploadIncomplete` unless the parts, numbered from 1, make a file of `size` bytes."""
    missing = next((number for number, each in enumerate(parts, 1) if each.number != number), None)
    if missing or not parts:
        raise UploadIncomplete(f"part {missing or 1} is missing")
    small = next((each.number for each in parts[:-1] if each.size < SMALLEST_PART), None)
    if small:
        raise UploadIncomplete(f"part {small} is not the last and has less than {SMALLEST_PART} bytes")
    total = sum(each.size for each in parts)
    if total != size:
        raise UploadIncomplete(f"the parts have {total} bytes, not {size}")


def _named_file(context: RequestContext) -> FileHead:
    """Returns the head of a file without its content: named by the path, of the type that the request names."""
    return FileHead(context.request.path.rpartition("/")[2], context.headers.get("Content-Type"))


def _check_total(size: int, max_size: int | None) -> None:
    largest = MOST_PARTS * LARGEST_PART
    most = min(max_size or largest, largest)
    if size > most:
        raise errors.TooLarge(f"the upload has {size} bytes, {most} are allowed")


def _check_type(file: FileHead, context: RequestContext) -> None:
    """Raises `TypeNotAllowed` if the target has `allowedTypes` and the file's type is not one of them."""
    allowed = context.match.site.target.actions.put.allowed_types
    if allowed and not is_of_types(allowed, file.content_type):
        raise TypeNotAllowed(f"files of type `{file.content_type}` are not among `allowedTypes`")


def _properties(key: ObjectKey, file: FileHead, context: RequestContext) -> upload_steps.Properties:
    """Returns the properties that a file is stored with; raises `RequestError` if a template fails."""
    templates = context.match.site.properties
    assert templates is not None, "PUT is enabled"
    templates.check_size(file.announced)
    headers = HeaderFields(context.request.headers)
    put = PutInput(context.path_below_mount, file.file_name, file.content_type, file.announced or 0, headers)
    return templates.render(PutData(context.user, put, key))


def _stored_data(key: ObjectKey, file: FileHead, size: int, properties: upload_steps.Properties) -> StoredUpload:
    metadata, storage_class = dict(properties.metadata), properties.storage_class or ""
    return StoredUpload(key, file.file_name, file.content_type, size, metadata, storage_class)


async def _stored(
    attempt: plan.Receive | upload_steps.CompleteUpload, data: StoredUpload, etag: str | None, context: RequestContext
) -> Answer:
    form = choose(UPLOAD_FORMS, context.headers.get("Accept"), context.request.parameters.get("format"))
    rendering = context.pages.upload(attempt.location, data.content_size, etag, form)
    return customized(page(201, rendering, (("Location", attempt.location),)), await _written(data, context))


async def _written(data: StoredUpload, context: RequestContext) -> CustomRendering | None:
    """Returns the custom page of an upload; made before it is stored, too: what cannot be answered is not done."""
    return await context.written("put", lambda: PutPageData(context.request, context.user, data))


def _json(fields: Mapping[str, object]) -> Whole:
    """Returns an answer in JSON that caches do not keep."""
    body = json.dumps(fields).encode()
    headers = (("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("Content-Length", str(len(body))))
    return Whole(200, (*headers, ("X-Content-Type-Options", "nosniff")), body)


_PERFORMERS: Mapping[type[plan.Attempt], Callable[[Any, RequestContext], Awaitable[Answer | None]]] = {
    plan.Serve: _serve,
    plan.Browse: browse,
    plan.Redirect: _redirect,
    plan.RedirectToSignedUrl: _sign_url,
    plan.Receive: _receive,
    plan.OfferForm: _sign_form,
    upload_steps.BeginUpload: _begin,
    upload_steps.ReceivePart: _receive_part,
    upload_steps.ListParts: _list_parts,
    upload_steps.CompleteUpload: _complete,
    upload_steps.AbortUpload: _abort,
    plan.Remove: _remove,
}


def object_used(webhooks: tuple[Webhook, ...], attempt: plan.Attempt, context: RequestContext) -> ObjectUsed | None:
    """Returns the event of a successful attempt; None for one that webhooks are not called for."""
    site, method = context.match.site, context.request.method
    if not isinstance(attempt, plan.Serve | plan.Browse | plan.Receive | upload_steps.CompleteUpload | plan.Remove):
        return None
    bucket = site.target.bucket
    output = {"bucket": bucket.name, "region": bucket.region}
    if bucket.s3_endpoint:
        output["s3Endpoint"] = bucket.s3_endpoint
    output["key"] = attempt.prefix if isinstance(attempt, plan.Browse) else attempt.key
    body = {
        "action": method,
        "requestPath": context.path_below_mount,
        "outputMetadata": output,
        "target": {"name": site.target.name},
    }
    if isinstance(attempt, plan.Receive) and context.upload is not None:
        body["inputMetadata"] = _upload(context.upload.head, context.upload.size)
    elif isinstance(attempt, upload_steps.CompleteUpload):
        body["inputMetadata"] = _upload(_named_file(context), attempt.size)
    elif not isinstance(attempt, plan.Remove):
        headers, conditions = context.headers, context.conditions
        body["inputMetadata"] = {
            "ifModifiedSince": _moment(conditions.if_modified_since),
            "ifMatch": headers.get("If-Match", ""),
            "ifNoneMatch": headers.get("If-None-Match", ""),
            "ifUnmodifiedSince": _moment(conditions.if_unmodified_since),
            **({"range": headers.get("Range", "")} if method == "GET" else {}),
        }
    return ObjectUsed(webhooks, site.target.name, method, body)


def _upload(file: FileHead, size: int) -> dict[str, Any]:
    return {"filename": file.file_name, "contentType": file.content_type, "contentSize": size}


def _moment(moment: datetime | None) -> str:
    """Formats a time as RFC 3339; empty for None."""
    return "" if moment is None else moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
