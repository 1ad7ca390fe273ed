"""Sources and plain targets of s3-proxy written for this project's keys, where they are proved to make the same ones.

s3-proxy's code hands its sources the *whole key*: the bucket's prefix with one closing slash, then the path below the
mount without its leading slash. Here a source sees `/` and that path. So what a source says of the start has to be
said one character later, and of the prefix nothing must be left.

s3-proxy's SDK cleans the path of a call: `a//b` asks S3 for `a/b`. Here a key is requested as it is. So a result in
which two slashes may meet is not proved to be the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass
from itertools import dropwhile
from typing import assert_never, cast

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.language import Language, language
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.proofs import NoKey, difference, overlap, shortest_key
from tornado_proxy.rules.model import path_objection
from tornado_proxy.templates.template import Reference, compile_plain, group_number

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
        asserts = any(isinstance(each, syntax.Assertion) for each in syntax.walk(group.body))
        if not asserts and not alone(self._source[start:end]):
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


def _single(tree: syntax.Node) -> Iterator[tuple[int, syntax.Group]]:
    """The groups that capture once, by number: nothing around them is repeated."""
    match tree:
        case syntax.Group():
            if tree.number is not None:
                yield tree.number, tree
            yield from _single(tree.body)
        case syntax.Repeat(most=1):
            yield from _single(tree.body)
        case syntax.Sequence() | syntax.Alternation():
            for each in syntax.children(tree):
                yield from _single(cast("syntax.Node", each))


def _sure(tree: syntax.Node) -> Iterator[int]:
    """The groups that take part in every match."""
    match tree:
        case syntax.Group():
            if tree.number is not None:
                yield tree.number
            yield from _sure(tree.body)
        case syntax.Repeat() if tree.least:
            yield from _sure(tree.body)
        case syntax.Sequence():
            for each in tree.parts:
                yield from _sure(each)


_STARTS = (syntax.AssertionKind.TEXT_START, syntax.AssertionKind.LINE_START)
_WORDS = (syntax.AssertionKind.WORD_BOUNDARY, syntax.AssertionKind.NO_WORD_BOUNDARY)
_LONGEST_PREFIX = 200
"""In characters: each is a proof where a source is not anchored."""


class NotConvertible(Exception):
    """What cannot be carried over, since nothing proves that it would do the same; the text is the reason."""

    def __init__(self, reason: str, help: str | None = None) -> None:
        super().__init__(reason)
        self.help = help


@dataclass(frozen=True, slots=True)
class Here:
    """A source for this project's keys; `whole` unless its match, `$0`, may have another text than s3-proxy's."""

    text: str
    whole: bool = True


@dataclass(frozen=True, slots=True)
class NeverFound:
    """A source that s3-proxy finds in no key that a client can ask for."""

    reason: str


def source_here(text: str, prefix: str) -> Here | NeverFound:
    """A source for our keys; `prefix` as s3-proxy puts it in front. Raises `NotConvertible`, `PatternError`."""
    compile_pattern(text)
    here = _written(text, prefix)
    if isinstance(here, Here):
        compile_pattern(here.text)
        if never_found(here.text):
            return NeverFound("no key that s3-proxy makes of a path matches it")
    return here


def _written(text: str, prefix: str) -> Here | NeverFound:
    tree = language(text).tree
    if tree is None:
        raise NotConvertible("the expression is beyond what can be proved")
    starts = [each for each in syntax.walk(tree) if isinstance(each, syntax.Assertion) and each.kind in _STARTS]
    if not starts:
        return _floating(text, tree, prefix)
    if len(starts) == 1 and (parts := _after(starts[0], tree)) is not None:
        return _anchored(text, starts[0].extent, parts, prefix)
    if prefix:
        raise NotConvertible("`^` stands elsewhere than once at the start, and the prefix cannot be taken off")
    cuts = _starts_of_branches(tree)
    if len(cuts) != len(starts):
        raise NotConvertible("only some of its alternatives begin with `^`", "make two rewrites of it")
    return Here(f"^/(?:{_without(text, cuts)})", whole=False)


def _after(start: syntax.Assertion, tree: syntax.Node) -> Several[syntax.Node] | None:
    """What follows a `^` with which all begins, flags aside; None where something else stands before it."""
    parts = tree.parts if isinstance(tree, syntax.Sequence) else (tree,)
    following = tuple(dropwhile(lambda each: isinstance(each, syntax.FlagChange), parts))
    return following[1:] if following and following[0] is start else None


def _anchored(text: str, start: syntax.Extent, parts: Several[syntax.Node], prefix: str) -> Here | NeverFound:
    """`^` and what follows it, the prefix taken off and a slash put in."""
    rest = start.end
    apart = (each for part in parts for each in (part.split() if isinstance(part, syntax.Text) else (part,)))
    for expected, part in zip(prefix, apart, strict=False):
        if not isinstance(part, syntax.Text | syntax.AnyOf):
            raise NotConvertible(f"it does not spell out the prefix `{prefix}`", f"begin it with `^{prefix}`")
        if not _reads(part, expected, text):
            return NeverFound(f"every key begins with the prefix `{prefix}`, and this does not")
        rest = part.extent.end
    if prefix and r"\Q" in text:
        raise NotConvertible(r"its quotation, `\Q`, hides where the prefix ends")
    # A part that ends before the prefix does says no more than that there is one.
    return Here(f"{text[: start.end]}/{text[rest:]}", whole=False)


def _reads(node: syntax.Text | syntax.AnyOf, character: str, text: str) -> bool:
    """Whether a node that reads one character reads this one."""
    match node:
        case syntax.Text():
            alike = node.characters.casefold() == character.casefold()
            return node.characters == character or (node.folded and alike)
        case syntax.AnyCharacter():
            return True
        case syntax.BracketClass() | syntax.PerlClass() | syntax.UnicodeClass():
            folds = any(getattr(each, "folded", False) for each in syntax.walk(node))
            written = text[node.extent.start : node.extent.end]
            return compile_pattern(rf"{'(?i)' if folds else ''}\A{written}\z").search(character) is not None
        case _:
            assert_never(node)


def _floating(text: str, tree: syntax.Node, prefix: str) -> Here:
    """A source that may match anywhere: here it must not match the leading slash, there not within the prefix."""
    if prefix:
        _check_beyond(text, tree, prefix)
    if never_begins(text):
        return Here(text)
    return Here(f"^/(?s:.*?)(?:{text})", whole=False)


def _check_beyond(text: str, tree: syntax.Node, prefix: str) -> None:
    """Raise `NotConvertible` unless no match can begin within the prefix."""
    if any(isinstance(each, syntax.Assertion) and each.kind in _WORDS for each in syntax.walk(tree)):
        raise NotConvertible("it looks for a word's border, which the prefix may be")
    rests = tuple(f"/{prefix[start:]}" for start in range(len(prefix)))
    if len(prefix) > _LONGEST_PREFIX or any(path_objection(rest) for rest in rests):
        raise NotConvertible(f"nothing proves that it never matches within the prefix `{prefix}`")
    # What is read behind the slash is what s3-proxy's source would read from there on.
    if not all(never_begins(f"/(?:{text})", (rest,)) for rest in rests):
        raise NotConvertible(f"it may match within the prefix `{prefix}`", f"begin it with `^{prefix}`")


def _starts_of_branches(node: syntax.Node) -> list[syntax.Extent]:
    """The `^` with which each way through a node begins; fewer than there are where one begins otherwise."""
    match node:
        case syntax.Assertion() if node.kind in _STARTS:
            return [node.extent]
        case syntax.Group():
            return _starts_of_branches(node.body)
        case syntax.Alternation():
            found = [_starts_of_branches(each) for each in node.branches]
            return [each for branch in found for each in branch] if all(found) else []
        case syntax.Sequence():
            first = next((each for each in node.parts if not isinstance(each, syntax.FlagChange)), None)
            return _starts_of_branches(first) if first is not None else []
    return []


def _without(text: str, cuts: list[syntax.Extent]) -> str:
    for cut in sorted(cuts, reverse=True):
        text = text[: cut.start] + text[cut.end :]
    return text


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a result: what it is called in a message, and what it may be."""

    name: str
    begins_with_slash: bool
    ends_with_slash: bool
    empty: bool


