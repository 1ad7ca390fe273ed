"""The protocol of templates, what they can read beside a request and its user, and the plain dialect.

A plain template is text with `$name`, `${name}`, `$1` and `$$`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Protocol

import msgspec
from msgspec.structs import replace

from gotemplate.regexp.matching import Captures, Expansion, Reference
from gotemplate.template.errors import RenderError, RenderLimits, TemplateMistake, help_for_unknown
from gotemplate.template.errors import marked as mark
from gotemplate.template.text import GO_SPACES
from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates import limits


class MissingUserError(RenderError):
    """A template reads from the user, but nobody is signed in."""


class MissingValueError(RenderError):
    """A template reads a header or a query parameter that the request lacks, and has no default for it."""


PAGE_LIMITS = RenderLimits(limits.PAGE_STEPS, limits.PAGE_TEXT, limits.PAGE_ITEMS)
"""The limits of one rendering of a page."""


class Template(Protocol):
    """A template compiled at load; three dialects implement it: plain, jinja and go."""

    @property
    def text(self) -> str:
        """The template as written."""

    @property
    def group_references(self) -> tuple[Reference, ...]:
        """The groups that the text names."""

    @property
    def reads_user(self) -> bool:
        """Whether rendering may fail because nobody is signed in."""

    def render(self, captures: Captures, data: TargetKeyRewriteData, *, marked: bool = False) -> str:
        """Returns the text for a match, with marks around what is inserted if asked for; raises `RenderError`."""


class PlainTemplate(Expansion):
    """A template of the plain dialect."""

    __slots__ = ()
    reads_user: ClassVar[bool] = False

    def render(self, captures: Captures, data: TargetKeyRewriteData, *, marked: bool = False) -> str:  # noqa: ARG002 - the protocol
        """Returns the text for a match."""
        groups = [None if each is None else mark(each) for each in captures.groups] if marked else ()
        return self.expand(replace(captures, groups=tuple(groups)) if marked else captures)


def compile_plain(text: str) -> PlainTemplate:
    """Compiles a plain template; any text is one, whatever groups the source has."""
    return PlainTemplate.read(text)


def unknown_group(name: str, start: int, end: int, groups: Collection[str]) -> TemplateMistake:
    """Returns the mistake of naming a group that the source lacks; `groups` are the names and numbers that it has."""
    advice = help_for_unknown(name, groups) or f"there are {', '.join(f'`{each}`' for each in sorted(groups))}"
    return TemplateMistake(f"the source has no group `{name}`", start, end, advice)


def trimmed(text: str) -> str:
    """Returns a text without line ends, then without outer spaces, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)


class AnyUser(User, frozen=True):
    """A user in a sample of data: one that has the fields of all kinds of users."""


class HeaderFields(msgspec.Struct, frozen=True):
    """The headers of a request as sent; an http.Header in Go templates."""

    pairs: tuple[tuple[str, str], ...] = ()


class ObjectMetadata(msgspec.Struct, frozen=True):
    """The metadata of an object; a map[string]string in Go templates, with names such as `M1-Key`."""

    pairs: tuple[tuple[str, str], ...] = ()


class ResourceData(msgspec.Struct, frozen=True):
    """A resource of a target, without its users."""

    path: str
    methods: tuple[str, ...] = ()
    provider: str = ""
    white_list: bool = False


class TargetData(msgspec.Struct, frozen=True):
    """The target's settings that templates can read; none of them is secret. Rules see no actions and no resources."""

    name: str = ""
    bucket_name: str = ""
    bucket_prefix: str = ""
    bucket_region: str = ""
    bucket_s3_endpoint: str = ""
    bucket_list_max_keys: int = 1000
    bucket_disable_ssl: bool = False
    mount_host: str = ""
    mount_paths: tuple[str, ...] = ()
    try_files: tuple[str, ...] = ()  # for rule tests alone
    actions: tuple[str, ...] = ()  # the methods that are enabled
    resources: tuple[ResourceData, ...] = ()


class TargetKeyRewriteData(msgspec.Struct, frozen=True):
    """The data of a rendering: the key, the user, the request and the target."""

    key: str
    user: User | None = None
    request: Request = msgspec.field(default_factory=Request)
    target: TargetData = msgspec.field(default_factory=TargetData)


class PutInput(msgspec.Struct, frozen=True):
    """An upload as templates see it, in s3-proxy's names; `request_path` is the path below the mount."""

    request_path: str
    filename: str
    content_type: str
    content_size: int
    request_headers: HeaderFields


class PutData(msgspec.Struct, frozen=True):
    """The data of the templates of an upload's properties; `key` is the object's, with the prefix."""

    user: User | None
    input: PutInput
    key: str
