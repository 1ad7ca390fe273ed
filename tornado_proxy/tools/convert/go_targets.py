"""Converts a target of the type TEMPLATE, if it is proved to make the same key.

Two things are proved: all data that the template reads is the same here or is replaced, and the result has no adjacent
slashes. If a function makes a printed text, several slashes in it are joined, as s3-proxy's SDK does. A condition
may be any expression on such data. Helper templates that it calls must not read the key or the prefix.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
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
from tornado_proxy.tools.limits import MOST_BRANCHES

_KEY = ("Key",)
_PREFIX = ("Target", "Bucket", "Prefix")
_SEGMENTS = (
    *(("User", name) for name in ("Username", "GetUsername", "GetIdentifier")),
    ("Request", "Method"),
    ("Target", "Name"),
    ("Target", "Bucket", "Name"),
)
"""Data that is never empty and has no slash."""

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

# Functions that always return a text.
_MAKE_TEXT = frozenset(
    {"base", "clean", "dir", "include", "join", "lower", "nospace", "print", "printf", "regexReplaceAll", "replace"}
    | {"regexReplaceAllLiteral", "repeat", "substr", "title", "trim", "trimAll", "trimPrefix", "trimSuffix", "trunc"}
    | {"untitle", "upper"}
)
_LINE_END = re.compile(r"\r?\n")
_ONE_SLASH = r'regexReplaceAll "/(?:\\r?\\n|/)+"'  # line ends are removed from a result


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
    rewriter = _TemplateRewriter(target, surroundings)
    rewriter.body(parsed.body)
    rewriter.check(parsed.body)
    rewriter.remove_prefix(parsed.body)
    text = rewriter.edited()
    compile_template(text, pattern.names, pattern.group_count, surroundings.helpers)
    return text


def ignores_client(target: str) -> bool:
    """Returns whether a template is proved to make the same key for every client."""
    try:
        parsed = parse(target)
    except TemplateMistake:
        return False
    return not parsed.templates and all(map(_is_impersonal, _descendants(parsed.body)))


def _is_impersonal(node: object) -> bool:
    match node:
        case nodes.Chain(operand=nodes.Dot() | nodes.Variable(name="$"), fields=path):
            return _is_below(path, _IMPERSONAL)
        case nodes.Dot() | nodes.Variable(name="$") | nodes.Call():
            return False
    return True


def _is_below(path: tuple[str, ...], roots: Iterable[tuple[str, ...]]) -> bool:
    return any(path[: len(each)] == each for each in roots)


def _descendants(node: object) -> Iterator[object]:
    """Yields a node and all below it; the dot or the variable of a path is part of the path."""
    yield node
    if isinstance(node, nodes.Chain) and isinstance(node.operand, nodes.Dot | nodes.Variable):
        return
    if isinstance(node, tuple):
        children: Iterable[object] = node
    elif isinstance(node, msgspec.Struct):
        children = asdict(node).values()
    else:
        return
    for child in children:
        yield from _descendants(child)


@lru_cache(maxsize=16)
def _helpers(texts: tuple[str, ...]) -> Mapping[bytes, nodes.Body]:
    """Returns the bodies of the helper templates, the built-in ones included, by name."""
    return parse("\n".join((built_in(texts), *texts))).templates


class _TemplateRewriter:
    """Visits all data that a template reads, and collects the edits that make it the same data."""

    def __init__(self, text: str, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        self._text = text
        self._edits: dict[int, tuple[int, str]] = {}  # by start: the end, and the replacement

    def body(self, body: nodes.Body) -> None:
        """Visits nodes; raises `NotConvertible` for a node that no proof covers."""
        for node in body:
            match node:
                case nodes.TextNode():
                    pass
                case nodes.Output():
                    self._pipeline(node.pipeline, node.base, printed=True)
                case nodes.Branch(sets_dot=False):
                    self._pipeline(node.pipeline, node.base)
                    self.body(node.body)
                    self.body(node.otherwise)
                case nodes.Call(name=name, pipeline=nodes.Pipeline() as pipeline) if _is_root(_alone(pipeline)):
                    self._check_helper(name)
                case _:
                    reason = "it has a `with`, a `range` or a call that is not of a helper with all data"
                    raise patterns.NotConvertible(reason)

    def check(self, body: nodes.Body) -> None:
        """Raises `NotConvertible` if a result may have an empty segment; joins slashes in the results of functions."""
        for way in self._ways(body):
            texts = (_text(node) if isinstance(node, nodes.TextNode) else "\n" for node in way)
            patterns.check_slashes("".join(texts), [self._piece(node) for node in way])

    def remove_prefix(self, body: nodes.Body) -> None:
        """Removes the prefix from the result; raises `NotConvertible`."""
        directory = patterns.directory_of(self._surroundings.prefix)
        if not directory:
            return
        for node, piece in zip(body, scan(self._text), strict=False):
            if not piece.is_action:
                if bare := piece.text.lstrip(GO_SPACES + "\r\n"):
                    start = piece.start + len(piece.text) - len(bare)
                    self._edits[start] = (start + patterns.below_prefix(bare, directory), "/")
                    return
            elif isinstance(node, nodes.Output) and _path_of(_alone(node.pipeline)) == _KEY:
                # Here the key is the path below the prefix, so it is printed as it is.
                del self._edits[node.base + node.pipeline.commands[0][0].start]
                return
            else:
                break
        reason = f"nothing proves that its result begins with the prefix `{directory}`"
        raise patterns.NotConvertible(reason, f"begin it with `{directory}`")

    def edited(self) -> str:
        text = self._text
        for start, (end, replacement) in sorted(self._edits.items(), reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def _pipeline(self, pipeline: nodes.Pipeline, base: int, *, printed: bool = False) -> None:
        alone = printed and _alone(pipeline) is not None
        for command in pipeline.commands:
            match command:
                case (nodes.Identifier(name="include"), nodes.Constant(value=bytes(name)), whole) if _is_root(whole):
                    self._check_helper(name)
                case operands:
                    for operand in operands:
                        self._operand(operand, base, bare=alone)

    def _check_helper(self, name: bytes) -> None:
        """Raises `NotConvertible` if a helper template that is called on all data needs an edit, or calls another."""
        body = _helpers(self._surroundings.helpers).get(name, ())
        rewriter = _TemplateRewriter("", self._surroundings)
        descendants = _descendants(body)
        if not any(
            isinstance(each, nodes.Call) or (isinstance(each, nodes.Identifier) and each.name == "include")
            for each in descendants
        ):
            rewriter.body(body)
            rewriter.check(body)
            if not rewriter._edits:
                return
        raise patterns.NotConvertible(
            f"the helper template `{name.decode()}` reads the key or the prefix, or calls a function on what it prints",
            "write its text out",
        )

    def _operand(self, operand: nodes.Operand, base: int, *, bare: bool = False) -> None:
        match operand:
            case nodes.Chain(operand=nodes.Dot() | nodes.Variable(name="$")) | nodes.Variable(name="$") | nodes.Dot():
                self._path(_path_of(operand), (operand.start + base, operand.end + base), bare=bare)
            case nodes.Pipeline():
                self._pipeline(operand, base)
            case nodes.Chain():
                self._operand(operand.operand, base)
            case _:
                pass

    def _path(self, path: tuple[str, ...], place: tuple[int, int], *, bare: bool) -> None:
        if path == _KEY:
            prefix, below = self._surroundings.prefix, 'trimPrefix "/" .Key'
            call = f"print {_string(prefix)} ({below})" if prefix else below
            self._edits[place[0]] = (place[1], call if bare else f"({call})")
        elif path == _PREFIX:
            self._edits[place[0]] = (place[1], _string(self._surroundings.configured))
        elif not _is_below(path, _SAME):
            raise patterns.NotConvertible(f"`.{'.'.join(path)}` is not the same here")

    def _ways(self, body: nodes.Body) -> list[tuple[nodes.TextNode | nodes.Output, ...]]:
        """Returns the possible outputs of a template as lists of nodes, for all outcomes of its conditions."""
        ways: list[tuple[nodes.TextNode | nodes.Output, ...]] = [()]
        for node in body:
            match node:
                case nodes.Branch():
                    branches = [*self._ways(node.body), *self._ways(node.otherwise)]
                case nodes.Call():
                    branches = self._ways(_helpers(self._surroundings.helpers).get(node.name, ()))
                case nodes.TextNode() | nodes.Output(pipeline=nodes.Pipeline(variables=())):
                    branches = [(node,)]
                case _:
                    continue
            ways = [(*way, *branch) for way in ways for branch in branches]
            if len(ways) > MOST_BRANCHES:
                raise patterns.NotConvertible(f"its conditions make more than {MOST_BRANCHES} different results")
        return ways

    def _piece(self, node: nodes.TextNode | nodes.Output) -> patterns.Piece:
        if isinstance(node, nodes.TextNode):
            return patterns.literal(_text(node))
        printed, trimmed = _printed(node.pipeline)
        path = _path_of(printed)
        name = f"`.{'.'.join(path)}`"
        if path == _KEY:
            # A key of s3-proxy has no empty segment, so no slash follows the one with which the trimmed text ends.
            prefix = self._surroundings.prefix
            return patterns.Piece(name, prefix.startswith("/"), ends_with_slash=True, empty=trimmed or not prefix)
        if path in _SEGMENTS:
            return patterns.Piece(name, begins_with_slash=False, ends_with_slash=False, empty=False)
        match node.pipeline.commands[-1]:
            case (nodes.Identifier(name=function), *_) if function in _MAKE_TEXT:
                self._join_slashes(node)
                name = f"the result of `{function}`"
                return patterns.Piece(name, begins_with_slash=True, ends_with_slash=True, empty=True)
        reason = "it prints more than text, the key and the user's name, so it may have an empty segment, `//`"
        raise patterns.NotConvertible(reason)

    def _join_slashes(self, output: nodes.Output) -> None:
        """Prints one slash where a printed text has several in a row."""
        start, end = output.pipeline.start + output.base, output.pipeline.end + output.base
        if end in self._edits:
            return  # on another way
        until, replacement = self._edits.get(start, (start, ""))
        self._edits[start] = until, f"{_ONE_SLASH} ({replacement}"
        self._edits[end] = end, ') "/"'


def _is_root(operand: nodes.Operand | None) -> bool:
    return isinstance(operand, nodes.Dot) or (isinstance(operand, nodes.Variable) and operand.name == "$")


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _alone(pipeline: nodes.Pipeline) -> nodes.Operand | None:
    """Returns the only operand of a pipeline; None if there is more."""
    if pipeline.variables or len(pipeline.commands) != 1 or len(pipeline.commands[0]) != 1:
        return None
    return pipeline.commands[0][0]


def _path_of(operand: nodes.Operand | None) -> tuple[str, ...]:
    return operand.fields if isinstance(operand, nodes.Chain) and _is_root(operand.operand) else ()


def _text(node: nodes.TextNode) -> str:
    """Returns the text as part of a key: line ends are removed."""
    return _LINE_END.sub("", node.value.decode())


def _printed(pipeline: nodes.Pipeline) -> tuple[nodes.Operand | None, bool]:
    """Returns the operand that is printed, and whether directories at its start may be removed.

    Its case may be changed, and a prefix that ends in a slash may be trimmed; None if it is changed in another way.
    """
    printed: list[nodes.Operand] = []
    trimmed = False
    for command in pipeline.commands:
        match command:
            case (nodes.Identifier(name="lower" | "upper"), *rest):
                printed += rest
            case (nodes.Identifier(name="trimPrefix"), nodes.Constant(value=bytes(text)), *rest) if text.endswith(b"/"):
                trimmed = True
                printed += rest
            case operands:
                printed += operands
    return (printed[0] if len(printed) == 1 else None), trimmed
