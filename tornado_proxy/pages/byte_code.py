"""The byte code of the package's templates, which is kept beside that of its modules."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

from jinja2 import Environment
from jinja2.bccache import Bucket, FileSystemBytecodeCache

# What the compiler reads of an environment, beside its filters.
_OPTIONS = ("autoescape", "sandboxed", "trim_blocks", "lstrip_blocks", "keep_trailing_newline")


class KeptByteCode(FileSystemBytecodeCache):
    """Keeps byte code like Python: written unless that is told not to, and read by the versions that wrote it."""

    def __init__(self) -> None:
        folder = Path(cache_from_source(__file__)).parent
        super().__init__(str(folder), f"%s.{sys.implementation.cache_tag}.jinja")
        self._jinja = version("jinja2")

    def get_bucket(self, environment: Environment, name: str, filename: str | None, source: str) -> Bucket:  # noqa: ARG002 - the base's signature
        """Returns what is kept of a template, wherever the package is: it may be built at another place."""
        options = [getattr(environment, option) for option in _OPTIONS]
        return super().get_bucket(environment, name, None, f"{self._jinja} {options} {source}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Writes what is to be kept, where that is possible."""
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                super().dump_bytecode(bucket)
