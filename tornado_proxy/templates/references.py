"""How a group is referred to by a text: by its name, or by its number in digits (Go's regexp.extract)."""

from __future__ import annotations

# From here on Go takes digits for a name.
_LONGEST_NUMBER = 9


def group_number(reference: str) -> int | None:
    """The number that a reference is: digits without leading zeros; None where it is a name."""
    if not (reference.isascii() and reference.isdecimal()) or len(reference) > _LONGEST_NUMBER:
        return None
    return int(reference) if reference[0] != "0" or reference == "0" else None
