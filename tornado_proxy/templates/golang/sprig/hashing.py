"""Checksums (sprig's crypto.go, as far as it is neither random nor slow on purpose)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from types import MappingProxyType

from tornado_proxy.templates.golang.calling import STRING, Function, function

FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "adler32sum": function(lambda text: b"%d" % zlib.adler32(text), STRING),
        "sha1sum": function(lambda text: hashlib.sha1(text, usedforsecurity=False).hexdigest().encode(), STRING),
        "sha256sum": function(lambda text: hashlib.sha256(text).hexdigest().encode(), STRING),
        "sha512sum": function(lambda text: hashlib.sha512(text).hexdigest().encode(), STRING),
    }
)
