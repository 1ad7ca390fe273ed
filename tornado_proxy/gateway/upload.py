"""An upload: its head is checked before a byte is read, its form names the file, its file is stored as it arrives."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from mimetypes import MimeTypes

from tornado_proxy.gateway.answer import DEFAULT_TYPE
from tornado_proxy.gateway.form import FilePart, Form, boundary
from tornado_proxy.storage.errors import TooLarge

# RFC 9110 8.3.1, as S3 can keep it: printable ASCII, and no longer than anyone needs.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule, no secret
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[\t\x20-\x7e]*)?")
_LONGEST_TYPE = 255

# The library's own table, not the machine's: the same name has the same type everywhere.
_TYPES = MimeTypes()
_COMPRESSED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form that was read as far as its file: the content is still to come."""

    form: Form
    file: FilePart


async def read_upload(
    headers: Mapping[str, str], body: AsyncIterator[bytes], limit: int, max_size: int | None
) -> UploadForm:
    """Reads a form as far as its file; `limit` is for everything but the file, `max_size` for the file, in bytes.

    Raises `NotAForm`, `MalformedForm`, and `TooLarge` where no form of the announced length could be small enough.
    """
    separator = boundary(headers.get("Content-Type"))
    length = headers.get("Content-Length", "0").partition(",")[0]
    if max_size is not None and int(length) > max_size + limit:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    form = Form(body, separator, limit)
    return UploadForm(form, await form.file())


def content_type(sent: str | None, name: str) -> str:
    """Returns the type to store a file under: the one that its part names, if valid, else what its name suggests."""
    if sent and len(sent) <= _LONGEST_TYPE and _MEDIA_TYPE.fullmatch(sent):
        return sent
    guessed, encoding = _TYPES.guess_type(name)
    return (_COMPRESSED.get(encoding) if encoding else guessed) or DEFAULT_TYPE
