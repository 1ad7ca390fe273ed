"""Converts a target of the type TEMPLATE, if all data that it reads is the same here or can be replaced.

s3-proxy's SDK joins adjacent slashes of a key. So unless a template prints nothing but text, the key and single
segments, the slashes of what it prints are joined here too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict

from gotemplate.regexp.matching import compile_pattern
from gotemplate.template import nodes
from gotemplate.template.errors import TemplateMistake
from gotemplate.template.parser import parse, scan
from gotemplate.template.text import GO_SPACES
from tornado_proxy.templates.go import built_in, compile_template
from tornado_proxy.tools.convert import patterns

_KEY = ("Key",)
_PREFIX = ("Target", "Bucket", "Prefix")

_SAME = (
    ("User",),
    *(("Request", name) for name in ("Method", "Header")),
    *(("Request", "URL", name) for name in ("Path", "Query", "RawQuery")),
    ("Target", "Name"),
    *(("Target", "Bucket", name) for name in ("Name", "Region")),
)
"""Data that is the same here, with all below it."""

_IMPERSONAL = (("Key",), ("Target",), ("Request", "Method"), ("Request", "URL", "Path"))
"""Data that does not depend on the client, with all below it."""

_LINE_END = re.compile(r"\r?\n")  # removed from a result
# What prints the key, if need be without directories at its start or in another case.
_PRINTS_KEY = re.compile(r'\s*\$?\.Key(?:\s*\|\s*(?:lower|upper|trimPrefix "[^"\\]*/"))*\s*')
# What prints one segment: it is never empty and has no slash.
_PRINTS_SEGMENT = re.compile(
    r"\s*\$?\.(?:User\.(?:Username|GetUsername|GetIdentifier)|Request\.Method|Target\.(?:Bucket\.)?Name)\s*"
)
_JOINED = '{{ define "s3-proxy" }}%s{{ end }}{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" (include "s3-proxy" .) "/" }}'


class Surroundings(NamedTuple):
    """The target of a template: its prefix as configured, and as s3-proxy prepends it to keys."""

    configured: str
    prefix: str
    helpers: tuple[str, ...] = ()  # texts that define the helper templates that it may call


def go_target_here(target: str, source: patterns.Here, surroundings: Surroundings) -> str:
    """Converts a template for our keys; raises `NotConvertible`, or `TemplateMistake` if it is not a template."""
    pattern = compile_pattern(source.text)
    compile_template(target, pattern.names, pattern.group_count, surroundings.helpers)
    parsed = parse(target)
    if parsed.templates:
        raise patterns.NotConvertible("it defines templates of its own", "write their text where they are used")
    helpers = parse("\n".join((built_in(surroundings.helpers), *surroundings.helpers))).templates
    edits = {start: (end, text) for start, end, text in _edits(parsed.body, surroundings, helpers)}
    if directory := patterns.directory_of(surroundings.prefix):
        _remove_prefix(target, directory, edits)
    text = target
    for start, (end, replacement) in sorted(edits.items(), reverse=True):
        text = text[:start] + replacement + text[end:]
    if _may_have_empty_segment(target, surroundings.prefix):
        text = _JOINED % text
    compile_template(text, pattern.names, pattern.group_count, surroundings.helpers)
    return text


def ignores_client(target: str) -> bool:
    """Returns whether a template is proved to make the same key for every client."""
    try:
        parsed = parse(target)
    except TemplateMistake:
        return False
    for node in _descendants(parsed.body):
        path = _path_of(node)
        reads_client = path is not None and not any(path[: len(each)] == each for each in _IMPERSONAL)
        if reads_client or isinstance(node, nodes.Call):
            return False
    return not parsed.templates


def _path_of(node: object) -> tuple[str, ...] | None:
    """Returns the fields that are read of all data, none for all of it; None for anything else."""
    match node:
        case nodes.Chain(operand=nodes.Dot() | nodes.Variable(name="$"), fields=path):
            return path
        case nodes.Dot() | nodes.Variable(name="$"):
            return ()
    return None


def _descendants(node: object) -> Iterator[object]:
    """Yields a node and all below it; the dot or the variable of a path is part of the path."""
    yield node
    if _path_of(node) is not None:
        return
    children: Iterable[object] = ()
    if isinstance(node, tuple):
        children = node
    elif isinstance(node, msgspec.Struct):
        children = asdict(node).values()
    for child in children:
        yield from _descendants(child)


def _edits(
    body: nodes.Body, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]
) -> Iterator[tuple[int, int, str]]:
    """Yields the places that read the key or the prefix, and their text here; raises `NotConvertible`.

    `helpers` are the templates that may be called on all data.
    """
    for node in body:
        match node:
            case nodes.TextNode():
                continue
            case nodes.Output() | nodes.Branch(sets_dot=False):
                yield from _edits_of_pipeline(node, surroundings, helpers)
                if isinstance(node, nodes.Branch):
                    yield from _edits((*node.body, *node.otherwise), surroundings, helpers)
            case nodes.Call(pipeline=nodes.Pipeline(commands=((whole,),))) if _path_of(whole) == ():
                _check_helper(node.name, surroundings, helpers)
            case _:
                reason = "it has a `with`, a `range` or a call that is not of a helper with all data"
                raise patterns.NotConvertible(reason)


def _edits_of_pipeline(
    node: nodes.Output | nodes.Branch, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]
) -> Iterator[tuple[int, int, str]]:
    handed = []
    for each in _descendants(node.pipeline):
        match each:
            case (nodes.Identifier(name="include"), nodes.Constant(value=bytes(name)), whole) if _path_of(whole) == ():
                _check_helper(name, surroundings, helpers)
                handed.append(whole)
        if (path := _path_of(each)) is None or not isinstance(each, nodes.ExpressionNode) or each in handed:
            continue
        place = each.start + node.base, each.end + node.base
        if path == _KEY:
            below = '(trimPrefix "/" .Key)'
            yield *place, f"(print {_string(surroundings.prefix)} {below})" if surroundings.prefix else below
        elif path == _PREFIX:
            yield *place, _string(surroundings.configured)
        elif not any(path[: len(same)] == same for same in _SAME):
            raise patterns.NotConvertible(f"`.{'.'.join(path)}` is not the same here")


def _check_helper(name: bytes, surroundings: Surroundings, helpers: Mapping[bytes, nodes.Body]) -> None:
    """Raises `NotConvertible` if a helper template that is called on all data needs an edit, or calls another."""
    if name not in helpers or [*_edits(helpers[name], surroundings, {})]:
        message = f"the helper template `{name.decode()}` reads the key or the prefix, or is called by another"
        raise patterns.NotConvertible(message, "write its text out")


def _remove_prefix(target: str, directory: str, edits: dict[int, tuple[int, str]]) -> None:
    """Removes the prefix from the beginning of the result; raises `NotConvertible`."""
    opening = next((piece for piece in scan(target) if piece.is_action or piece.text.strip(GO_SPACES + "\r\n")), None)
    if opening and not opening.is_action:
        bare = opening.text.lstrip(GO_SPACES + "\r\n")
        start = opening.start + len(opening.text) - len(bare)
        edits[start] = (start + patterns.below_prefix(bare, directory), "/")
    elif opening and opening.text.strip() in (".Key", "$.Key"):
        # Here the key is the path below the prefix, so it is printed as it is.
        del edits[opening.start + len(opening.text) - len(opening.text.lstrip())]
    else:
        reason = f"nothing proves that its result begins with the prefix `{directory}`"
        raise patterns.NotConvertible(reason, f"begin it with `{directory}`")


def _may_have_empty_segment(target: str, prefix: str) -> bool:
    """Returns whether two slashes may meet in the result for s3-proxy's keys, which begin with the prefix."""
    shape = ""
    for piece in scan(target):
        if not piece.is_action:
            shape += _LINE_END.sub("", piece.text)
        elif _PRINTS_KEY.fullmatch(piece.text):
            # A key has no empty segment, so no slash follows the one with which the trimmed text ends.
            shape += "/KEY/" if prefix.startswith("/") else "KEY/"
        elif _PRINTS_SEGMENT.fullmatch(piece.text):
            shape += "SEGMENT"
        else:
            return True
    return "//" in shape


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
