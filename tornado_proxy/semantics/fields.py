"""Header fields of one value, and paths in links.

Accept and Accept-Encoding (RFC 9110 12.5), Basic credentials (RFC 7617), Content-Disposition (RFC 6266, RFC 7578), and
percent-encoded paths (RFC 3986).
"""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

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
