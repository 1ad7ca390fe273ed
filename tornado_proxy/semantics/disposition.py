"""Content-Disposition of a form's part (RFC 7578 4.2, RFC 6266, RFC 8187), as browsers and command lines write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - a grammar rule (RFC 9110 5.6.2), no secret
_KIND = re.compile(rf"[ \t]*(?P<kind>{_TOKEN})[ \t]*")
_PARAMETER = re.compile(
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
        parameter = _PARAMETER.match(text, at)
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
