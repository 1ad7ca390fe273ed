"""Converts sources and plain targets of s3-proxy to ours, if they are proved to make the same keys.

s3-proxy's code gives its sources the *whole key*: the bucket's prefix with one closing slash, then the path below the
mount without its leading slash. Here a source gets `/` and that path. So a source has to begin one character later, and
without the prefix.

s3-proxy's SDK cleans the path of a call: for `a//b` it asks S3 for `a/b`. Here a key is requested as it is. So a result
in which two slashes may meet is not proved to be the same key.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile

import msgspec

from gotemplate.regexp import syntax
from gotemplate.regexp.automaton import Language, language
from gotemplate.regexp.matching import Reference, compile_pattern, group_number
from gotemplate.regexp.parser import parse
from gotemplate.regexp.proofs import NoKey, difference, overlap
from tornado_proxy.lint.shapes import certain
from tornado_proxy.rules.model import path_objection
from tornado_proxy.templates.template import compile_plain
from tornado_proxy.tools.convert.options import NotConvertible
from tornado_proxy.tools.limits import LONGEST_PREFIX

_EMPTY_SEGMENT = language("//")


def never_found(source: str) -> bool:
    """Returns whether a source is proved to be found in no key."""
    return isinstance(difference(language(source), _EMPTY_SEGMENT), NoKey)


def never_begins(source: str, text: str = "") -> bool:
    """Returns whether a source is proved never to match from the start of a key that begins with a text."""
    quoted = "".join(each if each.isalnum() and each.isascii() else f"\\x{{{ord(each):x}}}" for each in text)
    return disjoint(language(rf"\A(?:{source})"), language(rf"\A{quoted}"))


def disjoint(one: Language, other: Language) -> bool:
    """Returns whether two sources are proved to share no key."""
    return isinstance(overlap(one, other), NoKey)


class Piece(msgspec.Struct, frozen=True):
    """A part of a result: its name in messages, and its possible texts."""

    name: str
    begins_with_slash: bool
    ends_with_slash: bool
    empty: bool


class PossibleCaptures:
    """The possible captures of the groups of a source, with regard to slashes; possible unless proved impossible."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._names = parse(source).names
        tree = language(source).tree
        nodes = [*syntax.walk(tree)] if tree else []
        repeats = (each for each in nodes if isinstance(each, syntax.Repeat) and each.most != 1)
        repeated = {id(inner) for each in repeats for inner in syntax.walk(each.body)}
        groups = (each for each in nodes if isinstance(each, syntax.Group) and each.number is not None)
        once = [each for each in groups if id(each) not in repeated]
        self._groups = {group.number: group for group in once}  # that capture at most once
        sure = set(map(id, certain(tree))) if tree else ()
        self._sure = {group.number for group in once if id(group) in sure}

    def piece(self, reference: str, name: str) -> Piece:
        """Returns a reference to the groups of a name, or to a number, as a piece of a result."""
        number = group_number(name)
        numbers = [each for each, group in enumerate(self._names, start=1) if each == number or group == name]
        is_unsure = not numbers or not self._sure.issuperset(numbers)
        return Piece(
            f"`{reference}`",
            begins_with_slash=any(self._may(each, r"\A/x/", "/(?s:.*)") for each in numbers),
            ends_with_slash=any(self._may(each, r"/\z", "(?s:.*)/") for each in numbers),
            empty=is_unsure or any(self._may(each, r"\A/x\z", "") for each in numbers),
        )

    def _may(self, number: int, shape: str, instead: str) -> bool:
        """Returns whether a group may capture such a text, by itself and in its place.

        By itself: `/x`, the text and anything without a slash may be a key of this shape. In its place: every key in
        which the group captures such a text is also found with `instead` in place of the group.
        """
        if number not in self._groups:
            return True
        group = self._groups[number]
        start, end = group.body.extent
        asserts = any(isinstance(each, syntax.Assertion) for each in syntax.walk(group.body))
        if not asserts and disjoint(language(rf"\A/x(?:{self._source[start:end]})[^/]*\z"), language(shape)):
            return False
        return not never_found(self._source[:start] + instead + self._source[end:])


_WORDS = (syntax.AssertionKind.WORD_BOUNDARY, syntax.AssertionKind.NO_WORD_BOUNDARY)


class NeverFound(Exception):
    """A source that s3-proxy finds in no key that a client can ask for; the text is the reason."""


class Here(msgspec.Struct, frozen=True):
    """A source for our keys; `whole` unless the text of its match, `$0`, may differ from s3-proxy's."""

    text: str
    whole: bool = True


