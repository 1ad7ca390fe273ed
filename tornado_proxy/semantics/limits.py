"""The limits of headers."""

from __future__ import annotations

DATES_KEPT = 1024
"""Dates whose text is remembered: few objects are requested often."""

HEADERS_KEPT = 64
"""Values of Accept-Encoding whose meaning is remembered: browsers send few different ones."""

LONGEST_AUTHORITY = 300
"""Characters of a host with its port; a DNS name has at most 253."""
LONGEST_PUBLIC_PATH = 256
"""Characters of the path that a proxy has taken off: it stands in each link."""
MOST_HOPS = 32
"""Proxies of a chain of X-Forwarded-For."""
LONGEST_PROXY_LINE = 107
"""Bytes of a line of version 1 of the PROXY protocol, CR LF included."""
