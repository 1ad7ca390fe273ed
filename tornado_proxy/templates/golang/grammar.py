"""The grammar of actions, read from `gotemplate.lark` once and made a parser."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lark import Lark

from tornado_proxy.templates.golang.expressions import ToAction

_PACKAGE = Path(__file__).parents[2]
FOLDERS = (_PACKAGE / "grammar", _PACKAGE.parent / "grammar")
"""Where the grammar is: in the package when it was installed from a wheel, beside it in a checkout."""


def grammar_text(folders: Iterable[Path] = FOLDERS) -> str:
    """The grammar as written, from the first folder that has it; raises FileNotFoundError where none has."""
    for folder in folders:
        path = folder / "gotemplate.lark"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError("the grammar `gotemplate.lark` is not part of this installation")


@cache
def action_parser() -> Lark:
    """The parser of an action's text; it makes nodes, not Lark's trees."""
    return Lark(grammar_text(), parser="lalr", maybe_placeholders=False, transformer=ToAction())
