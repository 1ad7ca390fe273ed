"""From a template's text to Jinja2's tree, whose nodes say where they begin, with Jinja2's messages in our words.

Jinja2 counts lines; here the "line number" of a token, and so of a node or a syntax error, is its offset.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from math import isinf

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from tornado_proxy.templates.jinja.filters import MOST_BITS
from tornado_proxy.templates.jinja.views import NAMES
from tornado_proxy.templates.template import TemplateMistake

Said = tuple[str, str | None]
"""The message, and the help if there is one."""

STATEMENTS = ("if", "elif", "else", "for", "set", "with", "macro", "call", "filter", "raw")
"""The statements of a template, those that only stand in another one among them."""

CLOSED = ("if", "for", "set", "with", "macro", "call", "filter", "raw")
"""The statements that end at an `end…` of their own."""

_LISTED = "the statements are " + ", ".join(f"`{name}`" for name in STATEMENTS)
_BRACES = "`{{` is closed by `}}`, `{%` by `%}`"

_QUOTED = re.compile(r"'([^']*)'")
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


def backticked(message: str) -> str:
    """A message of Jinja2 in the form of ours: names in backticks, no capital, no full stop."""
    text = _QUOTED.sub(r"`\1`", message).rstrip(".")
    return text[:1].lower() + text[1:]


def reworded(message: str) -> Said:
    """A message of Jinja2 as a fact and a advice."""
    text = _PLACE.sub("", message)
    for expression, word in _WORDINGS:
        found = expression.fullmatch(text)
        if found:
            return word(*found.groups())
    return backticked(text), None


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
    return f"unknown statement `{name}`", f"did you mean `{meant}`?" if meant else _LISTED


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


_GO_PATH = re.compile(r"\.(?P<name>[A-Za-z]+)(?P<fields>(?:\.\w+)*)")
_SPACES = frozenset({"whitespace", "data", "raw_begin", "raw_end", "comment_begin", "comment", "comment_end"})


@dataclass(frozen=True, slots=True)
class TokenPlaces:
    """Where the tokens of a template stand, in order."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def end(self, start: int) -> int:
        """Where the token that begins at an offset ends."""
        return self.ends[bisect_right(self.starts, start) - 1] if self.starts else start

    def after(self, start: int) -> int:
        """Where the next token begins, seen from the one at an offset."""
        return self.starts[min(bisect_right(self.starts, start), len(self.starts) - 1)]


def parse(environment: Environment, text: str) -> tuple[nodes.Template, TokenPlaces]:
    """The tree of a template, and its tokens; raises `TemplateMistake` where Jinja2 cannot read it."""
    # Jinja2 makes one character of the two; both are line ends that no key keeps.
    source = text.replace("\r\n", "\n\n")
    tokens = list(_located(environment, source))
    for start, kind, value in tokens:
        _check_number(start, kind, value)
    seen = [(start, start + len(value)) for start, kind, value in tokens if kind not in _SPACES]
    places = TokenPlaces(source, tuple(start for start, _ in seen), tuple(end for _, end in seen))
    parser = Parser(environment, "")
    parser.stream = TokenStream(environment.lexer.wrap(iter(tokens), None, None), None, None)
    try:
        return parser.parse(), places
    except TemplateSyntaxError as error:
        at_end = "end of template" in str(error.message)
        offset = len(text) if at_end else error.lineno
        message, advice = reworded(str(error.message))
        advice = advice or _from_go(text, offset)
        raise TemplateMistake(message, offset, None if at_end else places.end(offset), advice) from error


def _check_number(start: int, kind: str, value: str) -> None:
    """Refuse a number that is too large for arithmetic: Python cannot even write it into the compiled template."""
    if kind == "integer":
        large = len(value) > MOST_BITS or int(value.replace("_", ""), 0).bit_length() > MOST_BITS
    else:
        large = kind == "float" and isinf(float(value))
    if large:
        raise TemplateMistake("the number is too large", start, start + len(value))


def _from_go(text: str, offset: int) -> str | None:
    """How a path of Go's templates, which begins with a dot, is written here; None where none begins."""
    found = _GO_PATH.match(text, offset)
    if found is None or found["name"].lower() not in NAMES:
        return None
    name = found["name"].lower()
    if name == "groups":
        return f"did you mean `groups{found['fields']}`? names have no dot before them"
    fields = found["fields"].lower().replace(".get", ".")
    return f"did you mean `{name}{fields}`? names have no dot before them"


def _located(environment: Environment, source: str) -> Iterator[tuple[int, str, str]]:
    position = 0
    try:
        for _, kind, value in environment.lexer.tokeniter(source, None):
            start = max(position, source.find(value, position))
            yield start, kind, value
            position = start + len(value)
    except TemplateSyntaxError as error:
        message, advice = reworded(str(error.message))
        raise TemplateMistake(message, position, min(position + 1, len(source)), advice) from error
