"""The limits of the admin listener and of its pages."""

from __future__ import annotations

RELOADS_KEPT = 20
"""Reloads that the status page shows."""
PROBED_WITHIN = 5.0
"""Seconds that a reload waits for a probe of what is in force."""
SHORTEST_CHART = 60.0
"""Seconds of the shortest time of the charts."""
DIAGNOSTICS_SHOWN = 5
"""Diagnostics of a reload that are shown."""
MOST_ROWS = 50
"""Rewrites of a kind that are shown: a page with thousands would be slow to make and to read."""

LONGEST_FIELD = 2048
"""Characters of a field of the form."""

LARGEST_DRAFT = 128 * 1024
"""Bytes of a draft."""
MOST_LINTED = 3_000
"""Rewrites of all files that a draft is linted with: they take a second, or several if most hide others."""
DRAFT_WITHIN = 5.0
"""Seconds for the tests of a draft, and again for the requests."""
MOST_DRAFT_DIAGNOSTICS = 20
"""Diagnostics of a draft that are shown."""

LARGEST_BODY = 1024 * 1024
"""Bytes of a request: a draft of rules in a form."""
SPARE = 8
"""Connections that are accepted after the last descriptor is taken."""
