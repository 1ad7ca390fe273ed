"""Uploads: checks the head before the body, takes the name from the form or the path, and streams the content.

A form (multipart, RFC 7578) is read as it arrives: its one file is a stream, all else is counted and dropped.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from mimetypes import MimeTypes
from typing import TYPE_CHECKING

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from tornado_proxy.gateway.answer import DEFAULT_TYPE
from tornado_proxy.routing.errors import LengthRequired, RequestError
from tornado_proxy.semantics.fields import ContentCheck, Disposition
from tornado_proxy.storage.errors import TooLarge

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks


FILE_FIELD = "file"

# The parser would write a warning for each mistake of a client; ours stands in the access log.
_SILENT = logging.Logger("silent", logging.CRITICAL + 1)  # noqa: LOG001 - outside the tree that people configure


class NotAForm(RequestError):
    """An upload whose body is not `multipart/form-data`."""


class NotAFile(RequestError):
    """An upload to a file path whose body is a form, or has a content coding."""


class PartialPut(RequestError):
    """A PUT that carries a part of a file only (RFC 9110 14.5)."""


class DigestMismatch(RequestError):
    """A body that is not what Content-MD5 or Content-Digest announce, or a digest that cannot be read."""


class MalformedForm(RequestError):
    """A form that breaks its grammar (RFC 7578), ends before its closing boundary, or has not exactly one `file`."""


class FormTooLarge(RequestError):
    """A form that holds more than is allowed besides its file: other fields, headers, a preamble or an epilogue."""


@dataclass(frozen=True, slots=True)
class FilePart:
    """What the head of the file's part says; both as sent."""

    file_name: str
    content_type: str | None


_Token = FilePart | bytes

_MAX_PART_HEADER_SIZE = 16 * 1024  # bytes of one header line; a file's name may stand in it twice, escaped


# A boundary has 70 characters at most (RFC 2046 5.1.1); the library takes a millisecond a KiB of parameters.
_LONGEST_CONTENT_TYPE = 1024


def boundary(content_type: str | None) -> bytes:
    """The boundary that a Content-Type announces; raises `NotAForm`, or `MalformedForm` where it names none."""
    if content_type and len(content_type) > _LONGEST_CONTENT_TYPE:
        raise MalformedForm("the Content-Type is too long")
    media_type, options = parse_options_header(content_type)
    if media_type != b"multipart/form-data":
        raise NotAForm("the body is not `multipart/form-data`")
    announced = options.get(b"boundary")
    if not announced:
        raise MalformedForm("the form names no boundary")
    return announced


class MultipartForm:
    """A form whose body arrives in chunks; first ask for its file, then for the file's content.

    `limit` bounds, in bytes, all that is not the file's content. Both methods raise `MalformedForm`, `FormTooLarge`
    and whatever the chunks raise.
    """

    def __init__(self, chunks: AsyncIterator[bytes], separator: bytes, limit: int) -> None:
        self._chunks = chunks
        self._limit = limit
        self._overhead = 0
        self._scanner = _Scanner(separator)
        self._closing = len(b"\r\n--" + separator + b"--\r\n")
        self.file_start: int | None = None
        """The bytes of the form in front of the file's content, once its head has arrived."""

    @property
    def file_size(self) -> int:
        """The bytes of the file's content that have arrived."""
        return self._scanner.file_size

    def announced(self, length: int) -> int:
        """The size of the file of a form of a length in bytes, if it is the form's last part."""
        return length - (self.file_start or 0) - self._closing

    async def file(self) -> FilePart:
        """The file's part, as soon as its head has arrived."""
        token = await self._next()
        if not isinstance(token, FilePart):
            raise MalformedForm(f"the form has no field `{FILE_FIELD}`")
        return token

    async def content(self) -> AsyncGenerator[bytes, None]:
        """The file's bytes; ends only when the whole form has been read and was right."""
        while (token := await self._next()) is not None:
            if isinstance(token, FilePart):
                raise MalformedForm(f"the form has more than one field `{FILE_FIELD}`")
            yield token

    async def _next(self) -> _Token | None:
        while not self._scanner.tokens:
            chunk = await anext(self._chunks, None)
            if chunk is not None:
                self._feed(chunk)
            elif self._scanner.complete:
                return None
            else:
                raise MalformedForm("the form ends before its closing boundary")
        return self._scanner.tokens.popleft()

    def _feed(self, chunk: bytes) -> None:
        before, at = self._scanner.file_size, 0
        # Line by line as far as the file's head, which ends a line: so it is known where the content begins.
        while self.file_start is None and (end := chunk.find(b"\n", at) + 1):
            self._scanner.feed(chunk[at:end])
            if self._scanner.tokens:
                self.file_start = self._overhead + end
            at = end
        self._scanner.feed(chunk[at:])
        self._overhead += len(chunk) - (self._scanner.file_size - before)
        if self._overhead > self._limit:
            raise FormTooLarge(f"the form holds more than {self._limit} bytes besides its file")


