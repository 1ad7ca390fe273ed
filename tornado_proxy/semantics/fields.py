"""Header fields of one value, reason phrases, and paths in links.

Accept and Accept-Encoding (RFC 9110 12.5), Basic credentials (RFC 7617), Content-Disposition (RFC 6266, RFC 7578),
Content-Digest (RFC 9530), and percent-encoded paths (RFC 3986).
"""

from __future__ import annotations

import binascii
import hashlib
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote, unquote

REASONS = {status.value: status.phrase for status in HTTPStatus}
"""The reason phrases of statuses (RFC 9110 15)."""

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule (RFC 9110 5.6.2), no secret
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# Blanks are taken possessively: two runs of them that meet would take quadratic time to fail.
_PARAMETER = rf"[ \t]*+;[ \t]*+(?:{_TOKEN}=(?:{_TOKEN}|{_QUOTED}))?"
_MEMBER = re.compile(rf"[ \t]*+(?P<range>{_TOKEN}/{_TOKEN})(?P<parameters>(?:{_PARAMETER})*+)[ \t]*")
# A quote that is not closed takes all that follows. Were it refused instead, each of many would be tried to the end.
_BETWEEN_COMMAS = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))++', re.DOTALL)
_WEIGHT = re.compile(r";[ \t]*q=(?P<weight>[^; \t]*)", re.IGNORECASE)
_CODING = re.compile(rf"[ \t]*+(?P<coding>{_TOKEN})(?:[ \t]*+;[ \t]*+[qQ]=(?P<weight>[0-9.]++))?+[ \t]*")
_QVALUE = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")


def negotiate(accept: str | None, offers: Sequence[str]) -> str:
    """The media type that the client weighs highest; of equals, the one offered first.

    A client that accepts none of them gets the first all the same: an answer in a form that was not asked for helps
    more than a 406 does, and RFC 9110 12.5.1 leaves the choice. Parameters other than `q` are ignored.
    """
    ranges = dict(_weights(accept or "*/*"))
    return max(offers, key=lambda offer: _weight(offer, ranges))


def negotiate_coding(accept: str, offers: Sequence[str]) -> str | None:
    """The content coding that the client weighs highest; of equals, the one offered first. None: no coding.

    A coding that is named counts as much as no coding of the same weight: who names it wants it.
    """
    weights = dict(_coding_weights(accept))
    others = weights.get("*", 0.0)
    best = max(offers, key=lambda offer: weights.get(offer, others))
    weight = weights.get(best, others)
    return best if weight > 0 and weight >= weights.get("identity", 0.0) else None


def _coding_weights(accept: str) -> Iterator[tuple[str, float]]:
    """The codings and their weights; members that are ill-formed are passed over."""
    for text in accept.split(","):
        member = _CODING.fullmatch(text)
        if member and _QVALUE.fullmatch(member["weight"] or "1"):
            yield member["coding"].lower().removeprefix("x-"), float(member["weight"] or 1)


def _weight(offer: str, ranges: dict[str, float]) -> float:
    """What the most specific range that covers a media type says of it; 0 where none does."""
    main, _, _ = offer.partition("/")
    return next((ranges[each] for each in (offer, f"{main}/*", "*/*") if each in ranges), 0.0)


def _weights(accept: str) -> Iterator[tuple[str, float]]:
    """The media ranges and their weights; members that are ill-formed are passed over."""
    for text in _BETWEEN_COMMAS.findall(accept):
        member = _MEMBER.fullmatch(text)
        weight = _WEIGHT.search(member["parameters"]) if member else None
        if member and (weight is None or _QVALUE.fullmatch(weight["weight"])):
            yield member["range"].lower(), float(weight["weight"]) if weight else 1.0


