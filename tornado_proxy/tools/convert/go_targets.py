"""A target of the type TEMPLATE, written for this project's keys where it is proved to make the same key.

What is proved: all data that the template reads is the same here, or is put in its place; and no slashes meet in what
it prints. Where a function makes a printed text, one slash is made of several, as s3-proxy's SDK does. Conditions may
be anything that reads such data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass

from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.templates.golang import compile_template, nodes
from tornado_proxy.templates.golang.actions import Plain, scan
from tornado_proxy.templates.golang.parser import parse
from tornado_proxy.templates.golang.template import vocabulary
from tornado_proxy.templates.template import GO_SPACES, TemplateMistake
from tornado_proxy.tools.convert.patterns import Here, NotConvertible, Piece, as_directory, literal, where_slashes_meet

_KEY = ("Key",)
_PREFIX = ("Target", "Bucket", "Prefix")
_USER = frozenset({"Username", "GetUsername", "GetIdentifier"})
_SAME = (
    ("User",),
    ("Request", "Method"),
    ("Request", "Header"),
    ("Request", "URL", "Path"),
    ("Request", "URL", "Query"),
    ("Request", "URL", "RawQuery"),
    ("Target", "Name"),
    ("Target", "Bucket", "Name"),
    ("Target", "Bucket", "Region"),
)
"""What of the data is the same here, with all below it."""

_LINE_END = re.compile(r"\r?\n")
_CASES = frozenset({"lower", "upper"})
# Functions whose result is a text, whatever they are given.
_MAKE_TEXT = frozenset(
    {"base", "clean", "dir", "include", "join", "lower", "nospace", "print", "printf", "regexReplaceAll", "replace"}
    | {"regexReplaceAllLiteral", "repeat", "substr", "title", "trim", "trimAll", "trimPrefix", "trimSuffix", "trunc"}
    | {"untitle", "upper"}
)
_ONE_SLASH = r'regexReplaceAll "/(?:\\r?\\n|/)+"'  # line ends are taken out of a result
_MOST_WAYS = 64
"""Through the conditions of a template."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a template's data says of its target: the prefix as configured, and as s3-proxy puts it in front."""

    configured: str
    prefix: str
    helpers: tuple[str, ...] = ()  # texts of the helper templates that it may call
    bodies: Mapping[str, str] = field(default_factory=dict, compare=False)  # what they define, by name


def go_target_here(target: str, source: Here, surroundings: Surroundings) -> str:
    """A template for this project's keys; raises `NotConvertible`, or `TemplateMistake` where it is not a template."""
    pattern = compile_pattern(source.text)
    compile_template(target, pattern.names, pattern.group_count, surroundings.helpers)
    parsed = parse(target, vocabulary())
    if parsed.templates:
        raise NotConvertible("it defines templates of its own", "write their text where they are used")
    reader = _TemplateRewriter(target, surroundings)
    reader.body(parsed.body)
    _check(parsed.body, surroundings, reader)
    _take_off_prefix(reader, target, parsed.body)
    text = reader.edited()
    compile_template(text, pattern.names, pattern.group_count, surroundings.helpers)
    return text


def ignores_client(target: str) -> bool:
    """Whether a template is proved to make the same key for every client: it reads nothing of who asks.

    What a client is known by may stand in the user, a header, the host, the query or a helper template.
    """
    try:
        parsed = parse(target, vocabulary())
    except TemplateMistake:
        return False
    return not parsed.templates and all(map(_is_impersonal, _descendants(parsed.body)))


_IMPERSONAL = (("Key",), ("Target",), ("Request", "Method"), ("Request", "URL", "Path"))


def _is_impersonal(node: object) -> bool:
    match node:
        case nodes.FieldChain(names=path) | nodes.Variable(name="$", fields=path):
            return any(path[: len(each)] == each for each in _IMPERSONAL)
        case nodes.Dot() | nodes.Call():
            return False
    return True


def _descendants(node: object) -> Iterator[object]:
    """A node and all below it: the fields of dataclasses, the members of tuples."""
    yield node
    if isinstance(node, tuple):
        children: Iterable[object] = node
    elif is_dataclass(node):
        children = (getattr(node, each.name) for each in fields(node))
    else:
        return
    for child in children:
        yield from _descendants(child)


