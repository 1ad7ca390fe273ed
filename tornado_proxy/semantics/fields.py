"""Header fields with one value, reason phrases, and paths in links.

Accept and Accept-Encoding (RFC 9110 12.5), Basic credentials (RFC 7617), Content-Disposition (RFC 6266, RFC 7578),
Content-Type (RFC 9110 8.3), Content-Digest (RFC 9530), and percent-encoded paths (RFC 3986).
"""

from __future__ import annotations

import binascii
import codecs
import hashlib
import re
from base64 import b64decode
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from unicodedata import normalize
from urllib.parse import quote, unquote

import msgspec
from content_types import EXTENSION_TO_CONTENT_TYPE

from tornado_proxy.semantics.limits import HEADERS_KEPT

Headers = tuple[tuple[str, str], ...]

REASONS = {status.value: status.phrase for status in HTTPStatus}  # the reason phrases of statuses (RFC 9110 15)
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule (RFC 9110 5.6.2), no secret
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Blanks are taken possessively: two runs of them that meet would take quadratic time to fail.
_PARAMETER = rf"[ \t]*+;[ \t]*+(?:{_TOKEN}=(?:{_TOKEN}|{_QUOTED}))?"
_MEMBER = re.compile(rf"[ \t]*+(?P<name>{_TOKEN}(?:/{_TOKEN})?)(?P<parameters>(?:{_PARAMETER})*)[ \t]*")
# An unclosed quote takes all that follows it. If it were refused, each of many quotes would be tried to the end.
_BETWEEN_COMMAS = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*(?:"|\\?\Z))+', re.DOTALL)
_WEIGHT = re.compile(r";[ \t]*q=(?P<weight>[^; \t]*)", re.IGNORECASE)
_QVALUE = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def negotiate(accept: str | None, offers: Sequence[str]) -> str:
    """Returns the media type that the client weighs highest; of equals, the one offered first.

    A client that accepts none of them gets the first one, which helps more than a 406 would; RFC 9110 12.5.1 allows
    both. The most specific range that covers a type gives its weight. Parameters other than `q` are ignored.
    """
    weights = dict(_weights(accept or "*/*"))

    def weight(offer: str) -> float:
        ranges = (offer, f"{offer.partition('/')[0]}/*", "*/*")
        return next((weights[each] for each in ranges if each in weights), 0.0)

    return max(offers, key=weight)


def asks_for_page(accept: str | None) -> bool:
    """Returns whether a client asks for HTML by name and prefers nothing to it, as browsers do, and programs do not."""
    weights = dict(_weights(accept or ""))
    return 0 < weights.get("text/html", 0.0) == max(weights.values())


@lru_cache(HEADERS_KEPT)
def negotiate_coding(accept: str, offers: tuple[str, ...]) -> str | None:
    """Returns the coding that the client weighs highest; of equals, the first offered, and any before no coding."""
    weights = {name.removeprefix("x-"): weight for name, weight in _weights(accept)}
    others = weights.get("*", 0.0)
    best = max(offers, key=lambda offer: weights.get(offer, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else None


def _weights(header: str) -> Iterator[tuple[str, float]]:
    """Yields media ranges or codings with their weights; malformed members are skipped."""
    for text in _BETWEEN_COMMAS.findall(header):
        member = _MEMBER.fullmatch(text)
        weight = _WEIGHT.search(member["parameters"]) if member else None
        if member and (weight is None or _QVALUE.fullmatch(weight["weight"])):
            yield member["name"].lower(), float(weight["weight"]) if weight else 1.0


_BASIC = re.compile(r"basic +(?P<credentials>[A-Za-z0-9+/]+={0,2})[ \t]*", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_PRINTABLE_ASCII = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """A user's name, which has no colon, and password, which is never shown; neither has control characters."""

    user: str
    password: str = field(repr=False)

    @classmethod
    def from_header(cls, text: str | None) -> BasicCredentials | None:
        """Returns the credentials in an Authorization header, in UTF-8; None if there are no valid ones."""
        match = _BASIC.fullmatch(text or "")
        if match is None:
            return None
        try:
            decoded = b64decode(match["credentials"], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        user, colon, password = decoded.partition(":")
        return cls(user, password) if colon and not CONTROL.search(decoded) else None


def challenge(realm: str) -> str:
    """Returns the value of WWW-Authenticate; characters of the realm that are not safe in a header become `?`."""
    printable = _NOT_PRINTABLE_ASCII.sub("?", realm)
    quoted = printable.replace("\\", r"\\").replace('"', r"\"")
    return f'Basic realm="{quoted}", charset="UTF-8"'


_KIND = re.compile(rf"[ \t]*{_TOKEN}[ \t]*")
_NAMED_PARAMETER = re.compile(
    rf';[ \t]*(?P<name>{_TOKEN})[ \t]*=[ \t]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[^\s;"]+))[ \t]*'
)
_OF_FEW_READERS = re.compile(r"name\*|filename\*.", re.IGNORECASE)
_EXTENDED = re.compile(r"(?P<charset>utf-8|iso-8859-1)'[^']*'(?P<value>[^']*)", re.IGNORECASE)

# Clients that follow RFC 9110 5.6.4 escape these two; others may send `C:\a.txt` as it is.
_QUOTED_PAIR = re.compile(r'\\(["\\])')

# Browsers escape these three characters and no other (HTML, "multipart/form-data encoding algorithm").
_BROWSER_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
_BROWSER_ESCAPE = re.compile("|".join(_BROWSER_ESCAPES))

# A name that ends at the last quote, whatever is in it, or at the end.
_LOOSE = re.compile(r'(?>.*?;[ \t]*filename[ \t]*=[ \t]*)(?:"(?P<quoted>.*)"[ \t;]*|(?P<bare>.*))', re.IGNORECASE)
_ACCENT = re.compile(r"[\u0300-\u036f]")
_MISREAD = re.compile(r'[^\x20-\x7e]|["\\]|%(?=[0-9A-Fa-f]{2})')


class Disposition(msgspec.Struct, frozen=True):
    """The name of a form's field, and of a file as the client sent it."""

    name: str | None = None
    filename: str | None = None

    @classmethod
    def from_header(cls, text: str) -> Disposition:
        """Parses a header; raises ValueError if it is malformed or repeats a parameter (RFC 6266 4.1)."""
        kind = _KIND.match(text)
        if kind is None:
            raise ValueError(f"`{text}` is not a content disposition")
        parameters = _parameters(text, kind.end(), is_form=True)
        extended = _extended(parameters.get("filename*", ""))
        filename = parameters.get("filename") if extended is None else extended
        return cls(parameters.get("name"), filename)


def attachment(file_name: str) -> str:
    """Returns the Content-Disposition that saves a file under a name."""
    return "; ".join(("attachment", *_file_name(file_name)))


def encoded_disposition(text: str, file_name: str = "") -> str:
    """Returns a Content-Disposition in ASCII, from which all readers take the name that it means (RFC 6266 4.3, D).

    The text may be what a template made: with a name that is not escaped, such as `file_name`, or of any characters.
    """
    escaped = file_name.replace("\\", r"\\").replace('"', r"\"")
    given = text.replace(f'"{file_name}"', f'"{escaped}"') if file_name else text
    if (kind := _KIND.match(given)) is None:
        return _NOT_PRINTABLE_ASCII.sub("_", given)
    try:
        parameters = _parameters(given, kind.end())
    except ValueError:
        loose = _LOOSE.fullmatch(given, kind.end())
        parameters = {"filename": loose["quoted"] or loose["bare"].strip('" ')} if loose else {}
    name = _extended(parameters.get("filename*", "")) or parameters.get("filename")
    if name is None:
        return _NOT_PRINTABLE_ASCII.sub("_", given)
    others = (f'{each}="{_as_ascii(value)}"' for each, value in parameters.items() if not each.startswith("filename"))
    return "; ".join((kind[0].strip(), *others, *_file_name(name)))


def _file_name(name: str) -> Iterator[str]:
    """Yields the parameters of a file's name: in ASCII, and as it is (RFC 8187 3.2) if that differs."""
    plain = _as_ascii(name)
    yield f'filename="{plain}"'
    if plain != name:
        yield f"filename*=UTF-8''{quote(name, safe='')}"


def _as_ascii(text: str) -> str:
    """Returns a text without accents, and with `_` for all else that some readers do not take as it is."""
    return _MISREAD.sub("_", _ACCENT.sub("", normalize("NFKD", text)))


def _parameters(text: str, at: int, *, is_form: bool = False) -> dict[str, str]:
    """Returns the parameters after an offset, by names in lower case; raises ValueError if they are malformed."""
    parameters: dict[str, str] = {}
    text = text.rstrip("; \t")
    while at < len(text):
        parameter = _NAMED_PARAMETER.match(text, at)
        # Some readers take `name*` or `filename*0` (RFC 2231), which no form may have, for `name` and `filename`.
        if parameter is None or parameter["name"].lower() in parameters or _OF_FEW_READERS.match(parameter["name"]):
            raise ValueError(f"`{text}` has a malformed or repeated parameter")
        value = parameter["token"]
        if value is None:
            value = _QUOTED_PAIR.sub(r"\1", parameter["quoted"])
            if is_form:
                value = _BROWSER_ESCAPE.sub(lambda escape: _BROWSER_ESCAPES[escape[0]], value)
        parameters[parameter["name"].lower()] = value
        at = parameter.end()
    return parameters


def _extended(text: str) -> str | None:
    """Returns the value of `filename*` (RFC 8187 3.2); None if it is absent or malformed, so `filename` counts."""
    match = _EXTENDED.fullmatch(text)
    if match is None:
        return None
    try:
        return unquote(match["value"], match["charset"], "strict")
    except UnicodeDecodeError:
        return None


# What a segment may contain (RFC 3986 3.3), without `&`, `'`, `+` and `;`, which are allowed but often misread.
_AS_THEY_ARE = "/!$()*,:=@"

_ASCII = str.maketrans({character: quote(character, safe=_AS_THEY_ARE) for character in map(chr, range(128))})


def path_reference(path: str) -> str:
    """Returns a reference to a path; never one with `//` at the start, which would name a host (RFC 3986 4.2)."""
    # `quote` is several times slower, which matters for a listing of a thousand names.
    encoded = path.translate(_ASCII) if path.isascii() else quote(path, safe=_AS_THEY_ARE)
    return "/%2F" + encoded[2:] if encoded.startswith("//") else encoded


DEFAULT_TYPE = "application/octet-stream"

# As S3 can keep it: printable ASCII.
_WITH_PARAMETERS = re.compile(rf"{_TOKEN}/{_TOKEN}(?:[ \t]*;[\t\x20-\x7e]*)?")
_ESSENCE = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+/[!#$%&'*+.^_`|~0-9a-z-]+")
_CHARSET = re.compile(r";[ \t]*charset[ \t]*=", re.IGNORECASE)
_EMPTY_CHARSET = re.compile(r';[ \t]*+charset[ \t]*+=[ \t]*+(?:"")?[ \t]*+(?=;|\Z)', re.IGNORECASE)

_TYPES = EXTENSION_TO_CONTENT_TYPE | {  # with what the library lacks
    "3mf": "model/3mf",
    "asc": "application/pgp-signature",
    "atom": "application/atom+xml",
    "cer": "application/pkix-cert",
    "cjs": "text/javascript",
    "crt": "application/pkix-cert",
    "eot": "application/vnd.ms-fontobject",
    "geojson": "application/geo+json",
    "gml": "application/gml+xml",
    "gpkg": "application/geopackage+sqlite3",
    "ics": "text/calendar",
    "jar": "application/java-archive",
    "jp2": "image/jp2",
    "jsonl": "application/x-ndjson",
    "jsonld": "application/ld+json",
    "jxl": "image/jxl",
    "kml": "application/vnd.google-earth.kml+xml",
    "kmz": "application/vnd.google-earth.kmz",
    "laz": "application/vnd.laszip",
    "mpd": "application/dash+xml",
    "ndjson": "application/x-ndjson",
    "oga": "audio/ogg",
    "owl": "application/rdf+xml",
    "rdf": "application/rdf+xml",
    "rss": "application/rss+xml",
    "sig": "application/pgp-signature",
    "svgz": "application/gzip",  # which it is, unless it is served with a Content-Encoding
    "ttl": "text/turtle",
    "xhtml": "application/xhtml+xml",
}

_TEXTS = frozenset(
    {f"application/{name}" for name in ("json", "xml", "javascript", "x-javascript", "ecmascript", "x-ndjson")}
)

# The types of documents in which browsers run scripts (HTML, "navigating"); every `+xml` is one more.
_ACTIVE = frozenset(
    {"text/html", "text/xml", "application/xml", "text/xsl", "multipart/x-mixed-replace", "message/rfc822"}
)

# What no text in UTF-8 has: NUL, and what announces other characters in ISO-2022-JP, which has ASCII's bytes only.
_OF_NO_TEXT = re.compile("\0|\x1b[$(]")


def type_of_name(name: str) -> str:
    """Returns the type that the ending of a file's name suggests, the same on every machine and Python."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    return _TYPES.get(ending, DEFAULT_TYPE)


def is_media_type(text: str) -> bool:
    """Whether a text is a media type with or without parameters, in printable ASCII."""
    return _WITH_PARAMETERS.fullmatch(text) is not None


def essence(content_type: str) -> str:
    """Returns a type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_of_types(types: Container[str], content_type: str) -> bool:
    """Whether a media type is one of `types` in lower case, among which may be such as `image/*`."""
    bare = essence(content_type)
    return bare in types or f"{bare.partition('/')[0]}/*" in types


def is_active(content_type: str) -> bool:
    """Whether a browser may run scripts in a document of a type; browsers may take an invalid type for any other."""
    bare = essence(content_type)
    return bare in _ACTIVE or bare.endswith("+xml") or not _ESSENCE.fullmatch(bare)


def lacks_charset(content_type: str) -> bool:
    """Whether a type is one of texts (`text/*`, JSON, XML, SVG, JavaScript) and does not say how they are encoded."""
    bare = essence(content_type)
    is_text = bare.startswith("text/") or bare in _TEXTS or bare.endswith(("+json", "+xml"))
    return is_text and not _CHARSET.search(_EMPTY_CHARSET.sub("", content_type))


def with_charset(content_type: str, charset: str) -> str:
    """Returns a type with a charset, if it is one of texts and has none."""
    if not lacks_charset(content_type):
        return content_type
    return f"{_EMPTY_CHARSET.sub('', content_type).rstrip('; ')}; charset={charset}"


class Utf8Check:
    """Whether content is a text in UTF-8, as far as its chunks have passed; `is_utf8` is final once `end` was called.

    A byte order mark decides alone, as it does for browsers.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._is_begun = self._is_marked = False
        self.is_utf8 = True

    def update(self, chunk: bytes, *, is_last: bool = False) -> None:
        """Adds a chunk, which may end within a character unless it is the last."""
        if self._is_marked or not self.is_utf8:
            return
        try:
            text = self._decoder.decode(chunk, is_last)
        except UnicodeDecodeError:
            self.is_utf8 = False
            return
        self._is_marked = not self._is_begun and text.startswith("\ufeff")
        self._is_begun = self._is_begun or bool(text)
        self.is_utf8 = self._is_marked or not _OF_NO_TEXT.search(text)

    def end(self) -> None:
        """Notes that all chunks have passed."""
        self.update(b"", is_last=True)


# S3's algorithm, the length of its digest in bytes, and its names in the header. `sha` is SHA-1's name in the IANA
# registry, `sha-1` is the name that clients of s3-proxy know.
_ALGORITHMS = {
    "SHA256": (32, ("sha-256",)),
    "SHA1": (20, ("sha-1", "sha")),
    "CRC32C": (4, ("crc32c",)),
    "CRC32": (4, ("crc32",)),
}

# S3 appends the number of parts if an object was uploaded in parts.
_OF_PARTS = re.compile(r'-[0-9]+"?$')


class Checksum(msgspec.Struct, frozen=True):
    """A checksum as S3 reports it: the algorithm (`SHA256`), the value in base64, and the type if S3 names it."""

    algorithm: str
    value: str
    type: str | None = None  # FULL_OBJECT or COMPOSITE

    def covers_whole(self, etag: str | None) -> bool:
        """Returns whether it is of the whole object; without a type, that is an object known to be of one part."""
        if self.type is not None:
            return self.type == "FULL_OBJECT"
        return etag is not None and not any(_OF_PARTS.search(text) for text in (etag, self.value))


def content_digest(checksums: tuple[Checksum, ...], etag: str | None) -> str | None:
    """Returns the value of Content-Digest (RFC 9651 3.2, 3.3.5); None without a checksum of the whole object."""
    if not checksums:
        return None
    whole = {checksum.algorithm: checksum.value for checksum in checksums if checksum.covers_whole(etag)}
    members = (
        f"{name}=:{whole[algorithm]}:"
        for algorithm, (length, names) in _ALGORITHMS.items()
        if algorithm in whole and _is_digest(whole[algorithm], length)
        for name in names
    )
    return ", ".join(members) or None


def _is_digest(value: str, length: int) -> bool:
    """Returns whether a text encodes `length` bytes in base64, so that it is safe in a header."""
    try:
        return len(b64decode(value, validate=True)) == length
    except ValueError:
        return False


_CHECKED = {"md5": "md5", "sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}
_DIGEST_MEMBER = re.compile(r"[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):[ \t]*")


class ContentCheck:
    """A check of content against its Content-MD5 (RFC 1864) and Content-Digest (RFC 9530)."""

    def __init__(self, content_md5: str | None, content_digest: str | None) -> None:
        """Raises ValueError for a malformed header; unknown algorithms are ignored."""
        announced = [("md5", content_md5.strip())] if content_md5 is not None else []
        for member in content_digest.split(",") if content_digest is not None else ():
            # A member of a dictionary of byte sequences (RFC 9651 3.2).
            if not (match := _DIGEST_MEMBER.fullmatch(member)):
                raise ValueError("the header is not a dictionary of byte sequences")
            announced.append((match[1], match[2]))
        self._expected = [
            (name, hashlib.new(_CHECKED[name], usedforsecurity=False), b64decode(value, validate=True))
            for name, value in announced
            if name in _CHECKED
        ]
        for name, made, value in self._expected:
            if len(value) != made.digest_size:
                raise ValueError(f"`{name}` has {made.digest_size} bytes, not {len(value)}")

    def __bool__(self) -> bool:
        """Returns whether there is anything to check."""
        return bool(self._expected)

    def update(self, chunk: bytes) -> None:
        """Adds a piece of the content."""
        for _, made, _ in self._expected:
            made.update(chunk)

    def mismatch(self) -> str | None:
        """Returns the first algorithm whose digest of the content differs from the announced one."""
        return next((name for name, made, value in self._expected if made.digest() != value), None)
