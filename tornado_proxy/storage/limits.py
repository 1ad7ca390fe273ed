"""The limits of stores: caches and probes."""

from __future__ import annotations

CACHED_CHUNK = 64 * 1024
"""Bytes of a cached body that are sent at once."""
CACHE_OVERHEAD = 1024
"""Bytes that an entry of a cache takes besides its body, key and texts."""

PROBE_WITHIN = 10.0
"""Seconds that the probe of one bucket may take."""
LARGEST_PROBE = 16 * 1024 * 1024
"""Bytes of the largest `bucket.partSize` with which a probe tries an upload in parts."""
LOOK_WITHIN = 5.0
"""Seconds that the attempts of one plan may take when a page looks."""
PROBES_AT_ONCE = 16
"""Buckets that are probed at once."""
