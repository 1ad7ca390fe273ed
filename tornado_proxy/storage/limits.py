"""The limits of stores: caches, probes and waiting."""

from __future__ import annotations

CACHED_CHUNK = 64 * 1024
"""Bytes of a cached body that are sent at once."""
CACHE_OVERHEAD = 1024
"""Bytes that an entry of a cache takes besides its body, key and texts."""

PROBE_WITHIN = 10.0
"""Seconds that the probe of one bucket may take."""
LOOK_WITHIN = 5.0
"""Seconds that the attempts of one plan may take when a page looks."""
PROBES_AT_ONCE = 16
"""Buckets that are probed at once."""

PLACE_WITHIN = 5.0
"""Seconds that a client waits for a place."""
PLACE_OF_BULK_WITHIN = 30.0
"""Seconds that a task waits for a place that is not urgent."""
SHARE = 3
"""A client may hold as many places as are left for others, times this: three quarters if it is alone."""
