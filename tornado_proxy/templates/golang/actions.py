"""The text of one action parsed, and what is wrong with it said in words."""

from __future__ import annotations

import re
from functools import lru_cache

from lark.exceptions import UnexpectedCharacters, UnexpectedToken

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.grammar import action_parser
from tornado_proxy.templates.golang.nodes import Action
from tornado_proxy.templates.golang.scanner import Inside

_WORD = re.compile(r"(?:[.$]?\w+|[.$])(?P<next>[^\s\w])")
_HEADER = re.compile(r"\.Request\.Header\.(?P<name>[\w-]+)")

_HELP = {
    "+": "arithmetic is done by functions: `add 1 2`",
    "-": "arithmetic is done by functions: `sub 2 1`",
    "*": "arithmetic is done by functions: `mul 2 3`",
    "/": "arithmetic is done by functions: `div 6 3`",
    "=": "values are compared by functions: `eq .A .B`; white space stands before an assignment's `=`",
    "!": "values are compared by functions: `ne .A .B`, and negated by `not`",
    "<": "values are compared by functions: `lt .A .B`",
    ">": "values are compared by functions: `gt .A .B`",
    "&": "conditions are joined by functions: `and .A .B`",
    "?": "a choice is an `if`, or `ternary`",
    "[": 'elements are read by a function: `index .List 0`, `index .Map "key"`',
    "(": "arguments follow their function after white space, without parentheses: `print 1 2`",
    ",": "arguments are parted by white space",
    "{": "an action cannot stand in an action",
}


def parse_action(inside: Inside) -> Action:
    """The action's node, with offsets in its own text; raises `TemplateMistake` with offsets in the template."""
    try:
        return _parse(inside.text)
    except TemplateMistake as mistake:
        end = None if mistake.end is None else mistake.end + inside.start
        raise TemplateMistake(str(mistake), mistake.offset + inside.start, end, mistake.help) from None


@lru_cache(maxsize=4096)
def _parse(text: str) -> Action:
    # A set of rules repeats its actions, `{{ .Key }}` before all: each is parsed once.
    try:
        return action_parser().parse(text)  # type: ignore[return-value]
    except UnexpectedToken as error:
        mistake = _unexpected_token(text, error)
    except UnexpectedCharacters as error:
        mistake = _unexpected_character(text, error.pos_in_stream)  # type: ignore[arg-type]  # an int in fact
    raise mistake


def _unexpected_token(text: str, error: UnexpectedToken) -> TemplateMistake:
    if not text.strip():
        return TemplateMistake("the action is empty", 0, len(text), "a comment is written `{{/* … */}}`")
    if error.token.type == "$END":
        end = text.rstrip()
        return TemplateMistake("the action ends where a value is expected", len(end) - 1, len(end))
    start = error.token.start_pos or 0
    found = str(error.token).strip() or "white space"
    cure = f'write `index .Groups "{found[1:]}"`' if text[:start].endswith(".Groups") else _HELP.get(found)
    return TemplateMistake(f"`{found}` cannot stand here", start, start + len(found), cure)


def _unexpected_character(text: str, position: int) -> TemplateMistake:
    word = _WORD.match(text, position)
    at = position if word is None else word.start("next")
    char = text[at]
    if word is None:
        return TemplateMistake(f"`{char}` cannot stand here", at, at + 1, _HELP.get(char))
    header = next((found for found in _HEADER.finditer(text) if found.start() < at < found.end()), None)
    cure = f'write `.Request.Header.Get "{header["name"]}"`' if header else _HELP.get(char)
    return TemplateMistake(f"`{char}` cannot follow `{text[position:at]}` without white space", at, at + 1, cure)