_BASIC = re.compile(r"basic +(?P<credentials>[A-Za-z0-9+/]+={0,2})[ \t]*", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_PRINTABLE_ASCII = re.compile(r"[^\x20-\x7e]")


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """A user's name, which holds no colon, and password, which is never shown; neither has control characters."""

    user: str
    password: str = field(repr=False)

    @classmethod
    def from_header(cls, text: str | None) -> BasicCredentials | None:
        """What an Authorization header says in UTF-8, as the challenge asks; None without valid credentials."""
        found = _BASIC.fullmatch(text or "")
        if found is None:
            return None
        try:
            decoded = b64decode(found["credentials"], validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            return None
        user, colon, password = decoded.partition(":")
        return cls(user, password) if colon and not _CONTROL.search(decoded) else None

    def to_header(self) -> str:
        """The header's value."""
        return "Basic " + b64encode(f"{self.user}:{self.password}".encode()).decode()


def challenge(realm: str) -> str:
    """The value of WWW-Authenticate; what a quoted string of a header cannot carry everywhere becomes `?`."""
    printable = _NOT_PRINTABLE_ASCII.sub("?", realm)
    quoted = printable.replace("\\", r"\\").replace('"', r"\"")
    return f'Basic realm="{quoted}", charset="UTF-8"'


_KIND = re.compile(rf"[ \t]*(?P<kind>{_TOKEN})[ \t]*")
_NAMED_PARAMETER = re.compile(
    rf';[ \t]*(?P<name>{_TOKEN})[ \t]*=[ \t]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<token>[^\s;"]+))[ \t]*'
)
_EXTENDED = re.compile(r"(?P<charset>utf-8|iso-8859-1)'[^']*'(?P<value>[^']*)", re.IGNORECASE)

# A client that quotes as RFC 9110 5.6.4 says escapes these two; one that does not may send `C:\a.txt` as it is.
_QUOTED_PAIR = re.compile(r'\\(["\\])')

# Browsers write these three as escapes and nothing else (HTML, "multipart/form-data encoding algorithm").
_BROWSER_ESCAPES = {"%22": '"', "%0D": "\r", "%0A": "\n"}
_BROWSER_ESCAPE = re.compile("|".join(_BROWSER_ESCAPES))


@dataclass(frozen=True, slots=True)
class Disposition:
    """What a part of a form is: `form-data`, the field's name, and the file's name as the client sent it."""

    kind: str
    name: str | None = None
    filename: str | None = None

    @classmethod
    def from_header(cls, text: str) -> Disposition:
        """The value of a header; raises ValueError where it is ill-formed or says a parameter twice (RFC 6266 4.1)."""
        kind = _KIND.match(text)
        if kind is None:
            raise ValueError(f"`{text}` is not a content disposition")
        parameters = _parameters(text.rstrip("; \t"), kind.end())
        extended = _extended(parameters.get("filename*", ""))
        filename = parameters.get("filename") if extended is None else extended
        return cls(kind["kind"].lower(), parameters.get("name"), filename)


def _parameters(text: str, at: int) -> dict[str, str]:
    """The parameters from a place on; names in lower case."""
    found: dict[str, str] = {}
    while at < len(text):
        parameter = _NAMED_PARAMETER.match(text, at)
        if parameter is None or parameter["name"].lower() in found:
            raise ValueError(f"`{text}` has an ill-formed or repeated parameter")
        quoted = parameter["quoted"]
        found[parameter["name"].lower()] = parameter["token"] if quoted is None else _unquote(quoted)
        at = parameter.end()
    return found


def _unquote(quoted: str) -> str:
    """What stands between quotes, without the escapes of either kind of client."""
    plain = _QUOTED_PAIR.sub(r"\1", quoted)
    return _BROWSER_ESCAPE.sub(lambda escape: _BROWSER_ESCAPES[escape[0]], plain)


def _extended(text: str) -> str | None:
    """The value of `filename*` (RFC 8187 3.2); None where it is absent or ill-formed, and `filename` counts."""
    found = _EXTENDED.fullmatch(text)
    if found is None:
        return None
    try:
        return unquote(found["value"], found["charset"], "strict")
    except UnicodeDecodeError:
        return None


# What a segment may hold (RFC 3986 3.3) but for `&`, `'`, `+` and `;`, which may stand there too and are often misread.
_AS_THEY_ARE = "/!$()*,:=@"

_ASCII = str.maketrans({character: quote(character, safe=_AS_THEY_ARE) for character in map(chr, range(128))})


def path_reference(path: str) -> str:
    """A decoded absolute path as a reference to it, which decodes to that path and never begins with `//`.

    A reference that began so would name another host (RFC 3986 4.2).
    """
    # `quote` takes several times as long, which a listing of a thousand names has to pay.
    encoded = path.translate(_ASCII) if path.isascii() else quote(path, safe=_AS_THEY_ARE)
    return "/%2F" + encoded[2:] if encoded.startswith("//") else encoded


# The seed's table: S3's algorithm, its digest's length in bytes, and the names under which the header carries it.
# `sha` is SHA-1's name in the IANA registry, `sha-1` the one that clients of s3-proxy know.
_ALGORITHMS = {
    "SHA256": (32, ("sha-256",)),
    "SHA1": (20, ("sha-1", "sha")),
    "CRC32C": (4, ("crc32c",)),
    "CRC32": (4, ("crc32",)),
}

# S3 appends the number of parts where the whole was put together from them.
_OF_PARTS = re.compile(r'-[0-9]+"?$')


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum as S3 reports it: algorithm as in `ChecksumSHA256` (`SHA256`), base64 value, type if S3 named it."""

    algorithm: str
    value: str
    type: str | None = None  # FULL_OBJECT or COMPOSITE

    def covers_whole(self, etag: str | None) -> bool:
        """Whether it is of the whole object; where S3 names no type, of an object known to be of one part."""
        if self.type is not None:
            return self.type == "FULL_OBJECT"
        return etag is not None and not any(_OF_PARTS.search(text) for text in (etag, self.value))


def content_digest(checksums: tuple[Checksum, ...], etag: str | None) -> str | None:
    """The header's value, or None where no checksum of the whole object is known."""
    whole = {checksum.algorithm: checksum.value for checksum in checksums if checksum.covers_whole(etag)}
    return ", ".join(_members(whole)) or None


def _members(values: dict[str, str]) -> Iterator[str]:
    """The dictionary's members, in the order of the table; each a byte sequence (RFC 9651 3.2, 3.3.5)."""
    for algorithm, (length, names) in _ALGORITHMS.items():
        value = values.get(algorithm)
        if value is not None and _is_digest(value, length):
            yield from (f"{name}=:{value}:" for name in names)


def _is_digest(value: str, length: int) -> bool:
    """Whether a text is base64 of `size` bytes, so that it is safe in a header."""
    try:
        return len(b64decode(value, validate=True)) == length
    except ValueError:
        return False


_CHECKED = {"md5": "md5", "sha": "sha1", "sha-256": "sha256", "sha-512": "sha512"}
_DIGEST_MEMBER = re.compile(r"[ \t]*([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):[ \t]*")


class ContentCheck:
    """A check of content against what Content-MD5 (RFC 1864) and Content-Digest (RFC 9530) announce of it."""

    def __init__(self, content_md5: str | None, content_digest: str | None) -> None:
        """Raises ValueError for a header that breaks its grammar; algorithms that are not known are left out."""
        announced = [("md5", content_md5.strip())] if content_md5 is not None else []
        announced += _announced(content_digest) if content_digest is not None else []
        self._expected = [
            (name, hashlib.new(_CHECKED[name], usedforsecurity=False), b64decode(value, validate=True))
            for name, value in announced
            if name in _CHECKED
        ]
        for name, made, value in self._expected:
            if len(value) != made.digest_size:
                raise ValueError(f"`{name}` has {made.digest_size} bytes, not {len(value)}")

    def __bool__(self) -> bool:
        """Whether there is anything to check."""
        return bool(self._expected)

    def update(self, chunk: bytes) -> None:
        """Adds a piece of the content."""
        for _, made, _ in self._expected:
            made.update(chunk)

    def mismatch(self) -> str | None:
        """Returns the first algorithm whose digest of the content is another than was announced."""
        return next((name for name, made, value in self._expected if made.digest() != value), None)


def _announced(header: str) -> Iterator[tuple[str, str]]:
    """The members of a dictionary of byte sequences (RFC 9651 3.2); raises ValueError for anything else."""
    for member in header.split(","):
        found = _DIGEST_MEMBER.fullmatch(member)
        if not found:
            raise ValueError("the header is not a dictionary of byte sequences")
        yield found[1], found[2]
