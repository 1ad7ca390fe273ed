"""From the raw path of a request to the key that S3 sees: decoded once, checked once, joined in one place."""

from __future__ import annotations

from typing import NewType

RequestPath = NewType("RequestPath", str)
"""What the client asked for, percent-decoded exactly once; routing, access, rules and logs read this value."""

ObjectKey = NewType("ObjectKey", str)
"""Bucket prefix and key: what S3 sees; only `object_key` makes one."""