class _Scanner:
    """What the push parser's callbacks make of a form's bytes: tokens of the file, and nothing of the rest."""

    def __init__(self, separator: bytes) -> None:
        self.tokens: deque[_Token] = deque()
        self.file_size = 0  # bytes of the file's content so far
        self.complete = False
        self._in_file = False
        self._headers: dict[bytes, bytes] = {}
        self._name = self._value = b""
        self._parser = self._make_parser(separator)

    def feed(self, chunk: bytes) -> None:
        """Parses one more chunk; raises `MalformedForm`."""
        try:
            self._parser.write(chunk)
        except FormParserError as error:
            raise MalformedForm(f"the form is broken: {error}") from error

    def _make_parser(self, separator: bytes) -> MultipartParser:
        callbacks: MultipartCallbacks = {
            "on_part_begin": self._begin_part,
            "on_header_field": self._add_to_name,
            "on_header_value": self._add_to_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._end_headers,
            "on_part_data": self._add_data,
            "on_end": self._end,
        }
        try:
            parser = MultipartParser(separator, callbacks, max_header_size=_MAX_PART_HEADER_SIZE)
        except FormParserError as error:
            raise MalformedForm(f"the form's boundary is unusable: {error}") from error
        parser.logger = _SILENT
        return parser

    def _begin_part(self) -> None:
        self._headers = {}
        self._in_file = False

    def _add_to_name(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _end_header(self) -> None:
        self._headers[self._name.lower()] = self._value
        self._name = self._value = b""

    def _end_headers(self) -> None:
        disposition = self._disposition()
        self._in_file = disposition.name == FILE_FIELD
        if self._in_file:
            content_type = self._headers.get(b"content-type")
            sent = None if content_type is None else content_type.decode("latin-1")
            self.tokens.append(FilePart(disposition.filename or "", sent))

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        if self._in_file:
            self.file_size += end - start
            self.tokens.append(data[start:end])

    def _end(self) -> None:
        self.complete = True

    def _disposition(self) -> Disposition:
        # Bytes that are no UTF-8 become surrogates, which no key may hold.
        text = self._headers.get(b"content-disposition", b"").decode("utf-8", "surrogateescape")
        try:
            return Disposition.from_header(text)
        except ValueError as error:
            raise MalformedForm(str(error)) from error


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
    check_raw(headers)
    length = announced_length(headers)
    if length is None and "Transfer-Encoding" not in headers:
        raise LengthRequired("the upload has neither `Content-Length` nor `Transfer-Encoding`")
    if max_size is not None and (length or 0) > max_size:
        raise TooLarge(f"the upload announces {length} bytes, {max_size} are allowed")
    return IncomingFile(file_name, headers.get("Content-Type"), length, _chunks(body))


def check_raw(headers: Mapping[str, str]) -> None:
    """Raises `NotAFile` or `PartialPut` for headers of a body that is not itself a file, encoded as nothing else."""
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() == "multipart/form-data":
        raise NotAFile("a form is uploaded to a path that ends in `/`")
    if headers.get("Content-Encoding", "identity").strip().lower() != "identity":
        raise NotAFile("an upload with a `Content-Encoding` would be stored as what it is not")
    if "Content-Range" in headers:
        # RFC 9110 14.5: stored as a whole, a part would be taken for the whole file.
        raise PartialPut("a PUT with `Content-Range` would store a part as the whole file")


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
