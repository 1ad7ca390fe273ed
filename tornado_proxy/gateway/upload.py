"""Uploads: checks the head before the body, takes the name from the form or the path, and streams the content."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from mimetypes import MimeTypes

from tornado_proxy.gateway.answer import DEFAULT_TYPE
from tornado_proxy.gateway.errors import DigestMismatch, MalformedForm, NotAFile, PartialPut
from tornado_proxy.gateway.form import MultipartForm, boundary
from tornado_proxy.routing.errors import LengthRequired
from tornado_proxy.semantics.fields import ContentCheck
from tornado_proxy.storage.errors import TooLarge

# RFC 9110 8.3.1, as S3 can keep it: printable ASCII, and no longer than anyone needs.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule, no secret
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[\t\x20-\x7e]*)?")
_LONGEST_TYPE = 255

# The library's own table, not the machine's: the same name has the same type everywhere.
_TYPES = MimeTypes()
_COMPRESSED = {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}


class FileHead:
    """The data of a file before its content; `announced` is its size in bytes, if known."""

    def __init__(self, file_name: str, sent_type: str | None, announced: int | None) -> None:
        self.file_name = file_name
        self.sent_type = sent_type
        self.announced = announced


class IncomingFile(FileHead):
    """A file that is arriving, in a form or as the body itself; `size` is the number of bytes received."""

    def __init__(
        self, file_name: str, sent_type: str | None, announced: int | None, chunks: AsyncGenerator[bytes, None]
    ) -> None:
        super().__init__(file_name, sent_type, announced)
        self.size = 0
        self._chunks = chunks

    async def content(self, *, exactly: bool = False) -> AsyncGenerator[bytes, None]:
        """The bytes of the file; raises `MalformedForm` for another size than announced, where `exactly` asks for it.

        It ends only when the whole body has been read and was right.
        """
        async with aclosing(self._chunks) as chunks:
            async for chunk in chunks:
                self.size += len(chunk)
                yield chunk
        if exactly and self.size != self.announced:
            raise MalformedForm("the file is not the last part of the form, so its size is known too late")


async def read_form(
    headers: Mapping[str, str], body: AsyncIterator[bytes], limit: int, max_size: int | None
) -> IncomingFile:
    """Reads a form as far as its file; `limit` is for everything but the file, `max_size` for the file, in bytes.

    Raises `NotAForm`, `MalformedForm`, and `TooLarge` where no form of the announced length could be small enough.
    """
    separator = boundary(headers.get("Content-Type"))
    length = announced_length(headers)
    if max_size is not None and (length or 0) > max_size + limit:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    form = MultipartForm(body, separator, limit)
    part = await form.file()
    size = None if length is None else form.announced(length)
    return IncomingFile(part.file_name, part.content_type, size, form.content())


def raw_upload(
    headers: Mapping[str, str], body: AsyncIterator[bytes], file_name: str, max_size: int | None
) -> IncomingFile:
    """The body itself as a file; raises `LengthRequired`, `NotAFile`, `PartialPut`, `TooLarge` before it is read."""
    sent_type = headers.get("Content-Type")
    if sent_type and sent_type.partition(";")[0].strip().lower() == "multipart/form-data":
        raise NotAFile("a form is uploaded to a path that ends in `/`")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NotAFile("an upload with a `Content-Encoding` would be stored as what it is not")
    if "Content-Range" in headers:
        # RFC 9110 14.5: stored as a whole, a part would be taken for the whole file.
        raise PartialPut("a PUT with `Content-Range` would store a part as the whole file")
    length = announced_length(headers)
    if length is None and "Transfer-Encoding" not in headers:
        raise LengthRequired("the upload has neither `Content-Length` nor `Transfer-Encoding`")
    if max_size is not None and (length or 0) > max_size:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    return IncomingFile(file_name, sent_type, length, _chunks(body))


def checked(headers: Mapping[str, str], body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The body, whose end raises `DigestMismatch` where a digest among the headers is another than its own."""
    try:
        check = ContentCheck(headers.get("Content-Md5"), headers.get("Content-Digest"))
    except ValueError as error:
        raise DigestMismatch(f"the digest cannot be read: {error}") from None
    return _checked(body, check) if check else body


async def _checked(body: AsyncIterator[bytes], check: ContentCheck) -> AsyncIterator[bytes]:
    async for chunk in body:
        check.update(chunk)
        yield chunk
    wrong = check.mismatch()
    if wrong is not None:
        raise DigestMismatch(f"the body does not match its `{wrong}` digest")


def announced_length(headers: Mapping[str, str]) -> int | None:
    """The length of a body in bytes; None where none is announced."""
    length = headers.get("Content-Length")
    return None if length is None else int(length)


async def _chunks(body: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    async for chunk in body:
        yield chunk


def stored_type(file: FileHead) -> str:
    """Returns the type to store a file under."""
    return content_type(file.sent_type, file.file_name)


def content_type(sent: str | None, name: str) -> str:
    """Returns the type to store a file under: the one that its part names, if valid, else what its name suggests."""
    if sent and len(sent) <= _LONGEST_TYPE and _MEDIA_TYPE.fullmatch(sent):
        return sent
    guessed, encoding = _TYPES.guess_type(name)
    return (_COMPRESSED.get(encoding) if encoding else guessed) or DEFAULT_TYPE
