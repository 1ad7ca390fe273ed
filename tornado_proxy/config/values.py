"""Checks single values of the configuration: each function returns the final value, or raises `InvalidValue`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from ipaddress import ip_address, ip_network
from typing import Any, ClassVar
from urllib.parse import SplitResult, urlsplit

import msgspec

from tornado_proxy.config.limits import MOST_TRIED
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY
from tornado_proxy.rules.model import TRIED_PATH, objection
from tornado_proxy.semantics.request import read_public_path
from tornado_proxy.templates.go import PageMistake, compile_page
from tornado_proxy.templates.template import AnyUser, HeaderFields, PutData, PutInput


class InvalidValue(ValueError):
    """A value that an option does not accept: `message` follows the option's name."""

    def __init__(self, message: str, help: str | None = None, code: str = "bad-value") -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.code = code


KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB
DAY = 86400

_BYTES = {
    "TiB": Decimal(1024 * GIB),
    "TB": Decimal(10**12),
    "GiB": Decimal(GIB),
    "GB": Decimal(10**9),
    "MiB": Decimal(MIB),
    "MB": Decimal(10**6),
    "KiB": Decimal(KIB),
    "KB": Decimal(10**3),
    "B": Decimal(1),
}
_SECONDS = {"d": Decimal(DAY), "h": Decimal(3600), "m": Decimal(60), "s": Decimal(1), "ms": Decimal("0.001")}

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,6})?"
_PERIOD = re.compile(rf"({_NUMBER})(ms|[dhms])")


class Bounds(msgspec.Struct, frozen=True):
    """A mark of a number: its smallest and largest value."""

    units: ClassVar[Mapping[str, Decimal]] = {}  # the largest first: a bound is shown in the first that divides it

    lowest: float
    highest: float | None = None

    def read(self, value: Any) -> Decimal:
        """The number of a value of the file; raises `InvalidValue`."""
        number = self._number(value)
        if number < Decimal(str(self.lowest)):
            raise InvalidValue(f"is less than {self._shown(self.lowest)}")
        if self.highest is not None and number > Decimal(str(self.highest)):
            raise InvalidValue(f"is more than {self._shown(self.highest)}")
        return number

    def _number(self, value: Any) -> Decimal:
        return Decimal(str(value))

    def _shown(self, bound: float) -> str:
        exact = Decimal(str(bound))
        unit = next((unit for unit, factor in self.units.items() if exact and not exact % factor), None)
        return f"{exact // self.units[unit]}{unit}" if unit else str(bound)


class Size(Bounds, frozen=True):
    """Bytes within bounds, as a mark of an option's type."""

    units = _BYTES
    notation = rf"({_NUMBER}) ?({'|'.join(_BYTES)})"

    def _number(self, value: Any) -> Decimal:
        if isinstance(value, int) and not isinstance(value, bool):
            return Decimal(value)
        match = re.fullmatch(self.notation, value) if isinstance(value, str) else None
        if not match:
            raise InvalidValue("is not a size", "a number of bytes, or one with a unit: `500KB`, `100MB`, `5GiB`")
        return Decimal(int(Decimal(match[1]) * _BYTES[match[2]]))


class Duration(Bounds, frozen=True):
    """Seconds within bounds, as a mark of an option's type."""

    units = _SECONDS
    notation = rf"(?:{_NUMBER}(?:ms|[dhms]))+"

    def _number(self, value: Any) -> Decimal:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Decimal(str(value))
        if not isinstance(value, str) or not re.fullmatch(self.notation, value):
            advice = "a number of seconds, or one with units: `500ms`, `30s`, `5m`, `1h30m`, `7d`"
            raise InvalidValue("is not a duration", advice)
        return sum((Decimal(number) * _SECONDS[unit] for number, unit in _PERIOD.findall(value)), Decimal(0))


def enumeration(words: Iterable[str]) -> str:
    """Words in backticks: `a`, `b` and `c`."""
    *others, last = (f"`{word}`" for word in words)
    return f"{', '.join(others)} and {last}" if others else last


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HOST_LABELS = r"[A-Za-z0-9*](?:[A-Za-z0-9*_.-]*[A-Za-z0-9*])?"

# Anchored for JSON Schema too, whose patterns match anywhere.
HOST = rf"^(?:{_HOST_LABELS}|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?)?$"

