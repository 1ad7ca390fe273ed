"""The language of a source: the valid keys that it matches, and a guess at one."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import assert_never

from gotemplate.regexp import alphabet, syntax
from gotemplate.regexp.alphabet import Unsupported, most_readable
from gotemplate.regexp.automaton import Automaton
from gotemplate.regexp.parser import parse

DEEPEST = 60  # the deepest nesting of groups; beyond it, recursion over the tree would come near Python's limit


@dataclass(frozen=True)  # no slots: what most answers do not need is made when first asked for
class Language:
    """The valid keys that an expression matches; `objection` is why nothing is proved of one without a `tree`."""

    text: str
    tree: syntax.Node | None = field(compare=False, repr=False)
    objection: str = field(default="", compare=False, repr=False)

    @property
    def automaton(self) -> Automaton:
        """The automaton of the expression; raises `Unsupported`."""
        if isinstance(self._automaton_or_reason, str):
            raise Unsupported(self._automaton_or_reason)
        return self._automaton_or_reason

    @cached_property
    def _automaton_or_reason(self) -> Automaton | str:
        if self.tree is None:
            return self.objection
        try:
            return Automaton(self.tree)
        except Unsupported as error:
            return str(error)

    @cached_property
    def guess(self) -> str | None:
        """A short valid key that probably matches, made from the tree; None if the tree suggests none."""
        return guess(self.tree) if self.tree else None


def language(text: str) -> Language:
    """Returns the language of an expression, without a tree if Go refuses the text."""
    try:
        tree = parse(text).tree
    except syntax.PatternError as error:
        return Language(text, None, str(error))
    # A text with few parentheses cannot be deep.
    if text.count("(") > DEEPEST and _group_depth(tree) > DEEPEST:
        return Language(text, None, f"more than {DEEPEST} groups within each other")
    return Language(text, tree)


def _group_depth(tree: syntax.Node) -> int:
    return syntax.fold(tree, lambda node, below: max(below, default=0) + isinstance(node, syntax.Group))


def guess(tree: syntax.Node) -> str | None:
    """Returns a short valid key that an expression may match; None if its tree suggests none."""
    text = _text(tree)
    if text is None:
        return None
    key = text if text.startswith("/") else f"/{text}"
    return key if alphabet.is_valid_key(key) else None


def _text(node: syntax.Node) -> str | None:  # noqa: PLR0911 - one case for each kind of node
    """Returns a short text that a node matches, without regard to assertions; None if no key can contain one."""
    match node:
        case syntax.Text():
            characters = [alphabet.allowed_cases(each, folded=node.folded) for each in node.characters]
            return _joined([most_readable(each) for each in characters])
        case syntax.BracketClass() | syntax.AnyCharacter() | syntax.NamedClass():
            return most_readable(alphabet.allowed_characters(node))
        case syntax.Sequence():
            return _joined([_text(part) for part in node.pieces])
        case syntax.Group():
            return _text(node.body)
        case syntax.Repeat():
            text = _text(node.body) if node.least else ""
            return text and text * node.least
        case syntax.Alternation():
            texts = [_text(branch) for branch in node.branches]
            return next((each for each in texts if each is not None), None)
        case syntax.Assertion() | syntax.FlagChange():
            return ""
        case _:
            assert_never(node)


def _joined(texts: list[str | None]) -> str | None:
    return None if None in texts else "".join(each or "" for each in texts)
