"""Sizes for people, in IEC units."""

from __future__ import annotations

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human_size(size: int) -> str:
    """A number of bytes as people read it: `0 B`, `1023 B`, `1.5 KiB`, `5.0 GiB`."""
    if size < 1024:
        return f"{size} B"
    # What would be shown as 1024.0 is one of the next unit.
    power = next((power for power in range(1, len(_UNITS)) if size / 1024**power < 1023.95), len(_UNITS))
    return f"{size / 1024**power:.1f} {_UNITS[power - 1]}"
