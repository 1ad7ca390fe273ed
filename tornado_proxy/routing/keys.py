"""From the raw path of a request to the key that S3 sees: decoded once, checked once, joined in one place."""

from __future__ import annotations

import re
from typing import NewType
from urllib.parse import unquote_to_bytes

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.errors import BadPath, KeyTooLong
from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY, Key, path_objection

RequestPath = NewType("RequestPath", str)
"""What the client asked for, percent-decoded exactly once; routing, access, rules and logs read this value."""

ObjectKey = NewType("ObjectKey", str)
"""Bucket prefix and key: what S3 sees; only `object_key` makes one."""

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def parse_request_path(raw: str) -> RequestPath:
    """The path of a request, from the raw text before its `?`; raises `BadPath`.

    Each character of `raw` is one byte of the request line (latin-1), as Tornado hands it over; bytes beyond ASCII
    that a client left unescaped are read as the UTF-8 that they must be. `+` is a plus, `%2F` is a slash, `//` stays.
    """
    if not raw.startswith("/"):
        raise BadPath("the path does not begin with `/`")
    path = _decoded(raw)
    reason = path_objection(path)
    if reason is not None:
        raise BadPath(f"the path {reason}")
    return RequestPath(path)


def _decoded(raw: str) -> str:
    try:
        sent = raw.encode("latin-1")
        if _BROKEN_ESCAPE.search(sent):
            raise BadPath("the path contains a `%` without two hexadecimal digits")
        return unquote_to_bytes(sent).decode()
    except UnicodeError as error:
        raise BadPath("the path is not valid UTF-8") from error


def object_key(bucket: Bucket, key: Key) -> ObjectKey:
    """What S3 sees of a key: the prefix in front, the key's own leading slash off; raises `KeyTooLong`."""
    joined = f"{'/' if bucket.leading_slash else ''}{bucket.prefix}{key[1:]}"
    if len(joined.encode()) > LONGEST_OBJECT_KEY:
        raise KeyTooLong(f"the object key is longer than {LONGEST_OBJECT_KEY} bytes")
    return ObjectKey(joined)
