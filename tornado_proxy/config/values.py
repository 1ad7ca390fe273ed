"""Single values of the configuration: each function gives the value in its one form, or raises `InvalidValue`."""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from tornado_proxy.rules.model import LONGEST_OBJECT_KEY, objection


class InvalidValue(ValueError):
    """A value that an option does not accept: `message` follows the option's name."""

    def __init__(self, message: str, help: str | None = None, code: str = "bad-value") -> None:
        super().__init__(message)
        self.message = message
        self.help = help
        self.code = code


class OutOfBounds(InvalidValue):
    """A number that is too small or too large."""


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HOST_LABELS = r"[A-Za-z0-9*](?:[A-Za-z0-9*_.-]*[A-Za-z0-9*])?"

# For JSON Schema too, whose patterns are not anchored by themselves.
HOST = rf"^(?:{_HOST_LABELS}|\[?[0-9A-Fa-f]*:[0-9A-Fa-f]*:[0-9A-Fa-f:.]*\]?)?$"
BUCKET = r"^(?:[A-Za-z0-9._-]{1,255}|arn:[A-Za-z0-9:/._-]+)$"
REGION = r"^(?!-)[A-Za-z0-9-]{1,63}(?<!-)$"
USER_NAME = r"^(?!\.{1,2}$)[^/:\u0000-\u001f\u007f-\u009f]+$"
ROOTED = r"^/"
NAME_PATTERN = r"^[^/]+$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
HEADER_NAME = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # RFC 9110 5.6.2
HTTP_URL = r"^https?://"
CREDENTIAL = r"^(?!\.{1,2}$)[A-Za-z0-9_.@:-]+$"

