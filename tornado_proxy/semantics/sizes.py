"""Sizes for people, in IEC units."""

from __future__ import annotations

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size: int) -> str:
    """A number of bytes as people read it: `0 B`, `1023 B`, `1.5 KiB`, `5.0 GiB`."""
    if size < 1024:
        return f"{size} B"
    power = 1
    # What would be shown as 1024.0 is one of the next unit.
    while power < len(_UNITS) and size / 1024**power >= 1023.95:
        power += 1
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"
