"""The tokens that continue a listing: the last name of a page, below the listed prefix.

S3's own tokens are not used: those of Ceph are object keys in clear, and no page may show a rewritten or prefixed key.
A token of ours is as good for one S3 as for another, and outlives a restart.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode

from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY

# In front of every name, so that no token is empty and a text that is none is rarely taken for one.
_MARK = b"/"

# The last character that a key may hold: a directory's name with this appended is after all that lies in it.
_LAST_CHARACTER = "\U0010ffff"


def to_token(name: str) -> str:
    """The token that continues a listing after a name, in characters that need no escape in a query."""
    return urlsafe_b64encode(_MARK + name.encode()).rstrip(b"=").decode()


def from_token(token: str | None) -> str:
    """The name to go on after; empty, which is the first page, for a text that is not a token."""
    padded = f"{token or ''}{'=' * (-len(token or '') % 4)}"
    try:
        decoded = urlsafe_b64decode(padded.encode())
        name = decoded.removeprefix(_MARK).decode()
    except ValueError:
        return ""
    is_one = decoded.startswith(_MARK) and len(decoded) <= LONGEST_OBJECT_KEY + 1 and "\0" not in name
    return name if is_one else ""


def start_after(prefix: str, name: str) -> str:
    """The key after which S3 is to go on: a directory's name stands for everything in it."""
    return prefix + name + (_LAST_CHARACTER if name.endswith("/") else "")