def literal(text: str) -> Piece:
    """A text that always stands there."""
    return Piece(f"`{text}`", text.startswith("/"), text.endswith("/"), empty=not text)


def where_slashes_meet(pieces: Iterable[Piece]) -> tuple[str, str] | None:
    """The names of two parts between which an empty segment may result, or None."""
    before: list[Piece] = []  # what the part in hand may follow directly
    for piece in pieces:
        meeting = next((each for each in before if each.ends_with_slash and piece.begins_with_slash), None)
        if meeting is not None:
            return meeting.name, piece.name
        before = [*before, piece] if piece.empty else [piece]
    return None


def plain_target_here(target: str, source: Here, prefix: str) -> str:
    """A template for this project's keys; raises `NotConvertible`."""
    references = compile_plain(target).group_references
    if not source.whole and any(group_number(name) == 0 for name, _, _ in references):
        raise NotConvertible("`$0` is the whole match, which has another text here", "put what is meant in a group")
    text = _below_prefix(target, target.partition("$")[0], prefix)
    _check(text, source)
    return text


def _below_prefix(target: str, opening: str, prefix: str) -> str:
    """A target without the prefix; `opening` is certain to be its beginning; raises `NotConvertible`."""
    directory = as_directory(prefix)
    bare = opening.lstrip("/")
    slashes = len(opening) - len(bare)
    if not bare.startswith(directory):
        message = f"it may lead outside the prefix `{directory}`, where no rewrite leads here"
        raise NotConvertible(
            message, f"begin it with `{directory}`, or serve the other keys with a target of their own"
        )
    rest = target[slashes + len(directory) :]
    # A text that begins with something unknown gets its slash, if it has none, when it is rendered.
    return f"/{rest}" if opening else rest


