"""The limits of requests and uploads that S3 or this service sets."""

from __future__ import annotations

from tornado_proxy.config.values import GIB, MIB

LARGEST_FORM = 5 * GIB
"""Bytes of a file that S3 takes in a form."""

MOST_PARAMETERS = 1000
"""Parameters of a query. In the manual."""

MOST_PARTS = 10_000
"""Parts of an object (S3 API, "Multipart upload limits")."""
SMALLEST_PART = 5 * MIB
"""Bytes that each part of an upload but the last must have (S3 API)."""
LARGEST_PART = 64 * MIB
"""Bytes of a part here, since each is in memory as a whole. In the manual."""
LONGEST_UPLOAD_ID = 1024
"""Characters of the ID of an upload."""
MOST_METADATA = 2048
"""The bytes of all names and values of an object's metadata (S3 API, "User-defined object metadata")."""

MOST_DECIDED = 512
"""Addresses whose decision is kept for the next request."""
LONGEST_DECIDED = 512
"""Characters of the host and the path of one, which takes some 2 KiB."""
