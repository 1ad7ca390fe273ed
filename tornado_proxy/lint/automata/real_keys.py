"""The language of real keys: what `rules.keys.objection` lets through and begins with `/`, read character by character.

Roles and places are plain integers: they are parts of states, and members of an `Enum` are slow to hash.
"""

from __future__ import annotations

from tornado_proxy.rules.expressions.ranges import Ranges
from tornado_proxy.rules.keys import LONGEST_OBJECT_KEY

LONGEST = LONGEST_OBJECT_KEY + 1
"""The most bytes of UTF-8 in a key, its leading slash included."""

REFUSED: Ranges = ((0, 0x1F), (0x7F, 0x9F), (0xD800, 0xDFFF))
"""What no key may hold: control characters and surrogates."""

SLASH, DOT, OTHER = range(3)
"""What a character is to the segments of a key."""

START, SEGMENT, ONE_DOT, TWO_DOTS, WITHIN, NOWHERE = range(6)
"""Where in its segments a key has been read up to: before its leading slash, at the start of a segment, in one that is
`.` or `..` so far, in any other, or where no real key leads."""

FOLLOWING = (
    (SEGMENT, NOWHERE, NOWHERE),
    (SEGMENT, ONE_DOT, WITHIN),
    (NOWHERE, TWO_DOTS, WITHIN),
    (NOWHERE, WITHIN, WITHIN),
    (SEGMENT, WITHIN, WITHIN),
)
"""By place, and by the role of the next character: the place after it."""

ENDS = frozenset({SEGMENT, WITHIN})
"""Where a real key may end."""


def role(character: str) -> int:
    """What a character is to the segments of a key."""
    return SLASH if character == "/" else DOT if character == "." else OTHER