def source_here(text: str, prefix: str) -> Here:
    """Converts a source for keys behind a `prefix`; raises `NotConvertible`, `NeverFound` and `PatternError`."""
    compile_pattern(text)
    if r"\Q" in text:
        raise NotConvertible(r"its quotation, `\Q`, hides where its parts are", r"escape each character with `\`")
    if "//" in prefix:
        raise NotConvertible("the prefix has an empty segment, `//`, which s3-proxy's SDK removes on the way to S3")
    tree = language(text).tree
    if tree is None:
        raise NotConvertible("the expression is beyond what can be proved")
    starts = [each for each in syntax.walk(tree) if isinstance(each, syntax.Assertion) and each.kind in syntax.STARTS]
    if starts:
        here = _anchored(text, starts, tree, prefix)
    else:  # it may match anywhere, except the leading slash here and the prefix in s3-proxy
        words = (each for each in syntax.walk(tree) if isinstance(each, syntax.Assertion) and each.kind in _WORDS)
        if prefix and any(words):
            raise NotConvertible("its `\\b` or `\\B` may match in the prefix")
        rests = tuple(f"/{prefix[start:]}" for start in range(len(prefix)))
        if len(prefix) > LONGEST_PREFIX or any(path_objection(rest) for rest in rests):
            raise NotConvertible(f"nothing proves that it never matches within the prefix `{prefix}`")
        # After the slash it reads the same text as s3-proxy's source does from that place.
        if not all(never_begins(f"/(?:{text})", rest) for rest in rests):
            raise NotConvertible(f"it may match within the prefix `{prefix}`", f"begin it with `^{prefix}`")
        here = Here(text) if never_begins(text) else Here(f"^/(?s:.*?)(?:{text})", whole=False)
    compile_pattern(here.text)
    if never_found(here.text):
        raise NeverFound("no key that s3-proxy makes of a path matches it")
    return here


def _anchored(text: str, starts: list[syntax.Assertion], tree: syntax.Node, prefix: str) -> Here:
    """Converts a source that begins with its only `^`: the prefix is removed, and a slash is inserted."""
    pieces = tree.pieces if isinstance(tree, syntax.Sequence) else (tree,)
    first, *following = dropwhile(lambda each: isinstance(each, syntax.FlagChange), pieces)
    if starts != [first]:
        raise NotConvertible("`^` is not only at its start", "make a rewrite of each alternative")
    rest = first.extent.end
    apart = (each for part in following for each in (part.split() if isinstance(part, syntax.Text) else (part,)))
    for expected, part in zip(prefix, apart, strict=False):
        if not isinstance(part, syntax.Text | syntax.AnyCharacter):
            raise NotConvertible(f"it does not spell out the prefix `{prefix}`", f"begin it with `^{prefix}`")
        characters = part.characters if isinstance(part, syntax.Text) else expected
        is_folded = isinstance(part, syntax.Text) and part.folded
        if characters != expected and not (is_folded and characters.casefold() == expected.casefold()):
            raise NeverFound(f"every key begins with the prefix `{prefix}`, and this does not")
        rest = part.extent.end
    # If it ends before the end of the prefix, it finds every key.
    return Here(f"{text[: first.extent.end]}/{text[rest:]}", whole=False)


def directory_of(prefix: str) -> str:
    """Returns a prefix as it is sent to S3, without the leading slash, which s3-proxy's SDK removes."""
    bare = prefix.strip("/")
    return f"{bare}/" if bare else ""


def below_prefix(opening: str, prefix: str) -> int:
    """Returns the length of the prefix in a result's certain opening, with its slashes; raises `NotConvertible`."""
    directory = directory_of(prefix)
    bare = opening.lstrip("/")
    if not bare.startswith(directory):
        message = f"it may lead outside the prefix `{directory}`, which no rewrite can do here"
        raise NotConvertible(message, f"begin it with `{directory}`, or make a target for the other keys")
    return len(opening) - len(bare) + len(directory)


def plain_target_here(target: str, source: Here, prefix: str) -> str:
    """Converts a target to a template for our keys; raises `NotConvertible`."""
    references = compile_plain(target).group_references
    if not source.whole and any(group_number(name) == 0 for name, _, _ in references):
        raise NotConvertible("`$0` is the whole match, which differs here", "capture what you mean in a group")
    opening = target.partition("$")[0]
    rest = target[below_prefix(opening, prefix) :]
    # A text that begins with something unknown gets its slash, if it has none, when it is rendered.
    text = f"/{rest}" if opening else rest
    if not text:
        raise NotConvertible("it is empty")
    references = compile_plain(text).group_references
    objection = None if references else path_objection(text.replace("$$", "$"))
    if objection is not None:
        raise NotConvertible(f"it {objection}, which is refused here")
    if "//" in text:
        raise NotConvertible("it has an empty segment, `//`, which s3-proxy's SDK removes", "write a single `/`")
    before: list[Piece] = []  # the possible texts directly before the next piece
    for piece in _pieces(text, references, PossibleCaptures(source.text)):
        meeting = next((each for each in before if each.ends_with_slash and piece.begins_with_slash), None)
        if meeting is not None:
            raise NotConvertible(
                f"it may have an empty segment, `//`, between {meeting.name} and {piece.name},"
                " which s3-proxy's SDK removes",
                "let the slash stand either in the group or beside it",
            )
        before = [*before, piece] if piece.empty else [piece]
    return text


def _pieces(text: str, references: tuple[Reference, ...], captures: PossibleCaptures) -> Iterator[Piece]:
    at = 0
    for name, start, end in (*references, ("", len(text), len(text))):
        between = text[at:start]
        yield Piece(f"`{between}`", between.startswith("/"), between.endswith("/"), empty=not between)
        if name:
            yield captures.piece(text[start:end], name)
        at = end
