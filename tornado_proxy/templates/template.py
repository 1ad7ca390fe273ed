"""The protocol of templates, their data, errors and budgets, and the plain dialect: `$name`, `${name}`, `$1` and `$$`.

TemplateError
├── TemplateMistake       found at load: the text is not a template of its dialect, or names something unknown
└── RenderError           found at rendering
    ├── MissingUserError  it reads from the user, but nobody is signed in
    └── LimitError        it takes more work or makes more text than is allowed
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import ClassVar, Protocol

from tornado_proxy.goregex.matching import Captures

Reference = tuple[str, int, int]
"""A group that a template names, with its start and end (code points) in the text."""


@dataclass(frozen=True, slots=True)
class User:
    """The signed-in user; `kind` is the way: BASIC, HEADER or OIDC, as in s3-proxy's templates, or CERTIFICATE."""

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
        """The name, or else the email address."""
        return self.username or self.email


@dataclass(frozen=True, slots=True)
class AnyUser(User):
    """A user in a sample of data: one that has the fields of all kinds of users."""


def groups_of(header: str) -> tuple[str, ...]:
    """Returns the groups in a header of a proxy, which separates them by commas."""
    return tuple(group for each in header.split(",") if (group := each.strip()))


@dataclass(frozen=True, slots=True)
class RequestData:
    """The request; `path` is decoded, `headers` and `query` keep order and repetition."""

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
    """The headers of a request as sent; an http.Header in Go templates."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ObjectMetadata:
    """The metadata of an object; a map[string]string in Go templates, with names such as `M1-Key`."""

    pairs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceData:
    """A resource of a target, without its users."""

    path: str
    methods: tuple[str, ...] = ()
    provider: str = ""
    white_list: bool = False


@dataclass(frozen=True, slots=True)
class TargetData:
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
    actions: tuple[str, ...] = ()  # the methods that are enabled
    resources: tuple[ResourceData, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetKeyRewriteData:
    """The data of a rendering: the key, the user, the request and the target."""

    key: str
    user: User | None = None
    request: RequestData = field(default_factory=RequestData)
    target: TargetData = field(default_factory=TargetData)


@dataclass(frozen=True, slots=True)
class PutInput:
    """An upload as templates see it, in s3-proxy's names; `request_path` is the path below the mount."""

    request_path: str
    filename: str
    content_type: str
    content_size: int
    request_headers: HeaderFields


@dataclass(frozen=True, slots=True)
class PutData:
    """The data of the templates of an upload's properties; `key` is the object's, with the prefix."""

    user: User | None
    input: PutInput
    key: str


class TemplateError(Exception):
    """The base of the errors of templates; the text is a message without a full stop."""


