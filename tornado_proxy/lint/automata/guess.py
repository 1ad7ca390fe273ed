"""A key that an expression probably finds, read off its tree at once; whoever uses it asks the matcher."""

from __future__ import annotations

from functools import lru_cache
from typing import assert_never

from tornado_proxy.lint.automata.alphabet import everyday
from tornado_proxy.lint.automata.classes import cases, readable
from tornado_proxy.lint.automata.syntax import (
    Alternation,
    AnyCharacter,
    AnyOf,
    Assertion,
    BracketClass,
    FlagChange,
    Group,
    Node,
    PerlClass,
    Repeat,
    Sequence,
    Text,
    UnicodeClass,
)
from tornado_proxy.rules.keys import objection


def guess(tree: Node) -> str | None:
    """A short real key that an expression may find; None where none comes to mind."""
    text = _text(tree)
    if text is None:
        return None
    key = text if text.startswith("/") else f"/{text}"
    return None if objection(key) else key


def _text(node: Node) -> str | None:  # noqa: PLR0911 - one case for each kind of node
    """The shortest text that a node reads, assertions aside; None where it reads none that a key can hold."""
    match node:
        case Text():
            return _joined([_likely_case(each, folded=node.folded) for each in node.characters])
        case BracketClass() | AnyCharacter() | PerlClass() | UnicodeClass():
            return _likely(node)
        case Sequence():
            return _joined([_text(part) for part in node.parts])
        case Group():
            return _text(node.body)
        case Repeat():
            text = _text(node.body) if node.least else ""
            return text and text * node.least
        case Alternation():
            texts = [_text(branch) for branch in node.branches]
            return next((each for each in texts if each is not None), None)
        case Assertion() | FlagChange():
            return ""
        case _:
            assert_never(node)


def _joined(texts: list[str | None]) -> str | None:
    return None if None in texts else "".join(each or "" for each in texts)


@lru_cache(maxsize=4096)
def _likely(node: AnyOf) -> str | None:
    """The most everyday character that a node reads, of those that a key may hold."""
    return everyday(readable(node))


@lru_cache(maxsize=4096)
def _likely_case(character: str, *, folded: bool) -> str | None:
    """The same of a character that stands for itself."""
    return everyday(cases(character, folded=folded))
