"""Rule files for tools: in their canonical layout, and replaced safely."""

from __future__ import annotations

import contextlib
import difflib
import io
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tornado_proxy.rules.diagnostic import Diagnostic, decode
from tornado_proxy.rules.loading import RuleFile
from tornado_proxy.rules.parser import parse
from tornado_proxy.rules.printer import print_document


def formatted(file: RuleFile) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """Returns a file in its canonical layout, without byte order mark and CR LF, and its mistakes.

    A file with mistakes has no canonical layout and stays as it was.
    """
    source = decode(file.name, file.data)
    if isinstance(source, Diagnostic):
        return file.data, (source,)
    parsed = parse(source)
    return file.data if parsed.diagnostics else print_document(parsed.document).encode(), parsed.diagnostics


def difference(file: RuleFile, after: bytes) -> Iterator[str]:
    """Yields the lines of a unified diff, without their ends, as `patch` takes them."""
    # Only LF ends a line, and a byte order mark is shown.
    old, new = ([line.decode(errors="replace") for line in io.BytesIO(data)] for data in (file.data, after))
    for line in difflib.unified_diff(old, new, file.name, file.name):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def replace_file(path: Path, data: bytes) -> None:
    """Replaces the content of a file at once; mode and links stay, the owner where possible. Raises `OSError`."""
    place = path.resolve(strict=True)
    was = place.stat()
    # A name that begins with a dot is not a rule file for anyone who reads the directory at this moment.
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            with contextlib.suppress(PermissionError):
                os.fchown(handle, was.st_uid, was.st_gid)
            os.fchmod(handle, stat.S_IMODE(was.st_mode))
            file.flush()
            os.fsync(handle)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
