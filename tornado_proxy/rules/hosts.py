"""What a host may be called: what a request's Host header may hold for the service to answer it."""

from __future__ import annotations

import re

# RFC 3986 3.2.2, with the port and an address's brackets, and without the comma, which parts two headers in one.
# Compiled when it is first asked for: few rule files have a test that names a host.
_STRANGE = r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9._~!$&'()*+;=:\[\]%-]"


def host_objection(text: str) -> str | None:
    """Why a text cannot be a host, as a fact without a full stop; None where it can."""
    found = re.search(_STRANGE, text)
    if found is None:
        return None
    return f"contains `{found[0]}`" if found[0].isprintable() else "contains a control character"
