"""A file as it arrives: its head is checked before the body, its form or path names it, its content is a stream.

A form (multipart, RFC 7578) is read as it arrives: its one file is a stream, all else is counted and dropped.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import TYPE_CHECKING

import msgspec
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from tornado_proxy.routing.request import LengthRequired, RequestError
from tornado_proxy.semantics import fields
from tornado_proxy.storage.errors import TooLarge
from tornado_proxy.web.limits import LARGEST_PART_HEADER, LONGEST_CONTENT_TYPE, LONGEST_MEDIA_TYPE, PIECE_OF_FORM
from tornado_proxy.wire.incoming import content_length

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


FILE_FIELD = "file"

# The parser would log a warning for each mistake of a client; the access log has the reason already.
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)  # noqa: LOG001 - outside the tree that people configure

_PLAIN = frozenset({b"7bit", b"8bit", b"binary"})  # transfer encodings that change nothing (RFC 2045 6.2)

_BOUNDARIES = re.compile(r"[;,\s]boundary[*0-9]*\s*=", re.IGNORECASE)


class NotAForm(RequestError):
    """An upload whose body is not `multipart/form-data`."""

    status = 415
    public_message = "An upload is a form (multipart/form-data) with one field “file”"


class NotAFile(RequestError):
    """An upload to a file path whose body is a form, or has a content coding."""

    status = 415
    public_message = "A file is sent to its path as it is, and a form to an address that ends in “/”"


class PartialPut(RequestError):
    """A PUT that carries a part of a file only (RFC 9110 14.5)."""

    public_message = "A file is uploaded as a whole"


class DigestMismatch(RequestError):
    """A body that is not what Content-MD5 or Content-Digest announce, or a digest that cannot be read."""

    public_message = "The upload does not match its digest"


class MalformedForm(RequestError):
    """A form that breaks its grammar (RFC 7578), ends before its closing boundary, or has not exactly one `file`."""

    public_message = "An upload is a complete form with one field “file”"


class FormTooLarge(RequestError):
    """A form that holds more than is allowed besides its file: other fields, headers, a preamble or an epilogue."""

    status = 413


class FileHead(msgspec.Struct, frozen=True):
    """A file before its content: its name without directories, its type as sent, and its size in bytes, if known."""

    file_name: str
    sent_type: str | None
    announced: int | None = None

    @property
    def content_type(self) -> str:
        """The type to store the file under: the sent one, if valid, else what the name suggests."""
        sent = self.sent_type
        if sent and len(sent) <= LONGEST_MEDIA_TYPE and fields.is_media_type(sent):
            return sent.replace("\t", " ")  # as boto3 signs it
        return fields.type_of_name(self.file_name)


class IncomingFile:
    """A file that is arriving, in a form or as the body itself; `size` is the number of bytes received."""

    def __init__(self, head: FileHead, chunks: AsyncIterator[bytes]) -> None:
        self.head = head
        self.size = 0
        # Of a text that does not say.
        self.text = fields.Utf8Check() if fields.lacks_charset(head.content_type) else None
        self._chunks = chunks

    async def content(self, *, exactly: bool = False) -> AsyncGenerator[bytes, None]:
        """Yields the bytes of the file; ends only when the whole body has been read and was right.

        If `exactly`, raises `MalformedForm` for another size than announced.
        """
        async for chunk in self._chunks:
            self.size += len(chunk)
            if self.text is not None:
                self.text.update(chunk)
            yield chunk
        if self.text is not None:
            self.text.end()
        if exactly and self.size != self.head.announced:
            raise MalformedForm("the file is not the last part of the form, so its size is known too late")


async def read_form(
    headers: Mapping[str, str], body: AsyncIterator[bytes], limit: int, max_size: int | None
) -> IncomingFile:
    """Reads a form up to the content of its file; `limit` is for all but the file, `max_size` for the file, in bytes.

    Raises `NotAForm`, `MalformedForm`, `DigestMismatch`, and `TooLarge` if no form of the announced length could be
    small enough.
    """
    checked = _checked(headers, body)
    separator = boundary(headers.get("Content-Type"))
    length = _announced_length(headers)
    if max_size is not None and (length or 0) > max_size + limit:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    form = MultipartForm(checked, separator, limit, length)
    return IncomingFile(await form.file(), form.content())


def raw_upload(
    headers: Mapping[str, str], body: AsyncIterator[bytes], file_name: str, max_size: int | None
) -> IncomingFile:
    """Returns the body itself as a file.

    Raises `LengthRequired`, `NotAFile`, `PartialPut`, `DigestMismatch`, `TooLarge` before the body is read.
    """
    checked = _checked(headers, body)
    check_raw(headers)
    length = _announced_length(headers)
    if length is None and "Transfer-Encoding" not in headers:
        raise LengthRequired("the upload has neither `Content-Length` nor `Transfer-Encoding`")
    if max_size is not None and (length or 0) > max_size:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    return IncomingFile(FileHead(file_name, headers.get("Content-Type"), length), checked)


def check_raw(headers: Mapping[str, str]) -> None:
    """Raises `NotAFile` or `PartialPut` unless the headers announce a body that is a whole file as it is."""
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() == "multipart/form-data":
        raise NotAFile("a form is uploaded to a path that ends in `/`")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NotAFile("an upload with a `Content-Encoding` would be stored as what it is not")
    if "Content-Range" in headers:
        # RFC 9110 14.5: stored as a whole, a part would be taken for the whole file.
        raise PartialPut("a PUT with `Content-Range` would store a part as the whole file")


def _checked(headers: Mapping[str, str], body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Returns a body that raises `DigestMismatch` at its end if the headers announce another digest than its own."""
    try:
        check = fields.ContentCheck(headers.get("Content-Md5"), headers.get("Content-Digest"))
    except ValueError as error:
        raise DigestMismatch(f"the digest cannot be read: {error}") from None
    return _compared(body, check) if check else body


