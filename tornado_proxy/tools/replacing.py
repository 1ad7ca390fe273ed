"""A file replaced whole: who reads it meanwhile sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def replace_file(path: Path, data: bytes) -> None:
    """Give a file new content, its mode and where possible its owner kept; a link stays one. Raises `OSError`."""
    place = path.resolve(strict=True)
    was = place.stat()
    # A name that begins with a dot is no rule file, whoever looks into the directory at this moment.
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
