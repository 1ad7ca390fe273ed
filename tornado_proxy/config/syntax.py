"""What YAML's parser complains of, in words that say what to do.

PyYAML has two parsers, one in C, which word the same mistake differently; both are known here. None of these words
quotes the file, so that none can quote a secret.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Complaint:
    """A mistake in words; `context` says what begins at the second place that the parser names."""

    message: str
    help: str | None = None
    context: str | None = None


_SAME_COLUMN = "the lines of one mapping or list begin in the same column, with spaces and no tabs"

_START = Complaint("a value cannot begin with this character", "quote the value")
_COLON = Complaint(
    "a `:` cannot stand here", "begin a nested mapping on its own line; quote a value that contains `: `"
)
_NO_COLON = Complaint(
    "this is neither `key: value` nor part of the value above", "a key is followed by `:` and a space"
)
_MAPPING = Complaint("this does not fit the mapping that it stands in", _SAME_COLUMN, "the mapping begins here")
_LIST = Complaint("this does not fit the list that it stands in", _SAME_COLUMN, "the list begins here")
_BLOCK = Complaint("this does not fit the mapping or list that it stands in", _SAME_COLUMN, "it begins here")
_DASH = Complaint("a `- ` cannot stand here", "begin the list on its own line")
_BRACKET = Complaint("a `,` or the closing `]` is missing", None, "the list begins here")
_BRACE = Complaint("a `,` or the closing `}` is missing", None, "the mapping begins here")
_ENDLESS = Complaint("a quoted string never ends", None, "it begins here")
_ESCAPE = Complaint("no such escape in a string between double quotes", "double the backslash, or use single quotes")
_INDICATOR = Complaint("this cannot stand behind `|` or `>`", "begin the text on the next line")
_OUTSIDE = Complaint("this stands outside of the document", "a configuration is one mapping")
_DIRECTIVE = Complaint("this directive has no meaning here", "leave the line with `%` out")
_NO_VALUE = Complaint("a value is missing here")
_NO_NAME = Complaint("the name of an anchor or alias is missing", "quote a value that begins with `&` or `*`")
_TAB = Complaint("a tab indents this line", "indent with spaces")
_TAG = Complaint("a tag has no meaning here", "quote a value that begins with `!`")
_UNKNOWN = Complaint("from here on the text cannot be read as YAML", _SAME_COLUMN)

# The first fragment that the parser's own words contain decides.
_COMPLAINTS = (
    ("cannot start any token", _START),
    ("mapping values are not allowed", _COLON),
    ("could not find expected ':'", _NO_COLON),
    ("did not find expected key", _MAPPING),
    ("did not find expected '-' indicator", _LIST),
    ("expected <block end>", _BLOCK),
    ("sequence entries are not allowed", _DASH),
    ("',' or ']'", _BRACKET),
    ("',' or '}'", _BRACE),
    ("unexpected end of stream", _ENDLESS),
    ("unexpected document", _ENDLESS),
    ("escape", _ESCAPE),
    ("decimal number", _ESCAPE),  # libyaml: "hexdecimal"
    ("comment or line break", _INDICATOR),
    ("chomping or indentation", _INDICATOR),
    ("<document start>", _OUTSIDE),
    ("directive", _DIRECTIVE),
    ("incompatible YAML", _DIRECTIVE),
    ("node content", _NO_VALUE),
    ("alphabetic or numeric character", _NO_NAME),
    ("undefined tag handle", _TAG),
)


def describe(problem: str, character: str = "") -> Complaint:
    """The parser's complaint in our words; `character` is the one that it stopped at."""
    if character == "\t":
        return _TAB
    return next((complaint for fragment, complaint in _COMPLAINTS if fragment in problem), _UNKNOWN)