# What AWS takes (S3 user guide, "Bucket naming rules"); other servers take more.
_AWS_BUCKET = re.compile(r"(?!xn--|sthree-|amzn-s3-demo-)(?!.*\.\.)[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_FOUR_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
# RFC 9110 7.6.1, RFC 9112 6, and what is computed from the content.
_OF_THE_CONNECTION = frozenset(
    {"connection", "content-length", "content-range", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"}
)
_PORT = re.compile(r":[0-9]+\Z")
_HOST_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?\.?")


def line(text: str) -> str:
    """Text that fits on a line and is not empty."""
    if not text:
        raise InvalidValue("is empty")
    if _CONTROL.search(text):
        raise InvalidValue("contains a control character")
    return text


def _matching(expression: str, message: str, advice: str) -> Callable[[str], str]:
    """Returns a check that an expression matches a whole text; `{}` in the message stands for the text."""
    pattern = re.compile(expression)

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise InvalidValue(message.replace("{}", text), advice)
        return text

    return check


bucket_name = _matching(
    BUCKET, "is not a bucket's name", "letters, digits, `.`, `-` and `_`; a folder belongs in `prefix`"
)
"""A bucket's name, or an access point's ARN, that an S3 client can send at all."""

region = _matching(REGION, "is not a region", "letters, digits and `-`, such as `eu-west-1`")
"""A region's name, which becomes part of a host name."""

variable = _matching(VARIABLE, "is not the name of an environment variable", "letters, digits and `_`")

credential = _matching(
    CREDENTIAL, "is not the name of a credential", "the name that the unit gives it in `LoadCredential=NAME:PATH`"
)
"""The name of a systemd credential (systemd.exec, `LoadCredential=`), which is a file's name."""

header_name = _matching(HEADER_NAME, "cannot be `{}`", "a name consists of letters, digits, `-` and `_`")
"""The name of a header or a cookie (RFC 9110 5.1, RFC 6265 4.1.1)."""

page_path = _matching(r"(?:/[^/?#\s][^?#\s]*)?", "cannot be `{}`", "a path begins with one `/`, such as `/auth/login`")
"""The path of a page of the service's own."""


def mount_path(text: str) -> str:
    """A mount path: it starts and ends with `/`; an empty one is the root."""
    _check_key(text)
    rooted = text if text.startswith("/") else f"/{text}"
    return rooted if rooted.endswith("/") else f"{rooted}/"


def _check_key(text: str) -> None:
    reason = objection(text)
    if reason:
        raise InvalidValue(reason)


def host(text: str) -> str:
    """A host pattern in lower case, without a port or an IPv6 address's brackets; empty is any host, as is `*`."""
    if re.fullmatch(HOST, text):
        return "" if text == "*" else text.strip("[]").lower()
    if _PORT.search(text):
        raise InvalidValue("has a port", "hosts are compared without their port: leave it out")
    if not text.isascii():
        raise InvalidValue("is not in ASCII", "write an international name in its `xn--` form")
    raise InvalidValue("is not a host", "a name such as `files.example.org`, or a pattern such as `*.example.org`")


def aws_objection(name: str) -> str | None:
    """Why AWS would not have a bucket of this name, as a fact; None where it would."""
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
    """A file's name within a directory; empty is none."""
    if "/" in text:
        raise InvalidValue("contains a `/`", "the name of a file that every directory may have, such as `index.html`")
    _check_key(text)
    return text


def user_name(text: str) -> str:
    """A user name that is one segment of a path, and that RFC 7617 can carry."""
    line(text)
    if text in {".", ".."} or "/" in text:
        raise InvalidValue("is not one segment of a path", "rules put user names into keys: no `/`, not `.` or `..`")
    if ":" in text:
        raise InvalidValue("contains a `:`", "basic authentication ends the user name at the first `:`")
    return text


def listen_address(text: str) -> str:
    """An IP address or a host name to listen on; empty is every interface."""
    if not text or _is_address(text) or _HOST_NAME.fullmatch(text):
        return text
    if _PORT.search(text):
        raise InvalidValue("has a port", "the port is an option of its own: `port: 8080`")
    raise InvalidValue("is not an address", "an IP address or a host name; an empty string listens on every interface")


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def endpoint(text: str) -> str:
    """The URL of an S3 server, or its host and port alone; `disableSSL` then decides the scheme."""
    line(text)
    try:
        url = urlsplit(text if "://" in text else f"//{text}")
        _ = url.port
    except ValueError:
        raise InvalidValue("is not a URL", "such as `https://s3.example.org` or `http://127.0.0.1:9000`") from None
    if url.scheme not in {"", "http", "https"}:
        raise InvalidValue("is not an HTTP URL", "S3 is spoken over `http://` or `https://`")
    if url.username is not None:
        raise InvalidValue("contains a user name or password", "give `credentials` instead")
    if not url.hostname or re.search(r"\s", text):
        raise InvalidValue("names no host", "such as `https://s3.example.org` or `http://127.0.0.1:9000`")
    if url.query or url.fragment:
        raise InvalidValue("has a query or a fragment", "leave out what follows the host, the port and the path")
    return text


def header_templates(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Check headers and their templates: no name twice in any case, and none by which a message is delimited."""
    names: set[str] = set()
    for name, _ in pairs:
        header_name(name)
        if name.lower() in _OF_THE_CONNECTION:
            raise InvalidValue(f"cannot have `{name}`", "that header is set by the server")
        if name.lower() in names:
            raise InvalidValue(f"has `{name}` twice", "names are the same in upper and lower case")
        names.add(name.lower())
    return pairs


def status_template(text: str) -> str:
    """Check the template of a status: without an action, it is a final status (RFC 9110 15)."""
    bare = text.strip()
    if "{{" not in bare and not re.fullmatch("[2-5][0-9]{2}", bare):
        raise InvalidValue(f"cannot be `{bare}`", "a status from 200 to 599, or a template that writes one")
    return bare


def network(text: str) -> str:
    """Check an IP address or a network in CIDR notation; return it as a network."""
    try:
        return str(ip_network(text, strict=False))
    except ValueError:
        raise InvalidValue(f"cannot be `{text}`", "such as `10.0.0.0/8` or `::1`") from None


def http_url(text: str) -> str:
    """Check an absolute URL of HTTP or HTTPS."""
    try:
        parts = urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or re.search(r"[\s\x00-\x1f]", text):
        raise InvalidValue("is not a URL", "such as `https://example.org/path`")
    return text


def go_template(text: str) -> str:
    """Check a Go template over data of its own, such as that of an upload."""
    # A fifth of the service's modules, which few configurations need.
    from tornado_proxy.templates.golang.pages import PageMistake, compile_page  # noqa: PLC0415

    try:
        compile_page(text)
    except PageMistake as mistake:
        raise InvalidValue(f"is not a template: {mistake}", mistake.help) from None
    return text


def header_pairs(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Check the names of headers with their values: each a name, and none twice in different cases."""
    seen: set[str] = set()
    for name, _ in pairs:
        if header_name(name).lower() in seen:
            raise InvalidValue(f"has `{name}` twice", "cases of names do not count")
        seen.add(name.lower())
    return pairs


def header_values(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Check the values of headers by name: they are sent as they are."""
    for _, value in pairs:
        if _CONTROL.search(value):
            raise InvalidValue("contains a control character")
    return pairs


def logo_place(text: str) -> str:
    """Check the place of a picture: a URL, or a file of a type that browsers show."""
    return _asset_place(text, ("svg", "png", "jpg", "jpeg", "webp", "gif"))


def sheet_place(text: str) -> str:
    """Check the place of a style sheet."""
    return _asset_place(text, ("css",))


def _asset_place(text: str, endings: tuple[str, ...]) -> str:
    line(text)
    if "://" in text:
        http_url(text)
        # Its origin goes into a policy, where these would begin something else.
        if re.search(r"[;,'\s]", text.partition("?")[0]):
            raise InvalidValue("has a character that no policy can hold", "percent-encode `;`, `,` and `'`")
    elif text.rpartition(".")[2].lower() not in endings:
        raise InvalidValue(
            f"cannot be `{text}`", f"a URL, or a file that ends in {', '.join(f'`.{each}`' for each in endings)}"
        )
    return text


def name_pattern(text: str) -> str:
    """Check a pattern of names in a directory."""
    if "/" in line(text):
        raise InvalidValue(f"cannot be `{text}`", "a pattern is compared with a name alone, such as `.*` or `*.tmp`")
    return text


def media_type(text: str) -> str:
    """Check a media type, or a wildcard of one such as `image/*`; return it in lower case."""
    if not re.fullmatch(r"[A-Za-z0-9!#$&^_.+-]+/(?:\*|[A-Za-z0-9!#$&^_.+-]+)", text):
        raise InvalidValue(f"cannot be `{text}`", "such as `application/pdf` or `image/*`, without parameters")
    return text.lower()
