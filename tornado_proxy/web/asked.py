"""What the log shows of a request beside its path: its ID, the client's program, the referrer, and the part of S3."""

from __future__ import annotations

import random
import re

from tornado.httputil import HTTPServerRequest

from tornado_proxy.storage.use import BucketUse

_ID = re.compile(r"[0-9A-Za-z._:/+=@-]{1,128}")
_LONGEST = 512  # characters of a header in the log


def request_id(request: HTTPServerRequest, *, is_proxied: bool) -> str:
    """Returns the ID that a trusted proxy gave a request, or a new one; it is unique, not secret."""
    given = request.headers.get("X-Request-Id") if is_proxied else None
    return given if given and _ID.fullmatch(given) else f"{random.getrandbits(64):016x}"


def logged_facts(request: HTTPServerRequest, use: BucketUse) -> dict[str, str | float]:
    """Returns User-Agent, Referer without its query, which may carry signatures and tokens, and the use of S3."""
    agent, referrer = request.headers.get("User-Agent", ""), request.headers.get("Referer", "")
    bare = re.sub(r"(?<=//)[^/?#]*@", "", re.split(r"[?#]", referrer, maxsplit=1)[0])
    return {
        "userAgent": agent[:_LONGEST],
        "referrer": bare[:_LONGEST],
        "s3Ms": round(use.seconds * 1000, 1),
        "s3RequestId": use.request_id[:_LONGEST],
    }
