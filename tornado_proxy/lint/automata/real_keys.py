"""The language of real keys: what `rules.keys.objection` lets through and begins with `/`, read character by character.

Roles and places are plain integers: they are parts of states, and members of an `Enum` are slow to hash.
"""

from __future__ import annotations

from functools import lru_cache

from tornado_proxy.rules.expressions.ranges import Ranges, complement
from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY

LONGEST = LONGEST_OBJECT_KEY + 1
"""The most bytes of UTF-8 in a key, its leading slash included."""

REFUSED: Ranges = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF))
"""What no key may hold: control characters and surrogates."""

HELD = complement(REFUSED)
"""What a key may hold."""

SLASH, DOT, OTHER, NEVER = range(4)
"""What a character is to the segments of a key."""

START, SEGMENT, ONE_DOT, TWO_DOTS, WITHIN, NOWHERE = range(6)
"""Where in its segments a key has been read up to: before its leading slash, at the start of a segment, in one that is
`.` or `..` so far, in any other, or where no real key leads."""

FOLLOWING = (
    (SEGMENT, NOWHERE, NOWHERE, NOWHERE),
    (SEGMENT, ONE_DOT, WITHIN, NOWHERE),
    (NOWHERE, TWO_DOTS, WITHIN, NOWHERE),
    (NOWHERE, WITHIN, WITHIN, NOWHERE),
    (SEGMENT, WITHIN, WITHIN, NOWHERE),
    (NOWHERE, NOWHERE, NOWHERE, NOWHERE),
)
"""By place, and by the role of the next character: the place after it."""

_ROLES = {"/": SLASH, ".": DOT}

ENDS = frozenset({SEGMENT, WITHIN})
"""Where a real key may end."""


@lru_cache(maxsize=4096)
def role(character: str) -> int:
    """What a character is to the segments of a key."""
    if character in _ROLES:
        return _ROLES[character]
    code = ord(character)
    return NEVER if any(first <= code <= last for first, last in REFUSED) else OTHER


def led(text: str) -> int:
    """Where a text leads from the beginning of a key."""
    place = START
    for character in text:
        place = FOLLOWING[place][role(character)]
    return place