def as_directory(prefix: str) -> str:
    """A prefix as it stands on the wire: without the leading slash that s3-proxy's SDK takes off."""
    bare = prefix.strip("/")
    return f"{bare}/" if bare else ""


def _check(text: str, source: Here) -> None:
    """Raise `NotConvertible` if the result is refused here, or may hold an empty segment."""
    references = compile_plain(text).group_references
    if not text:
        raise NotConvertible("it is empty")
    objection = None if references else path_objection(text.replace("$$", "$"))
    if objection is not None:
        raise NotConvertible(f"it {objection}, which is refused here")
    if "//" in text:
        raise NotConvertible("it holds an empty segment, `//`, which s3-proxy's SDK takes out", "write a single `/`")
    meeting = where_slashes_meet(_pieces(text, references, source))
    if meeting is not None:
        one, other = meeting
        raise NotConvertible(
            f"between {one} and {other} an empty segment, `//`, may result, which s3-proxy's SDK takes out",
            "let the slash stand either in the group or beside it",
        )


def _pieces(text: str, references: tuple[Reference, ...], source: Here) -> Iterator[Piece]:
    groups = parse(source.text).names
    captures = PossibleCaptures(source.text)
    at = 0
    for name, start, end in references:
        yield literal(text[at:start])
        yield _captured(text[start:end], _numbers(name, groups), captures)
        at = end
    yield literal(text[at:])


def _numbers(name: str, groups: tuple[str, ...]) -> list[int]:
    """The groups that a reference may mean: several share a name, and a missing one gives an empty list."""
    number = group_number(name)
    if number is None:
        return [each for each, known in enumerate(groups, start=1) if known == name]
    return [number] if number <= len(groups) else []


def _captured(name: str, numbers: list[int], captures: PossibleCaptures) -> Piece:
    return Piece(
        f"`{name}`",
        any(map(captures.may_begin_with_slash, numbers)),
        any(map(captures.may_end_with_slash, numbers)),
        not numbers or any(map(captures.may_be_empty, numbers)),
    )