class TemplateMistake(TemplateError):
    """A template that does not compile; `offset` and `end` count code points, `others` are more mistakes."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help
        self.others: tuple[TemplateMistake, ...] = ()


def refuse(mistakes: Iterable[TemplateMistake]) -> None:
    """Raises the first mistake of a text, with the others; of two at one place, the one found first."""
    by_place: dict[int, TemplateMistake] = {}
    for mistake in mistakes:
        by_place.setdefault(mistake.offset, mistake)
    if by_place:
        first, *others = (by_place[offset] for offset in sorted(by_place))
        first.others = tuple(others)
        raise first.with_traceback(None)  # one of helpers is a mistake of each template that calls them


def help_for_unknown(name: str, names: Iterable[str]) -> str | None:
    """Returns the help for an unknown name: the known name that is most similar to it."""
    from difflib import get_close_matches  # noqa: PLC0415 - a template without mistakes needs no suggestion

    meant = get_close_matches(name, names, n=1)
    return f"did you mean `{meant[0]}`?" if meant else None


class RenderError(TemplateError):
    """A rendering that failed."""


class MissingUserError(RenderError):
    """A template reads from the user, but nobody is signed in."""


class LimitError(RenderError):
    """A template takes more steps, or makes more text, than is allowed."""


@dataclass(frozen=True, slots=True)
class RenderLimits:
    """The limits of one rendering: steps of work, size of a text, elements of a list, nested templates.

    A step is an action or an argument that is evaluated, eight elements, or sixteen bytes of text. With the defaults a
    hostile template ends within some tens of milliseconds.
    """

    steps: int = 20_000
    text: int = 16_384
    items: int = 4_096
    depth: int = 60
    unit: str = "bytes"  # of texts


PAGE_LIMITS = RenderLimits(steps=200_000, text=4 << 20, items=10_000)
"""The default limits of one rendering of a page; a listing has up to a thousand entries."""


class RenderBudget:
    """The steps that one rendering has left, and its limits; each method raises `LimitError` beyond them."""

    __slots__ = ("left", "limits")

    def __init__(self, limits: RenderLimits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, steps: int = 1) -> None:
        """Charges for steps."""
        self.left -= steps
        if self.left < 0:
            raise LimitError(f"the template takes more than {self.limits.steps} steps")

    def text(self, size: int) -> None:
        """Charges for a text before it is read or made."""
        self.check_size(size)
        self.spend(size >> 4)

    def check_size(self, size: int) -> None:
        """Checks the size of a text that is charged for elsewhere."""
        if size > self.limits.text:
            raise LimitError(f"the template makes a text of more than {self.limits.text} {self.limits.unit}")

    def items(self, count: int) -> None:
        """Charges for a list or a map before it is made."""
        if count > self.limits.items:
            raise LimitError(f"the template makes a list of more than {self.limits.items} elements")
        self.spend(count >> 3)

    def nest(self, depth: int) -> None:
        """Checks how deep templates or values nest."""
        if depth > self.limits.depth:
            raise LimitError(f"the template nests deeper than {self.limits.depth} levels")


class Template(Protocol):
    """A template compiled at load; three dialects implement it: plain, jinja and go."""

    @property
    def text(self) -> str:
        """The template as written."""
        ...

    @property
    def group_references(self) -> tuple[Reference, ...]:
        """The groups that the text names."""
        ...

    @property
    def reads_user(self) -> bool:
        """Whether rendering may fail because nobody is signed in."""
        ...

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """Returns the text for a match; raises `RenderError`."""
        ...


@dataclass(frozen=True, slots=True)
class PlainTemplate:
    """A plain template: the text before the first reference, and each reference with the text after it."""

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    _opening: str = field(compare=False, repr=False)
    _holes: tuple[tuple[str | int, str], ...] = field(compare=False, repr=False)
    reads_user: ClassVar[bool] = False

    def render(self, captures: Captures, _data: TargetKeyRewriteData | None = None) -> str:
        """Returns the text with the groups of a match, untrimmed; a group that took no part is empty."""
        groups, count = captures.groups, len(captures.groups)
        pieces = [self._opening]
        for reference, following in self._holes:
            # A name may stand for several groups; the match decides which one has it.
            number = reference if isinstance(reference, int) else captures.names.get(reference, count)
            pieces.append((groups[number] or "") if number < count else "")
            pieces.append(following)
        return "".join(pieces)


_REFERENCE = re.compile(r"\$(?:\$|(\w+)|\{(\w+)\})")


def compile_plain(text: str, *_groups: object) -> PlainTemplate:
    """Compiles a plain template, as Go's Regexp.Expand reads it; any text is one, whatever groups the source has."""
    references: list[Reference] = []
    literals, position = [""], 0
    for found in _REFERENCE.finditer(text):
        literals[-1] += text[position : found.start()]
        position = found.end()
        word = found[1] or found[2] or ""
        # Python's `\w` has more kinds of numbers than Go's names.
        name = "".join(takewhile(lambda char: char.isalpha() or char.isdecimal() or char == "_", word))
        if found[0] == "$$":
            literals[-1] += "$"
        elif not name or (found[2] and name != word):
            literals[-1] += found[0]
        else:
            position -= len(word) - len(name)
            references.append((name, found.start(), position))
            literals.append("")
    literals[-1] += text[position:]
    numbers = [(group_number(name), name) for name, _, _ in references]
    groups = [name if number is None else number for number, name in numbers]
    return PlainTemplate(text, tuple(references), literals[0], tuple(zip(groups, literals[1:], strict=True)))


_LONGEST_NUMBER = 9  # digits; to Go, more of them are a name


def group_number(reference: str) -> int | None:
    """Returns the number of a reference in digits without leading zeros; None if it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > _LONGEST_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None


GO_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
)
"""The characters of Go's unicode.IsSpace: Unicode's White_Space. Python's `strip` also removes U+001C to U+001F."""


def trimmed(text: str) -> str:
    """Returns a text without line ends, then without outer spaces, as s3-proxy does with strings.TrimSpace."""
    return text.replace("\r\n", "").replace("\n", "").strip(GO_SPACES)
