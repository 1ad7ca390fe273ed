r"""Patterns as other languages write them, between slashes and with flags behind: `/^\/a$/i`."""

from __future__ import annotations

import re

# One that begins otherwise may be meant as it stands: `/a/`.
_DELIMITED = re.compile(r"/(?P<body>(?:\^|\\/).*)/(?P<flags>[dgimsuvy]*)", re.DOTALL)
_MEANT = "ims"  # the others say how often to search, and how


def undelimited(text: str) -> str | None:
    """The same pattern as it is written here; None where there is nothing around it."""
    found = _DELIMITED.fullmatch(text)
    if found is None:
        return None
    flags = "".join(each for each in _MEANT if each in found["flags"])
    body = found["body"].replace("\\/", "/")
    return f"(?{flags}){body}" if flags else body
