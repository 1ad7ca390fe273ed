"""Rule files in their canonical layout, what would change in each, and the safe replacement of a file."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic, decode
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.rules.loading import RuleFile


@dataclass(frozen=True, slots=True)
class Formatted:
    """A rule file before and after; a file with mistakes has no canonical layout and stays as it was."""

    file: RuleFile
    after: bytes = field(repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the file differs from its canonical layout, which has no byte order mark and no CR LF."""
        return self.after != self.file.data


def formatted(file: RuleFile) -> Formatted:
    """Returns a file in its canonical layout, printed from its tree; a file with mistakes stays untouched."""
    source, mistake = decode(file.name, file.data)
    if source is None:
        assert mistake is not None
        return Formatted(file, file.data, (mistake,))
    parsed = parse(source)
    if parsed.diagnostics:
        return Formatted(file, file.data, parsed.diagnostics)
    return Formatted(file, print_document(parsed.document).encode())


def difference(result: Formatted) -> Iterator[str]:
    """Yields the lines of a unified diff, without their ends, as `patch` takes them."""
    before, after = _lines(result.file.data), _lines(result.after)
    for line in difflib.unified_diff(before, after, result.file.name, result.file.name):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(data: bytes) -> list[str]:
    """Returns the lines with their ends; only LF ends a line, and a byte order mark is shown."""
    lines = data.decode(errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


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
