"""What must hold before a rewrite is carried over, asked of the linter's automata.

All keys are this project's: they begin with `/`. A key with an empty segment (`//`) is no matter here: of its requests
s3-proxy asks S3 for another key, since its SDK cleans paths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

from tornado_proxy.goregex.language import Language, language
from tornado_proxy.goregex.proofs import NoKey, difference, overlap, shortest_key
from tornado_proxy.goregex.syntax import Alternation, Assertion, Group, Node, Repeat, Sequence, children, walk

_EMPTY_SEGMENT = language("//")


def quoted(text: str) -> str:
    """The expression of a text that stands for itself."""
    return "".join(each if each.isalnum() and each.isascii() else f"\\x{{{ord(each):x}}}" for each in text)


def never_found(source: str) -> bool:
    """Whether a source is proved to be found in no key."""
    return isinstance(difference(language(source), _EMPTY_SEGMENT), NoKey)


def never_begins(source: str, texts: tuple[str, ...] = ("",)) -> bool:
    """Whether a source is proved never to match from the start of a key that begins with one of the texts."""
    found = language(rf"\A(?:{source})")
    if texts == ("",):
        return isinstance(shortest_key(found), NoKey)
    return all(isinstance(overlap(found, language(rf"\A{quoted(text)}")), NoKey) for text in texts)


def disjoint(one: Language, other: Language) -> bool:
    """Whether two sources are proved to share no key."""
    return isinstance(overlap(one, other), NoKey)


class PossibleCaptures:
    """What the groups of a source may capture, as far as slashes go; what is not proved may be."""

    def __init__(self, source: str) -> None:
        self._source = source
        # Within a quotation a group's body cannot be found by its place alone.
        tree = None if r"\Q" in source else language(source).tree
        self._groups = {} if tree is None else dict(_single(tree))
        self._sure = frozenset() if tree is None else frozenset(_sure(tree))

    def may_begin_with_slash(self, number: int) -> bool:
        """Whether a group may capture a text that begins with `/`."""
        return self._may(number, _can_begin_with_slash, "/(?s:.*)")

    def may_end_with_slash(self, number: int) -> bool:
        """Whether a group may capture a text that ends in `/`."""
        return self._may(number, _can_end_with_slash, "(?s:.*)/")

    def may_be_empty(self, number: int) -> bool:
        """Whether a group may capture nothing, or take no part."""
        return number not in self._sure or self._may(number, _can_be_empty, "")

    def _may(self, number: int, alone: Callable[[str], bool], instead: str) -> bool:
        """Whether a group may capture such a text, by itself and in its place; one that is repeated may capture any.

        Every key in which the group captures such a text is found with `instead` in the group's place, too.
        """
        group = self._groups.get(number)
        if group is None:
            return True
        start, end = group.body.extent
        if not any(isinstance(each, Assertion) for each in walk(group.body)) and not alone(self._source[start:end]):
            return False
        return not never_found(self._source[:start] + instead + self._source[end:])


def _can_begin_with_slash(body: str) -> bool:
    """Whether an expression may match a text that begins with `/`: a key's first slash, and all others of it."""
    return not isinstance(shortest_key(language(rf"\A(?:{body})[^/]*\z")), NoKey)


def _can_end_with_slash(body: str) -> bool:
    """Whether an expression may match a text that ends in `/`."""
    return not isinstance(overlap(language(rf"\A/x(?:{body})\z"), language(r"/\z")), NoKey)


def _can_be_empty(body: str) -> bool:
    """Whether an expression may match nothing."""
    return not isinstance(overlap(language(rf"\A/x(?:{body})\z"), language(r"\A/x\z")), NoKey)


def _single(tree: Node) -> Iterator[tuple[int, Group]]:
    """The groups that capture once, by number: nothing around them is repeated."""
    match tree:
        case Group():
            if tree.number is not None:
                yield tree.number, tree
            yield from _single(tree.body)
        case Repeat(most=1):
            yield from _single(tree.body)
        case Sequence() | Alternation():
            for each in children(tree):
                yield from _single(cast("Node", each))


def _sure(tree: Node) -> Iterator[int]:
    """The groups that take part in every match."""
    match tree:
        case Group():
            if tree.number is not None:
                yield tree.number
            yield from _sure(tree.body)
        case Repeat() if tree.least:
            yield from _sure(tree.body)
        case Sequence():
            for each in tree.parts:
                yield from _sure(each)
