"""The limits of what is kept about requests."""

from __future__ import annotations

MOST_RULES = 1000
"""Rewrites with a series of their own in Prometheus; hits of any more are counted as `other`."""
MOST_HIT = 100_000
"""Rewrites whose hits are known to the status page: edits bring new ones for years."""
SAMPLE_EVERY = 5.0
"""Seconds between two samples of the charts of the status page."""
SAMPLED_FOR = 15 * 60
"""Seconds that the charts of the status page show."""

LOOP_SEEN_EVERY = 0.1
"""Seconds between two looks at how late the event loop is."""

MOST_RECENT = 30
"""Requests that are kept for the status page."""
MOST_ERRORS = 20
"""Requests with an error that are kept, of each kind: errors of clients, and errors of servers."""
MINUTES_KEPT = 15
"""Minutes for which hits are kept."""
MOST_COUNTED = 200
"""Rewrites whose hits in a minute are kept: the page shows fewer."""
LONGEST_KEPT = 300
"""Characters of a path and of a reason that are kept."""
LONGEST_HOST = 255
"""Characters of a host that is kept; a key is short enough by itself."""

MOST_QUEUED = 1000
"""Events that wait for a worker; further ones are dropped, so that a slow receiver never fills the memory."""
WEBHOOK_WORKERS = 8
"""Webhooks that are called at once. In the manual."""

LOG_GATHERED_FOR = 0.1
"""Seconds between two writes: each takes the interpreter from the requests for a moment."""
LOG_ROOM = 4 * 1024 * 1024
"""Bytes of lines that wait: some 10,000 requests."""
