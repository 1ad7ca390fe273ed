"""An upload taken in: what its head announces is checked before a byte is read, its file is stored as it arrives."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from mimetypes import MimeTypes

from tornado_proxy.gateway.answer import Answer, page
from tornado_proxy.gateway.form import FilePart, Form, boundary
from tornado_proxy.gateway.perform import Scene
from tornado_proxy.pages.forms import choose
from tornado_proxy.pages.render import UPLOAD_FORMS, Upload
from tornado_proxy.routing.plan import Receive
from tornado_proxy.storage.errors import TooLarge
from tornado_proxy.storage.store import Write

_DEFAULT_TYPE = "application/octet-stream"

# RFC 9110 8.3.1, as S3 can keep it: printable ASCII, and no longer than anyone needs.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule, no secret
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[\t\x20-\x7e]*)?")
_LONGEST_TYPE = 255

# The library's own table, not the machine's: the same name has the same type everywhere.
_TYPES = MimeTypes()
_COMPRESSED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


def announced_form(headers: Mapping[str, str], body: AsyncIterator[bytes], limit: int, max_size: int | None) -> Form:
    """The form that a request's head announces, not read yet; `limit` is for all but its file, `max_size` for that.

    Raises `NotAForm`, `MalformedForm`, and `TooLarge` where no form of the announced length could be small enough.
    """
    separator = boundary(headers.get("Content-Type"))
    length = headers.get("Content-Length", "0").partition(",")[0]
    if max_size is not None and int(length) > max_size + limit:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    return Form(body, separator, limit)


async def store_file(attempt: Receive, form: Form, part: FilePart, scene: Scene) -> Answer:
    """Store the form's file, which is there only if the whole form was right; raises `StorageError` and the form's."""
    name = attempt.location.rpartition("/")[2]
    write = Write(content_type(part.content_type, name), attempt.replace, scene.conditions, attempt.max_size)
    async with aclosing(form.content()) as chunks:
        stored = await scene.store.put(attempt.key, chunks, write)
    chosen = choose(UPLOAD_FORMS, scene.headers.get("Accept"), scene.query.get("format"))
    rendering = scene.pages.upload(Upload(attempt.location, form.file_size, stored.etag), chosen)
    return page(201, rendering, (("Location", attempt.location),))


def content_type(sent: str | None, name: str) -> str:
    """The type to store a file under: the one that its part names, if it is one, else what its name suggests."""
    if sent and len(sent) <= _LONGEST_TYPE and _MEDIA_TYPE.fullmatch(sent):
        return sent
    guessed, encoding = _TYPES.guess_type(name)
    return (_COMPRESSED.get(encoding) if encoding else guessed) or _DEFAULT_TYPE
