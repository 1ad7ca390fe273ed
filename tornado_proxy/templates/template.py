"""What every dialect shares: the protocol of a template, its data, its errors, and the budget of a rendering.

TemplateError
├── TemplateMistake       found at load: the text is not a template of its dialect, or names something unknown
└── RenderError           found at rendering
    ├── MissingUserError  it reads from the user, but nobody is signed in
    └── LimitError        it takes more work or makes more text than is allowed
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from tornado_proxy.goregex.matching import Captures

Reference = tuple[str, int, int]
"""A group that a template names, with its start and end (code points) in the text."""


@dataclass(frozen=True, slots=True)
class User:
    """Who is signed in; `kind` is how: BASIC, HEADER or OIDC, as s3-proxy's templates see it, or CERTIFICATE."""

    username: str
    kind: str = "BASIC"
    email: str = ""
    groups: tuple[str, ...] = ()
    name: str = ""
    given_name: str = ""
    family_name: str = ""
    email_verified: bool = False

    @property
    def identifier(self) -> str:
        """What identifies a user: the name, else the email address."""
        return self.username or self.email


@dataclass(frozen=True, slots=True)
class RequestData:
    """The request as templates see it: `path` is decoded, `headers` and `query` keep order and repetition."""

    method: str = "GET"
    host: str = ""
    path: str = "/"
    raw_query: str = ""
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    scheme: str = "http"
    remote_address: str = ""


@dataclass(frozen=True, slots=True)
class HeaderFields:
    """The headers of a request alone, as sent: in Go's templates an http.Header."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """The metadata of an object, whose names have no case: in Go's templates a map[string]string, `M1-Key` in it."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetData:
    """The target as templates see it: nothing secret, nothing that changes."""

    name: str = ""
    bucket_name: str = ""
    bucket_prefix: str = ""
    bucket_region: str = ""
    bucket_s3_endpoint: str = ""
    bucket_list_max_keys: int = 1000
    bucket_disable_ssl: bool = False
    mount_host: str = ""
    mount_paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetKeyRewriteData:
    """The data about the incoming request that a target template can read, the connected user among it."""

    key: str
    user: User | None = None
    request: RequestData = field(default_factory=RequestData)
    target: TargetData = field(default_factory=TargetData)


class TemplateError(Exception):
    """Something wrong with a template; the text is the fact, without a full stop."""


class TemplateMistake(TemplateError):
    """A template that cannot be compiled; `offset` and `end` are code points in its text, `others` more mistakes."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help
        self.others: tuple[TemplateMistake, ...] = ()


def refuse(mistakes: Iterable[TemplateMistake]) -> None:
    """Raise the first mistake of a text with the others, if there are any; of two at one place the one found first."""
    by_place: dict[int, TemplateMistake] = {}
    for mistake in mistakes:
        by_place.setdefault(mistake.offset, mistake)
    if by_place:
        first, *others = (by_place[offset] for offset in sorted(by_place))
        first.others = tuple(others)
        raise first


class RenderError(TemplateError):
    """A template that failed for one request."""


class MissingUserError(RenderError):
    """A template read from the user where nobody is signed in."""


class LimitError(RenderError):
    """A template took more steps, or made more text, than is allowed."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The most that one rendering may take: steps of work, the size of a text, elements of a list, nested templates.

    A step is an action or an argument evaluated, some elements visited, or a stretch of text read or made. With the
    defaults a hostile template ends within some tens of milliseconds.
    """

    steps: int = 20_000
    text: int = 16_384
    items: int = 4_096
    depth: int = 60
    unit: str = "bytes"  # of texts


class RenderBudget:
    """What is left of the limits for one rendering."""

    __slots__ = ("left", "limits")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Take steps; raises `LimitError` when there are none left."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"the template takes more than {self.limits.steps} steps")

    def text(self, size: int) -> None:
        """Account for a text that is about to be read or made."""
        self.fit(size)
        self.spend(size >> 4)

    def fit(self, size: int) -> None:
        """Check the size of a text that is accounted for elsewhere."""
        if size > self.limits.text:
            raise LimitError(f"the template makes a text of more than {self.limits.text} {self.limits.unit}")

    def items(self, count: int) -> None:
        """Account for a list or a map that is about to be made."""
        if count > self.limits.items:
            raise LimitError(f"the template makes a list of more than {self.limits.items} elements")
        self.spend(count >> 3)

    def nest(self, depth: int) -> None:
        """Check how deep templates call each other, or values hold each other."""
        if depth > self.limits.depth:
            raise LimitError(f"the template nests deeper than {self.limits.depth} levels")


class Template(Protocol):
    """A template compiled at load; three dialects implement it: plain, jinja and go."""

    @property
    def text(self) -> str:
        """The template as written."""
        ...

    @property
    def group_references(self) -> tuple[tuple[str, int, int], ...]:
        """The groups that the text names, each with its start and end (code points) in it; a check's material."""
        ...

    @property
    def reads_user(self) -> bool:
        """Whether rendering may read from the user, so that it fails where nobody is signed in."""
        ...

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """The text for one match, raising `RenderError`; line ends and outer spaces are handled by the dialect."""
        ...


# From here on Go takes digits for a name.
_LONGEST_NUMBER = 9


def group_number(reference: str) -> int | None:
    """The number that a reference is: digits without leading zeros; None where it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > _LONGEST_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None


GO_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
"""The characters of Go's unicode.IsSpace: White_Space without U+001C to U+001F, which Python strips too."""


def trimmed(text: str) -> str:
    """A text without line ends, then without spaces at its ends, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)
