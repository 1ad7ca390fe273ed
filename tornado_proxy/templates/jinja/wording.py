"""What Jinja2 says of a template that it cannot read, in our words and with a cure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches

from tornado_proxy.templates.jinja.texts import backticked

Said = tuple[str, str | None]
"""The fact, and its cure where one is known."""

STATEMENTS = ("if", "elif", "else", "for", "set", "with", "macro", "call", "filter", "raw")
"""The statements of a template, those that only stand in another one among them."""

CLOSED = ("if", "for", "set", "with", "macro", "call", "filter", "raw")
"""Those that end at an `end…` of their own."""

_LISTED = "the statements are " + ", ".join(f"`{name}`" for name in STATEMENTS)
_BRACES = "`{{` is closed by `}}`, `{%` by `%}`"

_PLACE = re.compile(r" at \d+$")

_TOKENS: Mapping[str, str] = {
    "end of print statement": "`}}`",
    "end of statement block": "`%}`",
    "end of template": "the end of the template",
    "begin of print statement": "`{{`",
    "begin of statement block": "`{%`",
    "template data / text": "text",
    "name": "a name",
    "integer": "a number",
    "float": "a number",
    "string": "a text",
}

_CHARACTERS: Mapping[str, str] = {
    "&": "both are asked for by `and`",
    "!": "the contrary is `not`, and what differs `!=`",
    "?": "a choice is written `a if condition else b`",
    "'": "a text ends in the quote that it begins with",
    '"': "a text ends in the quote that it begins with",
    "\\\\": "a backslash stands in quotes only",
}

_MEANT: Mapping[str, str] = {"elseif": "elif", "elsif": "elif", "foreach": "for", "unless": "if not", "switch": "if"}

_EXPECTED: Mapping[str, str] = {
    "end of print statement": "`~` joins two values; an expression ends in `}}`",
    "end of statement block": "a statement ends in `%}`",
}


def reworded(message: str) -> Said:
    """A message of Jinja2 as a fact and a cure."""
    said = _PLACE.sub("", message)
    for expression, word in _WORDINGS:
        found = expression.fullmatch(said)
        if found:
            return word(*found.groups())
    return backticked(said), None


def _token(name: str) -> str:
    return _TOKENS.get(name, f"`{name}`")


def _unlike(expected: str, found: str) -> Said:
    if (expected, found) == ("end of print statement", "="):
        return "expected `}}`, found `=`", "`==` compares"
    if found == "|":
        return "unexpected `||`", "either of two is asked for by `or`"
    return f"expected {_token(expected)}, found {_token(found)}", _EXPECTED.get(expected)


def _unexpected(found: str) -> Said:
    if found == "end of template":
        return "an action is not closed", _BRACES
    if found in _TOKENS:
        return f"an expression is missing before {_token(found)}", None
    return f"unexpected `{found}`", _BRACES if found == "}" else None


def _character(found: str) -> Said:
    return f"unexpected `{found}`", _CHARACTERS.get(found)


def _tag(name: str, innermost: str | None) -> Said:
    if name.removeprefix("end") in CLOSED and name.startswith("end"):
        if innermost is None:
            return f"`{name}` closes nothing", None
        return f"`{name}` closes no `{innermost}`", _closing(innermost)
    if name in STATEMENTS:
        return f"`{name}` stands in no `if` and no `for`", None
    meant = _MEANT.get(name) or next(iter(get_close_matches(name, STATEMENTS, n=1)), None)
    return f"there is no statement named `{name}`", f"did you mean `{meant}`?" if meant else _LISTED


def _open(name: str) -> Said:
    return f"the `{name}` is not closed", _closing(name)


def _closing(name: str) -> str:
    return f"close it with `{{% end{name} %}}`"


_WORDINGS: tuple[tuple[re.Pattern[str], Callable[..., Said]], ...] = tuple(
    (re.compile(expression), word)
    for expression, word in (
        (r"expected token '(.+)', got '(.+)'", _unlike),
        (r"unexpected '(.+)', expected '(.+)'", lambda found, expected: _unlike(expected, found)),
        (r"unexpected '(.+)'", _unexpected),
        (r"Expected an expression, got '(.+)'", _unexpected),
        (r"unexpected char ['\"](.+)['\"]", _character),
        (r"Encountered unknown tag '(\w+)'\.(?: .* needs to be closed is '(\w+)'\.)?", _tag),
        (r"Unexpected end of template\..* needs to be closed is '(\w+)'\.", _open),
        (r"Missing end of comment tag", lambda: ("a comment is not closed", "close it with `#}`")),
        (r"Missing end of raw directive", lambda: _open("raw")),
        (r"tag name expected", lambda: ("a statement is missing after `{%`", _LISTED)),
        (r"expected name or number", lambda: ("a name is missing after `.`", None)),
        (r"can't assign to '.+'", lambda: ("only a name can be given a value", None)),
    )
)
