"""Performs the attempts of uploads: stores files whole or in parts, and gives out forms for S3."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing

from tornado_proxy.pages.custom import CustomRendering, PutPageData, StoredUpload
from tornado_proxy.pages.render import UPLOAD_FORMS, choose
from tornado_proxy.routing import upload_steps
from tornado_proxy.routing.limits import LARGEST_PART, MOST_PARTS, SMALLEST_PART
from tornado_proxy.routing.plan import OfferForm, Receive
from tornado_proxy.routing.request import LengthRequired, ObjectKey, RequestError
from tornado_proxy.semantics.fields import is_of_types
from tornado_proxy.storage.errors import TooLarge
from tornado_proxy.storage.store import IncomingPart, UploadedPart, Write
from tornado_proxy.templates.template import HeaderFields, PutData, PutInput
from tornado_proxy.web.answer import Answer, Whole, page
from tornado_proxy.web.custom_pages import customized
from tornado_proxy.web.generation import RequestContext
from tornado_proxy.web.incoming_file import FileHead, check_raw


class UploadIncomplete(RequestError):
    """An upload whose parts are not the whole file: one is missing or too small, or their sum is wrong."""

    public_message = "The parts of the upload are not the whole file"


class TypeNotAllowed(RequestError):
    """An upload of a type that is not one of the target's `allowedTypes`."""

    status = 415
    public_message = "Files of this type are not accepted here"


async def receive(attempt: Receive, context: RequestContext) -> Answer:
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


async def sign_form(attempt: OfferForm, context: RequestContext) -> Answer:
    """Answers with a form for S3."""
    asked = context.conditions
    if asked.if_match or asked.if_none_match or asked.if_unmodified_since:
        raise RequestError("a form of S3 has no conditions")
    file = named_file(context)
    _check_type(file, context)
    properties = _properties(attempt.key, file, context)
    write = Write(file.content_type, max_size=attempt.max_size, properties=properties)
    form = await context.store.presign_upload(attempt.key, write, attempt.expires)
    fields = {"url": form.url, "fields": dict(form.fields), "location": attempt.location, "maxSize": attempt.max_size}
    return _json({**fields, "expiresIn": attempt.expires})


async def begin(attempt: upload_steps.BeginUpload, context: RequestContext) -> Answer:
    """Begins an upload in parts, if its size and type are allowed."""
    check_raw(context.headers)
    _check_total(attempt.size, attempt.max_size)
    file = named_file(context)
    _check_type(file, context)
    properties = _properties(attempt.key, file, context)
    write = Write(file.content_type, attempt.replace, context.conditions, properties=properties)
    upload = await context.store.begin_upload(attempt.key, write)
    limits = {
        "minPartSize": SMALLEST_PART,
        "maxPartSize": LARGEST_PART,
        "maxParts": MOST_PARTS,
    }
    return _json({"id": upload, "location": attempt.location, **limits})


async def receive_part(attempt: upload_steps.ReceivePart, context: RequestContext) -> Answer:
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


async def list_parts(attempt: upload_steps.ListParts, context: RequestContext) -> Answer:
    """Answers with the numbers and sizes of the stored parts, so that a client can resume an upload."""
    parts = await context.store.list_parts(attempt.key, attempt.upload)
    return _json({"parts": [{"number": each.number, "size": each.size} for each in parts]})


async def complete(attempt: upload_steps.CompleteUpload, context: RequestContext) -> Answer:
    """Makes a file of the stored parts, if they are complete."""
    # The parts with low numbers may have come last: nothing has counted them yet.
    parts = await _parts_within(attempt.max_size, attempt, context)
    _check_total(attempt.size, attempt.max_size)
    check_parts(parts, attempt.size)
    file = named_file(context)
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
    except TooLarge:
        await context.store.abort_upload(attempt.key, attempt.upload)
        raise
    return parts


async def abort(attempt: upload_steps.AbortUpload, context: RequestContext) -> Answer:
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


def named_file(context: RequestContext) -> FileHead:
    """Returns the head of a file without its content: named by the path, of the type that the request names."""
    return FileHead(context.request.path.rpartition("/")[2], context.headers.get("Content-Type"))


def _check_total(size: int, max_size: int | None) -> None:
    largest = MOST_PARTS * LARGEST_PART
    most = min(max_size or largest, largest)
    if size > most:
        raise TooLarge(f"the upload has {size} bytes, {most} are allowed")


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
    attempt: Receive | upload_steps.CompleteUpload, data: StoredUpload, etag: str | None, context: RequestContext
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