class _TemplateRewriter:
    """A walk through all that a template reads, and the edits that make it the same data."""

    def __init__(self, text: str, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self._text = text
        self._edits: dict[int, tuple[int, str]] = {}  # by start: the end, and what takes the place

    def body(self, body: nodes.Body) -> None:
        """Walk through nodes; raises `NotConvertible` for those that no proof covers."""
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
                case _:
                    raise NotConvertible(
                        "it holds a `with`, a `range` or the call of a template, which no proof covers"
                    )

    def take_off(self, start: int, opening: str, directory: str) -> None:
        """Take the prefix off the text with which the result begins; raises `NotConvertible`."""
        bare = opening.lstrip("/")
        if not bare.startswith(directory):
            message = f"it may lead outside the prefix `{directory}`, where no rewrite leads here"
            raise NotConvertible(message, f"begin it with `{directory}`")
        self._edits[start] = (start + len(opening) - len(bare) + len(directory), "/")

    def keep_key(self, output: nodes.Output) -> None:
        """Print the key as it is here: what the result begins with is the path below the prefix."""
        del self._edits[output.base + output.pipeline.commands[0].operands[0].start]

    def join_slashes(self, output: nodes.Output) -> None:
        """Print one slash where a printed text has several in a row."""
        start, end = output.pipeline.start + output.base, output.pipeline.end + output.base
        if end in self._edits:
            return  # it stands on several ways
        until, replacement = self._edits.get(start, (start, ""))
        self._edits[start] = until, f"{_ONE_SLASH} ({replacement}"
        self._edits[end] = end, ') "/"'

    def edited(self) -> str:
        """The text with all edits made."""
        text = self._text
        for start, (end, replacement) in sorted(self._edits.items(), reverse=True):
            text = text[:start] + replacement + text[end:]
        return text

    def _pipeline(self, pipeline: nodes.Pipeline, base: int, *, printed: bool = False) -> None:
        alone = printed and _operand_alone(pipeline) is not None
        for command in pipeline.commands:
            match command.operands:
                case (
                    nodes.Identifier(name="include"),
                    nodes.StringLiteral(value=name),
                    nodes.Dot() | nodes.Variable(name="$", fields=()),
                ):
                    self._helper(name.decode())
                case operands:
                    for operand in operands:
                        self._operand(operand, base, bare=alone)

    def _helper(self, name: str) -> None:
        """Walk through a helper template that is called on the whole data, of which nothing can be put in its place."""
        reader = _TemplateRewriter(self.surroundings.bodies.get(name, ""), self.surroundings)
        reader.body(parse(self.surroundings.bodies.get(name, ""), vocabulary()).body)
        if reader.edited() != self.surroundings.bodies.get(name, ""):
            raise NotConvertible(f"the helper template `{name}` reads the key or the prefix", "write its text out")

    def _operand(self, operand: nodes.Operand, base: int, *, bare: bool = False) -> None:
        match operand:
            case nodes.FieldChain() | nodes.Variable(name="$"):
                path = operand.names if isinstance(operand, nodes.FieldChain) else operand.fields
                self._path(path, (operand.start + base, operand.end + base), bare=bare)
            case nodes.Dot():
                self._path((), (operand.start + base, operand.end + base), bare=bare)
            case nodes.Pipeline():
                self._pipeline(operand, base)
            case nodes.Chain():
                self._operand(operand.operand, base)
            case _:
                pass

    def _path(self, path: tuple[str, ...], place: tuple[int, int], *, bare: bool) -> None:
        if path == _KEY:
            call = self._key()
            self._edits[place[0]] = (place[1], call if bare else f"({call})")
        elif path == _PREFIX:
            self._edits[place[0]] = (place[1], _string(self.surroundings.configured))
        elif not any(path[: len(same)] == same for same in _SAME):
            raise NotConvertible(f"`{self._text[slice(*place)]}` is not the same here")

    def _key(self) -> str:
        prefix = self.surroundings.prefix
        below = 'trimPrefix "/" .Key'
        return f"print {_string(prefix)} ({below})" if prefix else below


def _string(text: str) -> str:
    """A text as a string of Go."""
    return json.dumps(text, ensure_ascii=False)


def _operand_alone(pipeline: nodes.Pipeline) -> nodes.Operand | None:
    """The operand that a pipeline consists of; None where there is more to it."""
    if pipeline.variables or len(pipeline.commands) != 1 or len(pipeline.commands[0].operands) != 1:
        return None
    return pipeline.commands[0].operands[0]


def _path_of(operand: nodes.Operand | None) -> tuple[str, ...]:
    match operand:
        case nodes.FieldChain():
            return operand.names
        case nodes.Variable(name="$"):
            return operand.fields
    return ()


def _check(body: nodes.Body, surroundings: Surroundings, reader: _TemplateRewriter) -> None:
    """Raise `NotConvertible` unless no way through a template makes an empty segment; clean what functions make."""
    for way in _ways(body):
        pieces = [_piece(node, surroundings, reader) for node in way]
        if any("//" in _text(node) for node in way if isinstance(node, nodes.TextNode)):
            raise NotConvertible(
                "it holds an empty segment, `//`, which s3-proxy's SDK takes out", "write a single `/`"
            )
        meeting = where_slashes_meet(pieces)
        if meeting is not None:
            one, other = meeting
            raise NotConvertible(
                f"between {one} and {other} an empty segment, `//`, may result, which s3-proxy's SDK takes out"
            )


def _ways(body: nodes.Body) -> list[tuple[nodes.TextNode | nodes.Output, ...]]:
    """What a template may print, one node after another, whatever its conditions say."""
    ways: list[tuple[nodes.TextNode | nodes.Output, ...]] = [()]
    for node in body:
        if isinstance(node, nodes.Branch):
            branches = [*_ways(node.body), *_ways(node.otherwise)]
            ways = [(*way, *branch) for way in ways for branch in branches]
        elif isinstance(node, nodes.TextNode | nodes.Output) and not (
            isinstance(node, nodes.Output) and node.pipeline.variables
        ):
            ways = [(*way, node) for way in ways]
        if len(ways) > _MOST_WAYS:
            raise NotConvertible(f"its conditions make more than {_MOST_WAYS} different results")
    return ways


def _text(node: nodes.TextNode) -> str:
    """What a text adds to a key: line ends are taken out."""
    return _LINE_END.sub("", node.value.decode())


def _piece(node: nodes.TextNode | nodes.Output, surroundings: Surroundings, reader: _TemplateRewriter) -> Piece:
    if isinstance(node, nodes.TextNode):
        return literal(_text(node))
    printed, trimmed = _printed(node.pipeline)
    path = _path_of(printed)
    if path == _KEY:
        # A key of s3-proxy has no empty segment, and so no slash behind the one with which the trimmed text ends.
        prefix = surroundings.prefix
        return Piece("`.Key`", prefix.startswith("/"), ends_with_slash=True, empty=trimmed or not prefix)
    if path[:1] == ("User",) and set(path[1:]) <= _USER and len(path) == 2:
        return Piece(f"`.{'.'.join(path)}`", begins_with_slash=False, ends_with_slash=False, empty=False)
    if path in (("Request", "Method"), ("Target", "Name"), ("Target", "Bucket", "Name")):
        return Piece(f"`.{'.'.join(path)}`", begins_with_slash=False, ends_with_slash=False, empty=False)
    if _makes_text(node.pipeline):
        reader.join_slashes(node)
        return Piece("what a function makes", begins_with_slash=True, ends_with_slash=True, empty=True)
    raise NotConvertible(
        "what it prints is more than text, the key and the user's name, so nothing is proved of its slashes"
    )


def _makes_text(pipeline: nodes.Pipeline) -> bool:
    match pipeline.commands[-1].operands:
        case (nodes.Identifier(name=name), *_):
            return name in _MAKE_TEXT
    return False


def _printed(pipeline: nodes.Pipeline) -> tuple[nodes.Operand | None, bool]:
    """The operand that is printed, and whether directories at its start may be taken off; None where more is done.

    What may be done is to put it in another case, and to trim a prefix that ends in a slash.
    """
    printed: list[nodes.Operand] = []
    trimmed = False
    for command in pipeline.commands:
        match command.operands:
            case (nodes.Identifier(name=name), *rest) if name in _CASES:
                printed += rest
            case (nodes.Identifier(name="trimPrefix"), nodes.StringLiteral(value=value), *rest) if value.endswith(b"/"):
                trimmed = True
                printed += rest
            case operands:
                printed += operands
    return (printed[0] if len(printed) == 1 and not pipeline.variables else None), trimmed


def _take_off_prefix(reader: _TemplateRewriter, target: str, body: nodes.Body) -> None:
    """Have the prefix taken off with which the result begins; raises `NotConvertible`."""
    directory = as_directory(reader.surroundings.prefix)
    if not directory:
        return
    for node, piece in zip(body, scan(target), strict=False):
        if isinstance(piece, Plain):
            if bare := piece.text.lstrip(GO_SPACES + "\r\n"):
                reader.take_off(piece.start + len(piece.text) - len(bare), bare, directory)
                return
        elif isinstance(node, nodes.Output) and _path_of(_operand_alone(node.pipeline)) == _KEY:
            reader.keep_key(node)
            return
        else:
            break
    raise NotConvertible(
        f"nothing proves that its result begins with the prefix `{directory}`", f"begin it with `{directory}`"
    )
