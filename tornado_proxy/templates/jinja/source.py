"""From a template's text to Jinja2's tree, whose nodes say where they begin in the text.

Jinja2 counts lines; here the "line number" of a token, and so of a node or a syntax error, is its offset.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import isinf

from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.jinja.budget import MOST_BITS
from tornado_proxy.templates.jinja.views import NAMES
from tornado_proxy.templates.jinja.wording import reworded

_GO_PATH = re.compile(r"\.(?P<name>[A-Za-z]+)(?P<fields>(?:\.\w+)*)")
_SPACES = frozenset({"whitespace", "data", "raw_begin", "raw_end", "comment_begin", "comment", "comment_end"})


@dataclass(frozen=True, slots=True)
class Tokens:
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


def parse(environment: Environment, text: str) -> tuple[nodes.Template, Tokens]:
    """The tree of a template, and its tokens; raises `TemplateMistake` where Jinja2 cannot read it."""
    # Jinja2 makes one character of the two; both are line ends that no key keeps.
    source = text.replace("\r\n", "\n\n")
    tokens = list(_located(environment, source))
    for start, kind, value in tokens:
        _check_number(start, kind, value)
    seen = [(start, start + len(value)) for start, kind, value in tokens if kind not in _SPACES]
    places = Tokens(source, tuple(start for start, _ in seen), tuple(end for _, end in seen))
    parser = Parser(environment, "")
    parser.stream = TokenStream(environment.lexer.wrap(iter(tokens), None, None), None, None)
    try:
        return parser.parse(), places
    except TemplateSyntaxError as error:
        at_end = "end of template" in str(error.message)
        offset = len(text) if at_end else error.lineno
        message, cure = reworded(str(error.message))
        cure = cure or _from_go(text, offset)
        raise TemplateMistake(message, offset, None if at_end else places.end(offset), cure) from error


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
        message, cure = reworded(str(error.message))
        raise TemplateMistake(message, position, min(position + 1, len(source)), cure) from error