async def _compared(body: AsyncIterator[bytes], check: fields.ContentCheck) -> AsyncIterator[bytes]:
    async for chunk in body:
        check.update(chunk)
        yield chunk
    if (wrong := check.mismatch()) is not None:
        raise DigestMismatch(f"the body does not match its `{wrong}` digest")


def _announced_length(headers: Mapping[str, str]) -> int | None:
    length = headers.get("Content-Length")
    return None if length is None else content_length(length)  # other servers' parsers let some invalid ones pass


def boundary(content_type: str | None) -> bytes:
    """Returns the boundary that a Content-Type announces; raises `NotAForm`, or `MalformedForm` if it names none."""
    if content_type and len(content_type) > LONGEST_CONTENT_TYPE:
        raise MalformedForm("the Content-Type is too long")
    media_type, options = parse_options_header(content_type)
    if media_type != b"multipart/form-data":
        raise NotAForm("the body is not `multipart/form-data`")
    if not (announced := options.get(b"boundary")):
        raise MalformedForm("the Content-Type of the form has no boundary")
    if len(_BOUNDARIES.findall(content_type or "")) > 1:
        # What reads the form before this service may choose the other one. Two headers are one here, with a comma.
        raise MalformedForm("the Content-Type of the form has several boundaries")
    return announced


