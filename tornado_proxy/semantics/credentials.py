"""Basic authentication (RFC 7617): what a client sends, and the challenge that asks for it."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode, b64encode
from dataclasses import dataclass, field

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
        """What an Authorization header says in UTF-8, as the challenge asks; None where it says nothing of the kind."""
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
