"""The limits of a configuration file."""

from __future__ import annotations

DEEPEST_DOCUMENT = 64
"""Levels of nesting of collections, aliases expanded."""
MOST_NODES = 200_000
"""Nodes of a document, aliases expanded: a few lines of aliases can expand to billions."""
LONGEST_QUOTED = 60
"""Characters of a value that messages quote."""

MOST_TRIED = 8
"""Entries of `tryFiles`, each a call to S3 for every address that is not there."""

LARGEST_CONFIGURATION = 8 * 1024 * 1024
"""Bytes of a configuration file. In the manual."""

SHORTEST_KEY = 16
"""Characters, at least, of a secret that encrypts sessions; a shorter one could be guessed."""

LARGEST_SECRET = 64 * 1024
"""Bytes of a secret's file; a larger file is probably a mistake."""
