"""The limits of what commands print and read."""

from __future__ import annotations

ANSWER_SHOWN = 200
"""Characters of an answer of the service that is not JSON."""
LARGEST_ANSWER = 64 * 1024 * 1024
"""Bytes of an answer of the service."""

HEAD_WITHIN = 10.0
"""Seconds for S3 to answer about one key."""
LIVE_WITHIN = 10.0
"""Seconds for the service to send its last requests."""

TARGETS_SHOWN = 10
"""Names of targets that a message lists."""

LARGEST_REVISION = 8 * 1024 * 1024
"""The most bytes of a file on disk: those of a configuration."""
