"""Uploads: the steps of an upload in parts, one request each, and the stored properties of files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.header import Header

import msgspec

from gotemplate.template.errors import RenderError, RenderLimits
from tornado_proxy.config.actions import PutAction, SystemMetadata
from tornado_proxy.config.options import camel_case, options_of
from tornado_proxy.routing.limits import LARGEST_PART, LONGEST_UPLOAD_ID, MOST_METADATA, MOST_PARTS
from tornado_proxy.routing.request import BadStep, LengthRequired, ObjectKey, PropertyFailed, RequestError
from tornado_proxy.rules.model import path_objection
from tornado_proxy.semantics.fields import encoded_disposition
from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.go import PageTemplate, compile_page
from tornado_proxy.templates.template import PutData

_NUMBER = re.compile(r"[0-9]{1,19}")


class BeginUpload(msgspec.Struct, frozen=True):
    """Begin an upload in parts of a file of `size` bytes; `location` is its request path, percent-encoded."""

    key: ObjectKey
    location: str
    size: int
    replace: bool
    max_size: int | None


class ReceivePart(msgspec.Struct, frozen=True):
    """Store a part, numbered from 1, of a file of `max_total` bytes at most."""

    key: ObjectKey
    upload: str
    number: int
    max_total: int | None

    @property
    def max_size(self) -> int:
        """The most bytes of the part."""
        return LARGEST_PART if self.max_total is None else min(self.max_total, LARGEST_PART)

    @property
    def may_exceed(self) -> bool:
        """Whether the file may be too large with this part, even if no part of a higher number is sent."""
        return self.max_total is not None and self.number * LARGEST_PART > self.max_total


class ListParts(msgspec.Struct, frozen=True):
    """Answer with the parts of an upload that are stored."""

    key: ObjectKey
    upload: str


class CompleteUpload(msgspec.Struct, frozen=True):
    """Make the parts of an upload an object of `size` bytes."""

    key: ObjectKey
    location: str
    upload: str
    size: int
    replace: bool
    max_size: int | None


class AbortUpload(msgspec.Struct, frozen=True):
    """Remove an upload and its parts."""

    key: ObjectKey
    upload: str


UploadStep = BeginUpload | ReceivePart | ListParts | CompleteUpload | AbortUpload

_STEPS = ("start", "part", "parts", "complete", "abort")  # the values of `?upload=`


def upload_step(request: Request, key: ObjectKey, location: str, put: PutAction) -> UploadStep:
    """Returns the step that the query of a PUT names; raises `BadStep` if the query is invalid."""
    query = request.parameters
    step = query["upload"]
    if step not in _STEPS:
        raise BadStep(f"`upload` is not one of {', '.join(_STEPS)} and direct")
    if len(query) < len(request.query):
        raise BadStep("the query names a parameter twice")
    if step == "start":
        size = _number(query, "size")
        if size == 0:
            raise BadStep("an empty file has no parts")
        return BeginUpload(key, location, size, put.allow_override, put.max_size)
    upload = query.get("id", "")
    # A gateway to a file system takes an ID as the name of a directory: by `..` it would remove the whole bucket.
    leads_away = path_objection(upload.replace("\\", "/"))
    if not 0 < len(upload) <= LONGEST_UPLOAD_ID or not upload.isprintable() or leads_away:
        raise BadStep("the query has no valid `id` of an upload")
    match step:
        case "part":
            number = _number(query, "number")
            if not 1 <= number <= MOST_PARTS:
                raise BadStep(f"the number of a part is not one of 1 to {MOST_PARTS}")
            return ReceivePart(key, upload, number, put.max_size)
        case "parts":
            return ListParts(key, upload)
        case "complete":
            size = _number(query, "size")
            return CompleteUpload(key, location, upload, size, put.allow_override, put.max_size)
        case _:
            return AbortUpload(key, upload)


def _number(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if _NUMBER.fullmatch(text) is None:
        raise BadStep(f"the query has no valid `{name}`")
    return int(text)


_LIMITS = RenderLimits()
_LINE_ENDS = re.compile("\r?\n|[\x85\u2028\u2029]")
_WHITE_SPACE = re.compile(r"\s")


class Properties(msgspec.Struct, frozen=True):
    """The properties of an object besides its content and type; None and empty values are not stored."""

    metadata: Mapping[str, str] = {}
    cache_control: str | None = None
    content_disposition: str | None = None
    content_encoding: str | None = None
    content_language: str | None = None
    expires: datetime | None = None
    storage_class: str | None = None
    canned_acl: str | None = None


class PropertyTemplates:
    """The templates of a target's uploads, compiled."""

    def __init__(self, put: PutAction) -> None:
        self._metadata = [(name.lower(), compile_page(text)) for name, text in put.metadata]
        texts = {each.attribute: getattr(put.system_metadata, each.attribute) for each in options_of(SystemMetadata)}
        texts["storage_class"] = put.storage_class
        self._others = [(name, compile_page(text)) for name, text in texts.items() if text]
        self._canned_acl = put.canned_acl
        self.read_size = any("ContentSize" in each.text for _, each in (*self._metadata, *self._others))
        """Whether a template may read the size, which has to be known before the content then."""

    def render(self, data: PutData) -> Properties:
        """Returns the properties of an upload; raises `PropertyFailed`, and `RequestError` for too much metadata."""
        metadata = dict(_rendered(self._metadata, data))
        for name, text in metadata.items():
            if not text.isascii():
                # S3 returns such values as encoded words (RFC 2047).
                metadata[name] = Header(text, "utf-8").encode(maxlinelen=0)
        size = sum(len(name) + len(text) for name, text in metadata.items())
        if size > MOST_METADATA:
            raise RequestError(f"the metadata has {size} bytes, {MOST_METADATA} are possible")
        # boto3 signs each white space as a space, and sends it as it is: S3 would refuse the signature.
        others: dict[str, str | datetime] = {
            name: _WHITE_SPACE.sub(" ", text) for name, text in _rendered(self._others, data, camel_case)
        }
        if disposition := others.get("content_disposition"):
            others["content_disposition"] = encoded_disposition(str(disposition), data.input.filename)
        if strange := next((name for name, text in others.items() if not str(text).isascii()), None):
            # No such header has other characters; some S3 servers refuse them, after the whole upload.
            raise RequestError(f"the template of `{camel_case(strange)}` makes a character that is not ASCII")
        if "expires" in others:
            others["expires"] = _moment(str(others["expires"]))
        return Properties(metadata, **others, canned_acl=self._canned_acl)  # type: ignore[arg-type]

    def check_size(self, size: int | None) -> None:
        """Raises `LengthRequired` if a template reads the size and it is unknown."""
        if self.read_size and size is None:
            raise LengthRequired("a template reads the size of an upload that does not announce it")


def _rendered(
    templates: list[tuple[str, PageTemplate]], data: PutData, shown: Callable[[str], str] = str
) -> Iterator[tuple[str, str]]:
    """Returns the results of templates without line ends; empty results are omitted. Errors have the `shown` name."""
    for name, template in templates:
        try:
            text = _LINE_ENDS.sub("", template.render(data, _LIMITS))
        except RenderError as error:
            raise PropertyFailed(f"the template of `{shown(name)}` failed: {error}") from error
        if any(ord(character) < 32 or ord(character) == 127 for character in text):
            raise RequestError(f"the template of `{shown(name)}` makes a control character")
        if text:
            yield name, text


def _moment(text: str) -> datetime:
    """Reads a time in the format of RFC 3339; raises `PropertyFailed`."""
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            moment.astimezone(UTC)  # as S3 gets it, which must be possible
            return moment
    raise PropertyFailed(f"the template of `expires` makes `{text}`, which is not a time in the format of RFC 3339")
