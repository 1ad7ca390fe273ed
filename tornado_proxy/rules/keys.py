"""What a key and a host may be: one check for requested paths and for the results of rewrites."""

from __future__ import annotations

import re
from typing import NewType

Key = NewType("Key", str)
"""The path below the mount, starting with `/`, decoded; what rules see and produce."""

LONGEST_OBJECT_KEY = 1024
"""The most bytes of UTF-8 that S3 takes as a key (S3 API, PutObject)."""

# The C0 and C1 controls and DEL: none can be typed, each can split a header or a log line.
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_DOT_SEGMENT = r"(?:^|/)\.\.?(?:/|$)"
_SURROGATE = r"[\ud800-\udfff]"

# Most texts are keys: one look says so.
_ANY = re.compile(f"{_CONTROL}|{_DOT_SEGMENT}|{_SURROGATE}")


def objection(text: str) -> str | None:
    """Why a text cannot be a key, as a fact without a full stop; None where it can."""
    reason = path_objection(text)
    if reason is None and len(text.encode()) > LONGEST_OBJECT_KEY + 1:
        return f"is longer than {LONGEST_OBJECT_KEY} bytes"
    return reason


def path_objection(text: str) -> str | None:
    """Why a text cannot be a path, as `objection` does; of any length, since the mount is not part of the key."""
    if not _ANY.search(text):
        return None
    if re.search(_CONTROL, text):
        return "contains a control character"
    if re.search(_DOT_SEGMENT, text):
        return "contains a `.` or `..` segment"
    return "is not valid Unicode"


def segment_objection(name: str) -> str | None:
    """Why a text cannot be one segment of a path, as a file's and a user's name must; None where it can."""
    if not name:
        return "is empty"
    return "contains a `/`" if "/" in name else path_objection(name)


# RFC 3986 3.2.2, with the port and an address's brackets, and without the comma, which parts two headers in one.
# Compiled when it is first asked for: few rule files have a test that names a host.
_STRANGE = r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+;=:\[\]%-]"


def host_objection(text: str) -> str | None:
    """Why a text cannot be a host, as a fact without a full stop; None where it can."""
    found = re.search(_STRANGE, text)
    if found is None:
        return None
    return f"contains `{found[0]}`" if found[0].isprintable() else "contains a control character"
