"""The limits of the tools for authors."""

from __future__ import annotations

LONGEST_PREFIX = 200
"""Characters of the longest prefix: each needs a proof if a source is not anchored."""

LONGEST_PREFLIGHT_AGE = 86400
"""Seconds; no browser keeps the answer to a preflight for longer."""
MOST_LISTED_KEYS = 10_000
"""Entries of `s3ListMaxKeys`."""

FEW_ADDRESSES = 10
"""Exact addresses that stand as statements; more are in a list."""
TESTED_OF_A_LIST = 20
"""Lines of a list for which a test is written."""
DEEPEST_BLOCKS = 20
"""Blocks of nginx within each other; it has five kinds of them."""
LONGEST_SUBJECT = 100
"""Characters of the excerpt of an entry."""

MOST_MISSES = 10
"""Rewrites that do not match, listed one by one; of more, the nearest."""
NEAREST_SHOWN = 5
"""Of many rewrites, those that are shown."""
MOST_COMPARED = 100
"""Of many rewrites, those whose near misses are compared; each takes about a millisecond."""
LONGEST_NEAR_MISS = 40
"""Characters of a text that a near miss shows."""

LONGEST_TEXT = 200
"""Characters of one text that are shown."""
MOST_PIECES = 60
"""Pieces of an expression that are shown."""

PAUSE_OF_KEYS = 0.15
"""Seconds without a key press before the files are analysed for diagnostics; requests do not wait for it."""
ANALYSIS_WITHIN = 5.0
"""Seconds that a request waits for an analysis; its answer is then empty."""

LARGEST_WORKSPACE = 4 * 1024 * 1024
"""The most bytes that are read together: about 30,000 rewrites, whose first analysis takes ten seconds."""
MOST_FILES = 2_000
"""The most files that are read together."""
MOST_FOLDERS = 10_000
"""The most directories that are searched for rule files."""