# The names that AWS accepts (S3 user guide, "Bucket naming rules"); other servers accept more.
_AWS_BUCKET = re.compile(r"(?!xn--|sthree-|amzn-s3-demo-)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_FOUR_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
# Headers of the connection (RFC 9110 7.6.1, RFC 9112 6), and headers that are computed from the content.
_SET_BY_THE_SERVER = frozenset(
    {"connection", "content-length", "content-range", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
# Headers that a call to S3 has of its own, or that would change what it does or answers.
_OF_S3_CALLS = _SET_BY_THE_SERVER | frozenset(
    {"accept-encoding", "authorization", "content-md5", "date", "expect", "host", "range", "user-agent"}
    | {"if-match", "if-modified-since", "if-none-match", "if-unmodified-since"}
    | {"x-amz-checksum-mode", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token"}
)
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\.?")
_STATUS = re.compile(r"[2-5][0-9]{2}")
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]")

_UPLOAD = PutData(AnyUser(""), PutInput("", "", "", 0, HeaderFields()), "")

# The last `@` counts (RFC 3986 3.2.1 would have the others escaped).
_USER_INFORMATION = re.compile(r"(?<=//)[^/?#]*@")
_QUERY = re.compile(r"(://[^?#]*[?#]).+", re.DOTALL)


def line(text: str) -> str:
    """Text that fits on a line and is not empty."""
    if not text:
        raise InvalidValue("is empty")
    if _CONTROL.search(text):
        raise InvalidValue("contains a control character")
    return text


class TextPattern(msgspec.Struct, frozen=True):
    """A function that checks a whole text against an expression, which JSON Schema has too."""

    expression: str
    message: str  # `{}` is replaced by the text
    help: str

    def __call__(self, text: str) -> str:
        """The text; raises `InvalidValue` if it does not match."""
        if not re.fullmatch(self.expression, text) or _CONTROL.search(text):
            raise InvalidValue(self.message.replace("{}", text), self.help)
        return text


bucket_name = TextPattern(
    r"^(?:(?:[A-Za-z0-9_]{0,255}:)?[A-Za-z0-9._-]{1,255}|arn:[A-Za-z0-9:/._-]+)$",
    "is not a bucket's name",
    "letters, digits, `.`, `-` and `_`; a folder belongs in `prefix`",
)
"""A bucket's name, after its tenant's in Ceph, or an access point's ARN."""

region = TextPattern(
    r"^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$", "is not a region", "letters, digits and `-`, such as `eu-west-1`"
)
"""A region's name, which becomes part of a host name."""

variable = TextPattern(
    r"^[A-Za-z_][A-Za-z0-9_]*$", "is not the name of an environment variable", "letters, digits and `_`"
)

credential = TextPattern(
    r"^(?!\.{1,2}$)[A-Za-z0-9_.@:-]+$",
    "is not the name of a credential",
    "the name that the unit gives it in `LoadCredential=NAME:PATH`",
)
"""The name of a systemd credential (systemd.exec, `LoadCredential=`), which is a file's name."""

header_name = TextPattern(
    r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", "cannot be `{}`", "a name consists of letters, digits, `-` and `_`"
)
"""The name of a header or a cookie (RFC 9110 5.6.2, RFC 6265 4.1.1)."""

charset = TextPattern(
    r"^[A-Za-z0-9][A-Za-z0-9:_.+-]{0,39}$", "is not the name of a charset", "such as `utf-8` or `iso-8859-1`"
)
"""The name of a character set (RFC 2978 2.3)."""

user_name = TextPattern(
    r"^(?!\.{1,2}$)[^/:\u0000-\u001f\u007f-\u009f]+$",
    "is not a user name",
    "a name without `/`, `:` and control characters, which is not `.` or `..`: rules put it into keys",
)
"""A user name that is one segment of a path, and that RFC 7617 can carry."""

page_path = TextPattern(
    r"^(?:/[^/?#\s][^?#\s]*)?$", "cannot be `{}`", "a path begins with one `/`, such as `/auth/login`"
)
"""The path of a page of the service's own."""

name_pattern = TextPattern(
    r"^[^/]+$", "is not a pattern of names", "a pattern is compared with a name alone, such as `.*` or `*.tmp`"
)
"""A pattern of names in a directory."""

_MEDIA_TYPE = TextPattern(
    r"^[A-Za-z0-9!#$&^_.+-]+/(?:\*|[A-Za-z0-9!#$&^_.+-]+)$",
    "cannot be `{}`",
    "such as `application/pdf` or `image/*`, without parameters",
)


def media_type(text: str) -> str:
    """A media type, or a wildcard of one such as `image/*`, in lower case."""
    return _MEDIA_TYPE(text).lower()


def public_path(text: str) -> str:
    """A path that proxies take off, without its closing slash; `/` is none."""
    if (path := read_public_path(text)) is None:
        advice = "such as `/files`: segments of letters, digits, `-`, `.`, `_` and `~`, each after a `/`"
        raise InvalidValue("is not a public path", advice)
    return path


def mount_path(text: str) -> str:
    """A mount path: it starts and ends with `/`; an empty one is the root."""
    _check_key(text)
    rooted = text if text.startswith("/") else f"/{text}"
    return rooted if rooted.endswith("/") else f"{rooted}/"


def _check_key(text: str) -> None:
    if reason := objection(text):
        raise InvalidValue(reason)


def host(text: str) -> str:
    """A host pattern in lower case, without a port or an IPv6 address's brackets; empty is any host, as is `*`."""
    if not re.fullmatch(HOST, text):
        advice = "a name without a port such as `files.example.org`, or a pattern such as `*.example.org`, in ASCII"
        raise InvalidValue("is not a host", advice)
    return "" if text == "*" else text.strip("[]").lower()


def aws_objection(name: str) -> str | None:
    """Returns the rules of AWS for bucket names if a name violates them; None otherwise."""
    if name.startswith("arn:") or (_AWS_BUCKET.fullmatch(name) and not _FOUR_NUMBERS.fullmatch(name)):
        return None
    return "AWS takes 3 to 63 lower-case letters, digits, `.` and `-`, and no IP address"


def prefix(text: str) -> str:
    """A prefix as a directory: no leading slash, one closing slash; empty is the whole bucket."""
    bare = text.strip("/")
    directory = f"{bare}/" if bare else ""
    _check_key(directory)
    if len(directory.encode()) >= LONGEST_OBJECT_KEY:
        raise InvalidValue(f"leaves no room for a key: S3 takes {LONGEST_OBJECT_KEY} bytes for both together")
    return directory


def glob(text: str) -> str:
    """A glob over request paths."""
    if not text.startswith("/"):
        raise InvalidValue("does not start with `/`", "a glob covers the whole request path, the mount included")
    _check_key(text)
    return text


def index_document(text: str) -> str:
    """A file's path within a directory; empty is none."""
    if text and "" in text.split("/"):
        advice = "the path of a file within every directory, such as `index.html` or `pages/index.html`"
        raise InvalidValue("has an empty segment", advice)
    _check_key(text)
    return text


def tried_files(templates: tuple[str, ...]) -> tuple[str, ...]:
    """Keys that are tried in turn: each begins with `/` or `$path`."""
    if len(templates) > MOST_TRIED:
        raise InvalidValue(f"has more than {MOST_TRIED} entries", "each that finds nothing is a call to S3")
    for text in templates:
        rest = text.removeprefix(TRIED_PATH)
        if "$" in rest or not text.startswith(("/", TRIED_PATH)):
            advice = (
                f"a path such as `{TRIED_PATH}.html`, `{TRIED_PATH}/` or `/index.html`; 404 follows the last by itself"
            )
            raise InvalidValue(f"cannot have `{text}`", advice)
        _check_key(text)
    return templates


EVERY_INTERFACE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - compared, not listened on
"""The addresses that listen on every interface."""


def listen_address(text: str) -> str:
    """An IP address or a host name to listen on; empty is every interface."""
    if text and not _HOST_NAME.fullmatch(text):
        try:
            ip_address(text)
        except ValueError:
            advice = "an IP address or a host name without a port; an empty string listens on every interface"
            raise InvalidValue("is not an address", advice) from None
    return text


def _split_url(text: str) -> SplitResult | None:
    """Returns a split absolute URL of HTTP or HTTPS; None for any other text."""
    try:
        url = urlsplit(text)
        is_valid = url.scheme in ("http", "https") and url.hostname and url.port != 0 and not _SPACE.search(text)
    except ValueError:
        return None
    return url if is_valid else None


class Unshown(msgspec.Struct, frozen=True):
    """A value that is printed without its fields, which may be secret, except for those that are `shown`."""

    shown: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({', '.join(fields)})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.shown]


class GuardedUrl(Unshown, frozen=True):
    """A URL, or another place of a document, that may hold secrets.

    What is printed of it has neither user information nor a query: only `reveal` returns the whole text.
    """

    shown = ("bare",)

    _whole: str

    @property
    def bare(self) -> str:
        """The text without what may be secret."""
        return _QUERY.sub(r"\1…", _USER_INFORMATION.sub("…@", self._whole))

    def reveal(self) -> str:
        """The whole text, for requests."""
        return self._whole

    def __str__(self) -> str:
        return self.bare


def http_url(text: str) -> GuardedUrl:
    """An absolute URL of HTTP or HTTPS."""
    if _split_url(text) is None:
        raise InvalidValue("is not a URL", "such as `https://example.org/path`")
    return GuardedUrl(text)


def bare_url(text: str) -> GuardedUrl:
    """An absolute URL of HTTP or HTTPS that holds no secret, as a library prints it."""
    url = http_url(text)
    if str(url) != text:
        raise InvalidValue("has user information or a query", "secrets belong in `secretHeaders`")
    return url


def endpoint(text: str) -> str:
    """The URL of an S3 server, or its host and port alone; `disableSSL` then decides the scheme."""
    url = _split_url(text if "://" in text else f"https://{text}")
    if url is None or url.username is not None or url.query or url.fragment:
        advice = "such as `https://s3.example.org` or `http://127.0.0.1:9000`; keys belong in `credentials`"
        raise InvalidValue("is not the URL of an S3 server", advice)
    return text


_HeaderPairs = tuple[tuple[str, str], ...]


def header_pairs(pairs: _HeaderPairs, refused: frozenset[str] = frozenset(), by: str = "") -> _HeaderPairs:
    """Headers with their values: each has a name, none is `refused`, and none is given twice in different cases."""
    seen: set[str] = set()
    for name, _ in pairs:
        if (lowered := header_name(name).lower()) in refused:
            raise InvalidValue(f"cannot have `{name}`", by)
        if lowered in seen:
            raise InvalidValue(f"has `{name}` twice", "names are the same in upper and lower case")
        seen.add(lowered)
    return pairs


def header_templates(pairs: _HeaderPairs) -> _HeaderPairs:
    """Headers with their templates; headers that delimit a message are refused."""
    return header_pairs(pairs, _SET_BY_THE_SERVER, "that header is set by the server")


def header_values(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Headers with values that are sent unchanged."""
    if any(_CONTROL.search(value) for _, value in pairs):
        raise InvalidValue("contains a control character")
    return header_pairs(pairs)


s3_header = TextPattern(
    r"^[!-~](?:[ -~]*[!-~])?$", "is not the value of a header", "printable ASCII characters, as signatures need them"
)
"""The value of a header that a call to S3 is signed with."""


def s3_headers(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Headers of calls to S3, with names in lower case."""
    taken = header_pairs(pairs, _OF_S3_CALLS, "the service sets that header itself")
    return tuple((name.lower(), value) for name, value in taken)


def status_template(text: str) -> str:
    """The template of a status; without an action, it is a final status (RFC 9110 15)."""
    bare = text.strip()
    if "{{" not in bare and not _STATUS.fullmatch(bare):
        raise InvalidValue(f"cannot be `{bare}`", "a status from 200 to 599, or a template that writes one")
    return bare


def network(text: str) -> str:
    """An IP address or a network in CIDR notation, as a network."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InvalidValue(f"cannot be `{text}`", "such as `10.0.0.0/8` or `::1`") from None


def origin(text: str) -> str:
    """An origin with at most one `*`, in lower case."""
    if line(text).count("*") > 1:
        raise InvalidValue("has more than one `*`", "such as `https://*.example.org`, or `*` for any origin")
    return text.lower()


def property_template(text: str) -> str:
    """A Go template of a property of uploads; to read a field that uploads do not have is a mistake."""
    try:
        compile_page(text, sample=_UPLOAD)
    except PageMistake as mistake:
        raise InvalidValue(f"is not a template: {mistake}", mistake.help) from None
    return text


def asset_place(text: str, endings: tuple[str, ...]) -> str:
    """The place of a file that pages refer to: a URL, or a file with one of these endings."""
    if "://" in line(text):
        # Its origin becomes part of a policy, in which these characters are delimiters.
        if re.search(r"[;,'\s]", http_url(text).reveal().partition("?")[0]):
            raise InvalidValue("has a character that no policy can contain", "percent-encode `;`, `,` and `'`")
    elif not text.lower().endswith(endings):
        named = ", ".join(map("`{}`".format, endings))
        raise InvalidValue(f"cannot be `{text}`", f"a URL, or a file that ends in {named}")
    return text