class MultipartForm:
    """A form whose body arrives in chunks; ask for its file first, then for the file's content.

    `limit` bounds, in bytes, all that is not the file's content; `length` is what the whole form announces, if it does.
    Both methods raise `MalformedForm`, `FormTooLarge` and whatever the chunks raise.
    """

    def __init__(self, chunks: AsyncIterator[bytes], separator: bytes, limit: int, length: int | None = None) -> None:
        self._chunks = chunks
        self._limit = limit
        self._length = length
        self._closing = len(b"\r\n--" + separator + b"--\r\n")
        self._boundary = b"--" + separator
        self._delimiters = b"\n" + self._boundary, b"\r" + self._boundary
        self._before = b""  # the end of the content so far, in which a line with the boundary may have begun
        self._overhead = 0  # bytes so far that are not the file's content
        self._file: FileHead | None = None
        self._pieces: list[bytes] = []  # of the file's content, parsed and not yet yielded
        self._in_file = False
        self._complete = False
        self._headers: dict[bytes, bytes] = {}
        self._name, self._value = bytearray(), bytearray()
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._headers.clear,
            "on_header_field": lambda data, start, end: self._name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._value.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add_data,
            "on_end": self._end,
        }
        try:
            self._parser = MultipartParser(separator, callbacks, max_header_size=LARGEST_PART_HEADER)
        except FormParserError as error:
            raise MalformedForm(f"the form's boundary is unusable: {error}") from error
        self._parser.logger = _SILENT

    async def file(self) -> FileHead:
        """Returns the head of the file, as soon as it has arrived; it has a size if the file is the last part."""
        while self._file is None:
            if not await self._read():
                raise MalformedForm(f"the form has no field `{FILE_FIELD}`")
        return self._file

    async def content(self) -> AsyncIterator[bytes]:
        """Yields the file's bytes; ends only when the whole form has been read and was right."""
        has_more = True
        while has_more:
            pieces, self._pieces = self._pieces, []
            for piece in pieces:
                yield piece
            has_more = await self._read()

    async def _read(self) -> bool:
        """Parses the next chunk; returns whether there was one."""
        if (chunk := await anext(self._chunks, None)) is not None:
            while self._file is None and len(chunk) > PIECE_OF_FORM:
                self._feed(chunk[:PIECE_OF_FORM])
                chunk = chunk[PIECE_OF_FORM:]
                await asyncio.sleep(0)
            self._feed(chunk)
        elif not self._complete:
            raise MalformedForm("the form ends before its closing boundary")
        return chunk is not None

    def _feed(self, chunk: bytes) -> None:
        at = 0
        # Line by line up to the file's head, which ends a line: so it is known where the content begins.
        while self._file is None and (end := chunk.find(b"\n", at) + 1):
            self._parse(chunk[at:end])
            if self._in_file:
                name = (self._disposition().filename or "").rpartition("/")[2]
                sent_type = self._headers.get(b"content-type")
                size = None if self._length is None else self._length - self._overhead - self._closing
                self._file = FileHead(name, None if sent_type is None else sent_type.decode("latin-1"), size)
            at = end
        self._parse(chunk[at:])

    def _parse(self, data: bytes) -> None:
        self._overhead += len(data)
        try:
            self._parser.write(data)
        except FormParserError as error:
            raise MalformedForm(f"malformed form: {error}") from error
        if self._overhead > self._limit:
            raise FormTooLarge(f"the form has more than {self._limit} bytes besides its file")

    # The parser calls these at the end of a header, at the end of all headers, for content, and at the end of the form.

    def _end_header(self) -> None:
        name, value = bytes(self._name).lower(), bytes(self._value)
        if name in self._headers:
            # What reads the form before this service may take the other one.
            raise MalformedForm(f"the header `{name.decode('latin-1')}` of a part is there twice")
        if b"\n" in value or b"\0" in value:
            # RFC 9110 5.5. Other readers end the line there, and then the headers at the next line if it is empty.
            raise MalformedForm(f"the header `{name.decode('latin-1')}` of a part has a line feed in it, or a NUL")
        self._headers[name] = value
        self._name.clear()
        self._value.clear()

    def _end_headers(self) -> None:
        self._before = b"\n"
        if self._headers.get(b"content-transfer-encoding", b"binary").strip().lower() not in _PLAIN:
            # RFC 7578 4.7. Some readers decode it.
            raise MalformedForm("a part has a `Content-Transfer-Encoding`")
        name = self._disposition().name or ""
        if "\\" in name:
            raise MalformedForm("the name of a field has a backslash")  # which only some readers take for an escape
        self._in_file = name == FILE_FIELD
        if self._in_file and self._file is not None:
            raise MalformedForm(f"the form has more than one field `{FILE_FIELD}`")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        size = len(self._boundary)
        seam = self._before + data[start : min(start + size, end)]
        if self._is_in_line(seam, 0, len(seam)) or self._is_in_line(data, start, end):
            # RFC 2046 5.1.1. Some readers end the part there: at its beginning, after a single LF or CR, or in
            # spite of what follows.
            raise MalformedForm("a line of a part begins with the boundary")
        self._before = (self._before + data[max(start, end - size) : end])[-size:]
        if self._in_file:
            self._pieces.append(data[start:end])
            self._overhead -= end - start

    def _is_in_line(self, data: bytes, start: int, end: int) -> bool:
        """Whether a line begins with the boundary; where the boundary is nowhere, one search is enough."""
        return data.find(self._boundary, start, end) >= 0 and any(
            data.find(delimiter, start, end) >= 0 for delimiter in self._delimiters
        )

    def _end(self) -> None:
        self._complete = True

    def _disposition(self) -> fields.Disposition:
        # Bytes that are no UTF-8 become surrogates, which no key may hold.
        text = self._headers.get(b"content-disposition", b"").decode("utf-8", "surrogateescape")
        if text.partition(";")[0].strip(" \t").lower() != "form-data":
            raise MalformedForm("a part is not `form-data`")
        try:
            return fields.Disposition.from_header(text)
        except ValueError as error:
            raise MalformedForm(str(error)) from error
