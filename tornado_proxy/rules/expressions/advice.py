r"""What authors know from other dialects and Go does not have: what it is called, and what to write instead.

RE2 finds matches in time linear in the text, at the price of everything that would need to go back: look-around,
back-references, recursion. The rest is spelled differently.
"""

from __future__ import annotations

_AROUND = "match what stands there too, or give the exceptions a rewrite of their own above this one"
_AGAIN = "an expression cannot ask for the same text twice; match both, and let the template use one"
_FOREVER = "an expression cannot contain itself; write the levels out"
_COMMENT = "write a comment of the rule file, from `#` to the end of its line"
_NAMED = "write `(?P<name>…)` or `(?<name>…)`"

# The longest beginnings first.
GROUPS = (
    ("(?<=", "a look-behind", _AROUND),
    ("(?<!", "a look-behind", _AROUND),
    ("(?=", "a look-ahead", _AROUND),
    ("(?!", "a look-ahead", _AROUND),
    ("(?>", "an atomic group", "write `(?:…)`: RE2 never goes back, so there is nothing to forbid"),
    ("(?#", "a comment within an expression", _COMMENT),
    (
        "(?|",
        "a group that numbers its branches alike",
        "give each branch a group of its own and write them all in the template",
    ),
    ("(?(", "a condition", "write one alternative for each case"),
    ("(?'", "a named group in another spelling", _NAMED),
    ("(?P=", "a back-reference", _AGAIN),
    ("(?P>", "a recursion", _FOREVER),
    ("(?&", "a recursion", _FOREVER),
    ("(?R", "a recursion", _FOREVER),
    ("(?+", "a recursion", _FOREVER),
    *((f"(?{digit}", "a recursion", _FOREVER) for digit in range(10)),
    ("(?{", "code within an expression", "use a `jinja` or `go` template"),
    ("(?^", "a reset of all flags", "turn off the flags by name: `(?-imsU)`"),
)
"""How groups begin that Go does not have, what they are, and what to write instead."""

FLAGS = {
    "x": "there is no flag for free spacing; leave out the spaces",
    "u": "Unicode is always on; leave the flag out",
    "a": "`\\d`, `\\w`, `\\s` and `\\b` are always ASCII; leave the flag out",
    "L": "there are no locales; leave the flag out",
    "n": "write `(?:…)` for a group that captures nothing",
    "J": "names may stand twice without a flag",
    "p": "Unicode is always on; leave the flag out",
}
"""Flags of other dialects."""

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
"""Escapes of other dialects; a digit is a back-reference."""

IN_CLASS = {
    "b": "write `\\x08` for a backspace",
    "B": "an assertion cannot stand in a class",
    "A": "an assertion cannot stand in a class",
    "z": "an assertion cannot stand in a class",
    "Q": "escape each character with a backslash",
}
"""Escapes that mean something in an expression and nothing in a class."""

BACK_REFERENCE = _AGAIN
