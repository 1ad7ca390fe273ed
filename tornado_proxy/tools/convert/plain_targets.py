"""Converts targets of type REGEX to templates for this project's keys, where they are proved to make the same key.

s3-proxy's SDK cleans the path of a call: `a//b` asks S3 for `a/b`. Here a key is requested as it is. So a result in
which two slashes may meet is not proved to be the same key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tornado_proxy.goregex.parser import parse
from tornado_proxy.rules.model import path_objection
from tornado_proxy.templates.plain import Reference, compile_template
from tornado_proxy.templates.template import group_number
from tornado_proxy.tools.convert.sources import Here, NotConvertible, PossibleCaptures


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
    references = compile_template(target, {}, 0).group_references
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
    references = compile_template(text, {}, 0).group_references
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
