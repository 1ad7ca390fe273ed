"""Where a redirect leads.

What a template inserts stands between two marks, so that it can be told from the rule's own words: only these name a
scheme and a host, and begin a query or a fragment. Inserted texts are percent-encoded (RFC 3986 2.1).
"""

from __future__ import annotations

import re
from urllib.parse import quote

import msgspec

from gotemplate.template.errors import INSERTED, INSERTED_END

_HOST = re.compile(
    r"https?://(?:[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?=[/?#]|\Z)", re.IGNORECASE
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PIECE = re.compile(f"{INSERTED}([^{INSERTED}{INSERTED_END}]*){INSERTED_END}|([^{INSERTED}{INSERTED_END}]+)")
_PARTS = re.compile(r"([^?#]*)((?:\?[^#]*)?)(.*)")
# RFC 3986 2.2: what an author writes for what it means, and what of an inserted text means nothing in path and query.
_AS_WRITTEN, _AS_INSERTED = "/!$&'()*+,;=:@~?#[]%", "/!$()*,:=@~"
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

LEADS_TO = 'write a path below the mount, "/new/$1", or a URL, "https://example.org/new/$1"'
"""What an author does whose rule leads nowhere."""


class NoLocation(ValueError):
    """A text that leads nowhere; the message says why, as a fact about it."""


class RedirectLocation(msgspec.Struct, frozen=True):
    """Where a redirect leads, percent-encoded: `path` is below the mount, or a URL."""

    path: str
    query: str = ""  # with its `?`
    fragment: str = ""  # with its `#`

    @property
    def is_url(self) -> bool:
        """Whether it names a host."""
        return not self.path.startswith("/")

    def __str__(self) -> str:
        return f"{self.path}{self.query}{self.fragment}"


def read_location(text: str) -> RedirectLocation:
    """Returns where a text leads in which marks are around what is inserted; raises `NoLocation`."""
    own = text.partition(INSERTED)[0]
    if is_url := _SCHEME.match(own) is not None:
        if not own.lower().startswith(("http://", "https://")):
            raise NoLocation("is neither a path nor a URL of `http` or `https`")
        if not _HOST.match(text):
            raise NoLocation("does not name its host in the rule's own words")
    elif own.startswith("//"):
        raise NoLocation("begins with `//`, which would name a host")
    pieces = [*_PIECE.finditer(text)]
    if sum(len(each[0]) for each in pieces) != len(text):
        raise NoLocation("has what it inserts in disorder")
    encoded = "".join(
        quote(each[1], _AS_INSERTED, errors="replace")
        if each[2] is None
        else _BARE_PERCENT.sub("%25", quote(each[2], _AS_WRITTEN, errors="replace"))
        for each in pieces
    )
    if not is_url and not encoded.startswith("/"):
        encoded = f"/{encoded}"
    parts = _PARTS.fullmatch(encoded)
    assert parts is not None, "what ends a line is encoded"
    return RedirectLocation(*parts.groups())
