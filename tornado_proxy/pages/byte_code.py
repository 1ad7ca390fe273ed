"""The byte code of the package's templates, which is kept beside that of its modules."""

from __future__ import annotations

import sys
from contextlib import suppress
from hashlib import sha256
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import Environment
from jinja2.bccache import Bucket, BytecodeCache

# What the compiler reads of an environment, beside its filters.
_OPTIONS = ("autoescape", "sandboxed", "trim_blocks", "lstrip_blocks", "keep_trailing_newline")

_DIGEST = 32  # bytes


class KeptByteCode(BytecodeCache):
    """Keeps byte code like Python: written unless that is told not to, and read by the versions that wrote it.

    Jinja's own cache makes files that only their owner may read, and fails if one is damaged.
    """

    def __init__(self) -> None:
        self._folder = Path(cache_from_source(__file__)).parent
        self._jinja = version("jinja2")

    def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:  # noqa: ARG002 - the base's signature
        """Returns what is kept of a template, wherever the package is: it may be built at another place."""
        options = [getattr(environment, option) for option in _OPTIONS]
        return super().get_bucket(environment, name, None, f"{self._jinja} {options} {source}")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Reads what is kept, if it is there and whole."""
        with suppress(OSError):
            kept = self._place(bucket).read_bytes()
            byte_code = kept[_DIGEST:]
            if sha256(byte_code).digest() == kept[:_DIGEST]:
                bucket.bytecode_from_string(byte_code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Writes what is to be kept, where that is possible."""
        if not sys.dont_write_bytecode:
            byte_code = bucket.bytecode_to_string()
            # Writes as for modules: with their permissions, all or nothing, and without an error.
            SourceFileLoader("", "").set_data(str(self._place(bucket)), sha256(byte_code).digest() + byte_code)

    def _place(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.{sys.implementation.cache_tag}.jinja"
