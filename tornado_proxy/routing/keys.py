"""Turns the raw path of a request into the object key: decoded once, checked once, joined in one place."""

from __future__ import annotations

import re
from typing import NewType
from urllib.parse import unquote_to_bytes

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.errors import BadFileName, BadPath, KeyTooLong
from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY, Key, path_objection, segment_objection

RequestPath = NewType("RequestPath", str)
"""What the client asked for, percent-decoded exactly once; routing, access, rules and logs read this value."""

ObjectKey = NewType("ObjectKey", str)
"""Bucket prefix and key: what S3 sees; only `object_key` makes one."""

ASSETS_AT = ".tornado-proxy/"
"""Where the assets of pages are found, below any directory: no mount hides them; a proxy that knows one knows all."""

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def parse_request_path(raw: str) -> RequestPath:
    """Decodes the path of a request from the raw text before its `?`; raises `BadPath`.

    Each character of `raw` is one byte of the request line (latin-1), as `gateway.parser` reads it; unescaped bytes
    beyond ASCII are read as UTF-8. `+` is a plus, `%2F` is a slash, `//` stays.
    """
    if not raw.startswith("/"):
        raise BadPath("the path does not begin with `/`")
    try:
        sent = raw.encode("latin-1")
        if _BROKEN_ESCAPE.search(sent):
            raise BadPath("the path contains a `%` without two hexadecimal digits")
        path = unquote_to_bytes(sent).decode()
    except UnicodeError as error:
        raise BadPath("the path is not valid UTF-8") from error
    reason = path_objection(path)
    if reason is not None:
        raise BadPath(f"the path {reason}")
    return RequestPath(path)


def upload_path(directory: RequestPath, file_name: str) -> RequestPath:
    r"""Returns the path of an upload: the directory's and the file's name after its last `/`; raises `BadFileName`.

    Access is checked for it once more, and `Location` names it. A `\` is a character like any other.
    """
    name = file_name.rpartition("/")[2]
    reason = segment_objection(name)
    if reason is not None:
        raise BadFileName(f"the file's name {reason}")
    return RequestPath(directory + name)


def object_key(bucket: Bucket, key: Key) -> ObjectKey:
    """Joins a bucket's prefix and a key without its leading slash; raises `KeyTooLong`."""
    joined = f"{'/' if bucket.leading_slash else ''}{bucket.prefix}{key[1:]}"
    if len(joined.encode()) > LONGEST_OBJECT_KEY:
        raise KeyTooLong(f"the object key is longer than {LONGEST_OBJECT_KEY} bytes")
    return ObjectKey(joined)
