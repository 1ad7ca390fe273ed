r"""Why an expression is refused, and what to write instead of what other dialects have.

RE2 finds matches in time linear in the text, at the price of everything that would need to go back: look-around,
back-references, recursion. The rest is spelled differently.
"""

from __future__ import annotations


class PatternError(Exception):
    """A text that is not an expression in Go's syntax; `offset` and `end` are code points in it."""

    def __init__(self, message: str, offset: int = 0, end: int | None = None, help: str | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.end = end
        self.help = help


_AROUND = "match what stands there too, or give the exceptions a rewrite of their own above this one"
_AGAIN = "an expression cannot ask for the same text twice; match both, and let the template use one"
_FOREVER = "an expression cannot contain itself; write the levels out"
_COMMENT = "write a comment of the rule file, from `#` to the end of its line"
_NAMED = "write `(?P<name>…)` or `(?<name>…)`"

# The longest beginnings first.
GROUPS = (
    ("(?<=", "look-behind", _AROUND),
    ("(?<!", "look-behind", _AROUND),
    ("(?=", "look-ahead", _AROUND),
    ("(?!", "look-ahead", _AROUND),
    ("(?>", "atomic group", "write `(?:…)`: RE2 never goes back, so an atomic group changes nothing"),
    ("(?#", "comment", _COMMENT),
    ("(?|", "branch reset", "give each branch a group of its own and write them all in the template"),
    ("(?(", "condition", "write one alternative for each case"),
    ("(?'", "group name in quotes", _NAMED),
    ("(?P=", "back-reference", _AGAIN),
    ("(?P>", "recursion", _FOREVER),
    ("(?&", "recursion", _FOREVER),
    ("(?R", "recursion", _FOREVER),
    ("(?+", "recursion", _FOREVER),
    *((f"(?{digit}", "recursion", _FOREVER) for digit in range(10)),
    ("(?{", "code block", "use a `jinja` or `go` template"),
    ("(?^", "reset of all flags", "turn the flags off by name: `(?-imsU)`"),
)
"""How groups begin that Go does not have, what they are called, and what to write instead."""

FLAGS = {
    "x": "there is no flag for free spacing; leave out the spaces",
    "u": "Unicode is always on; leave the flag out",
    "a": "`\\d`, `\\w`, `\\s` and `\\b` are always ASCII; leave the flag out",
    "L": "there are no locales; leave the flag out",
    "n": "write `(?:…)` for a group without a number",
    "J": "two groups may have one name without a flag",
    "p": "Unicode is always on; leave the flag out",
}
"""What to write instead of the flags of other dialects."""

ESCAPES = {
    "Z": "write `\\z` for the end of the text",
    "G": "write `^` or `\\A` for the beginning of the text",
    "K": "a template replaces the whole key, so there is nothing to keep; leave it out",
    "h": "write `[ \\t]`",
    "H": "write `[^ \\t]`",
    "R": "write `(?:\\r\\n|\\n|\\r)`",
    "N": "write `[^\\n]`",
    "X": "write `\\pL\\pM*` for a letter with its marks",
    "C": "a key is text, not bytes; write `.` for one character",
    "e": "write `\\x1b`",
    "c": "write the control character as `\\x01` to `\\x1a`",
    "u": "write `\\x{1234}`",
    "U": "write `\\x{12345}`",
    "i": "write `(?i)` for any case",
    "E": "there is no `\\Q` before it; leave it out",
    "y": "write `\\b` for the edge of a word",
    "m": "write `\\b` for the edge of a word",
    "M": "write `\\b` for the edge of a word",
    "k": _AGAIN,
    "g": _AGAIN,
    "l": "write `\\p{Ll}` for a small letter",
    "L": "write `\\P{Ll}` for anything but a small letter",
}
"""What to write instead of the escapes of other dialects."""

ESCAPES_IN_CLASS = {
    "b": "write `\\x08` for a backspace",
    "B": "an assertion cannot stand in a class",
    "A": "an assertion cannot stand in a class",
    "z": "an assertion cannot stand in a class",
    "Q": "escape each character with a backslash",
}
"""What to write in a class instead of escapes that have a meaning outside one only."""

BACK_REFERENCE = _AGAIN
"""What to do without back-references."""
