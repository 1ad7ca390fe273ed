"""The insertions of a `go` template: the values of clients that become part of a key.

A *path* is the fields that lead from the outermost data to a value, such as `User`, `GetEmail`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from tornado_proxy.goregex import syntax
from tornado_proxy.goregex.alphabet import allowed_characters
from tornado_proxy.goregex.classes import contains
from tornado_proxy.goregex.language import language
from tornado_proxy.lint.shapes import (
    EMAIL,
    GROUPS,
    HEADER,
    NAME,
    QUERY,
    Insertion,
    bare,
    ends_anchored,
    starts_anchored,
)
from tornado_proxy.templates.golang import nodes
from tornado_proxy.templates.golang.parser import ParsedTemplate, parse

_LINES = (syntax.AssertionKind.LINE_START, syntax.AssertionKind.LINE_END)


def matches_every_slash(expression: str) -> bool:
    """Whether each `/` of any text is part of a match: it reads one character, or a run, and `/` is among them."""
    tree = language(expression).tree
    node = None if tree is None else bare(tree)
    if isinstance(node, syntax.Repeat) and node.least <= 1:
        node = bare(node.body)
    match node:
        case syntax.Text():
            return node.characters == "/"
        case syntax.BracketClass() | syntax.PerlClass() | syntax.UnicodeClass() | syntax.AnyCharacter():
            return contains(allowed_characters(node), ord("/"))
        case _:
            return False


def matches_no_slash(expression: str) -> bool:
    """Whether no match holds a `/`."""
    tree = language(expression).tree
    return tree is not None and not any(map(_reads_slash, syntax.walk(tree)))


def admits_no_slash(expression: str) -> bool:
    """Whether a text in which it is found holds no `/`: it speaks of the whole text."""
    tree = language(expression).tree
    if tree is None or not (starts_anchored(tree) and ends_anchored(tree)):
        return False
    by_line = any(isinstance(each, syntax.Assertion) and each.kind in _LINES for each in syntax.walk(tree))
    return not by_line and matches_no_slash(expression)


def _reads_slash(node: syntax.Node | syntax.Member) -> bool:
    match node:
        case syntax.Text():
            return "/" in node.characters
        case syntax.BracketClass() | syntax.PerlClass() | syntax.UnicodeClass() | syntax.AnyCharacter():
            return contains(allowed_characters(node), ord("/"))
        case _:
            return False


Path = tuple[str, ...]

_SOURCES: Mapping[Path, str] = {
    ("Request", "Header"): HEADER,
    ("Request", "Referer"): HEADER,
    ("Request", "UserAgent"): HEADER,
    ("Request", "FormValue"): QUERY,
    ("Request", "RequestURI"): QUERY,
    ("Request", "URL", "Query"): QUERY,
    ("Request", "URL", "RawQuery"): QUERY,
    ("Request", "URL", "RequestURI"): QUERY,
    ("User", "GetEmail"): EMAIL,
    ("User", "Email"): EMAIL,
    ("User", "GetIdentifier"): EMAIL,
    ("User", "GetGroups"): GROUPS,
    ("User", "Groups"): GROUPS,
    **{
        ("User", name): NAME for name in ("Name", "GivenName", "FamilyName", "GetName", "GetGivenName", "GetFamilyName")
    },
}
# Functions whose results span no segments, whatever they are given.
_HARMLESS = frozenset(
    (
        *("adler32sum", "atoi", "b32enc", "base", "contains", "empty", "eq", "float64", "ge", "gt", "has", "hasPrefix"),
        *("hasSuffix", "int", "int64", "le", "len", "lt", "ne", "not", "osBase", "regexMatch", "sha1sum"),
        *("sha256sum", "sha512sum", "urlquery"),
    )
)
_LOOKUPS = frozenset({"get", "index"})


@dataclass(frozen=True, slots=True)
class _KnownValues:
    """What is known somewhere in a template: what dot is, what variables hold, which operands have been compared.

    Dot is a path from the outermost data, a noun where a client chooses it, or None where it is anything else.
    """

    dot: Path | str | None = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    settled: AbstractSet[str] = frozenset()
    base: int = 0


def insertions(text: str) -> Iterator[Insertion]:
    """The insertions of a template that compiles."""
    parsed = parse(text)
    return _Walk(text, parsed).body(parsed.body, _KnownValues())


class _Walk:
    def __init__(self, text: str, parsed: ParsedTemplate) -> None:
        self._text = text
        self._templates = parsed.templates
        self._visited: set[bytes] = set()

    def body(self, body: nodes.Body, place: _KnownValues) -> Iterator[Insertion]:
        """Walk through nodes in order."""
        for node in body:
            match node:
                case nodes.Output():
                    here = replace(place, base=node.base)
                    found = list(self._pipeline(node.pipeline, here))
                    place = _with_variables(place, node.pipeline, found)
                    if not node.pipeline.variables:
                        yield from found
                case nodes.Branch():
                    yield from self._branch(node, replace(place, base=node.base))
                case nodes.Range():
                    yield from self._range(node, replace(place, base=node.base))
                case nodes.Call():
                    yield from self._call(node, replace(place, base=node.base))
                case _:
                    pass

    def _branch(self, node: nodes.Branch, place: _KnownValues) -> Iterator[Insertion]:
        found = list(self._pipeline(node.pipeline, place))
        inner = _with_variables(place, node.pipeline, found)
        settled = replace(inner, settled=inner.settled | self._settled(node.pipeline, place, holds=True))
        if node.sets_dot:
            settled = replace(settled, dot=found[0].what if found else _path_of_pipeline(node.pipeline, place))
        yield from self.body(node.body, settled)
        otherwise = inner.settled | self._settled(node.pipeline, place, holds=False)
        yield from self.body(node.otherwise, replace(inner, settled=otherwise))

    def _range(self, node: nodes.Range, place: _KnownValues) -> Iterator[Insertion]:
        found = list(self._pipeline(node.pipeline, place))
        inner = _with_variables(place, node.pipeline, found)
        yield from self.body(node.body, replace(inner, dot=found[0].what if found else None))
        yield from self.body(node.otherwise, place)

    def _call(self, node: nodes.Call, place: _KnownValues) -> Iterator[Insertion]:
        if node.name in self._visited or node.name not in self._templates:
            return
        self._visited.add(node.name)
        dot = None if node.pipeline is None else _path_of_pipeline(node.pipeline, place)
        yield from self.body(self._templates[node.name], _KnownValues(dot))

    def _pipeline(self, pipeline: nodes.Pipeline, place: _KnownValues) -> Iterator[Insertion]:
        """What of a pipeline's operands reaches its result: nothing of what a harmless command was given."""
        kept: list[nodes.Command] = []
        for command in pipeline.commands:
            if _is_harmless(command) or (kept and _is_split(kept[-1]) and _takes_a_part(command)):
                kept.clear()
            else:
                kept.append(command)
        for command in kept:
            yield from self._command(command, place)

    def _command(self, command: nodes.Command, place: _KnownValues) -> Iterator[Insertion]:
        first, *arguments = command
        if self._between(first, command[-1], place) in place.settled:
            return
        # A key that is looked up in a dictionary selects a value, and is not inserted itself.
        looks_up = isinstance(first, nodes.Identifier) and first.name in _LOOKUPS
        for operand in arguments[:1] if looks_up else command:
            yield from self._operand(operand, place)

    def _operand(self, operand: nodes.Operand, place: _KnownValues) -> Iterator[Insertion]:
        match operand:
            case nodes.Pipeline():
                yield from self._pipeline(operand, place)
            case nodes.Variable(name=name) | nodes.Chain(operand=nodes.Variable(name=name)) if name in place.variables:
                yield from self._insertion(place.variables[name], operand, place)
            case nodes.Dot() if isinstance(place.dot, str):
                yield from self._insertion(place.dot, operand, place)
            case nodes.Variable() | nodes.Chain(operand=nodes.Variable() | nodes.Dot()):
                yield from self._insertion(_source(_path(operand, place)), operand, place)
            case nodes.Chain():
                if not _ends_in_split(operand.operand):
                    yield from self._operand(operand.operand, place)
            case _:
                pass

    def _insertion(self, what: str | None, operand: nodes.Operand, place: _KnownValues) -> Iterator[Insertion]:
        if what is not None and self._between(operand, operand, place) not in place.settled:
            yield Insertion(what, place.base + operand.start, place.base + operand.end)

    def _between(self, first: nodes.Operand, last: nodes.Operand, place: _KnownValues) -> str:
        """What is written from one operand to another."""
        return self._text[place.base + first.start : place.base + last.end]

    def _settled(self, pipeline: nodes.Pipeline, place: _KnownValues, *, holds: bool) -> AbstractSet[str]:
        """Returns the values that a condition, or its contrary, limits to known ones or to ones without a slash."""
        *before, last = pipeline.commands
        first, *arguments = last
        name = first.name if isinstance(first, nodes.Identifier) else ""
        if name in ("not", "and" if holds else "or"):
            inner = (each for each in arguments if isinstance(each, nodes.Pipeline))
            return frozenset().union(
                *(self._settled(each, place, holds=holds is not (name == "not")) for each in inner)
            )
        if not _settles(name, arguments, holds=holds):
            return frozenset()
        compared = [*(before if len(before) == 1 else ()), *map(_innermost, arguments)]
        return frozenset(self._between(each[0], each[-1], place) for each in compared)


def _settles(name: str, arguments: list[nodes.Operand], *, holds: bool) -> bool:
    """Whether a question says of what it asks about what it may be, or that no slash is in it."""
    match name:
        case "eq" | "has":
            return holds
        case "ne":
            return not holds
        case "contains":
            return not holds and _literal(arguments, 0) == b"/"
        case "regexMatch":
            expression = _literal(arguments, 0)
            return holds and expression is not None and admits_no_slash(expression.decode(errors="replace"))
        case _:
            return False


def _innermost(operand: nodes.Operand) -> nodes.Command:
    """The command that an operand is, without the parentheses around it."""
    while isinstance(operand, nodes.Pipeline) and len(operand.commands) == 1:
        command = operand.commands[0]
        if len(command) > 1:
            return command
        operand = command[0]
    return (operand,)


def _with_variables(place: _KnownValues, pipeline: nodes.Pipeline, found: list[Insertion]) -> _KnownValues:
    """The place after a pipeline has given its variables what it gives."""
    if not pipeline.variables:
        return place
    name = pipeline.variables[-1]
    others = {known: what for known, what in place.variables.items() if known != name}
    return replace(place, variables={**others, name: found[0].what} if found else others)


def _is_harmless(command: nodes.Command) -> bool:
    """Whether what a command makes can span no segments."""
    first, *arguments = command
    if not isinstance(first, nodes.Identifier):
        return False
    expression = (_literal(arguments, 0) or b"").decode(errors="replace")
    match first.name:
        case "replace":
            new = _literal(arguments, 1)
            return expression == "/" and new is not None and b"/" not in new
        case "regexReplaceAll" | "regexReplaceAllLiteral":
            new = _literal(arguments, 2)
            plain = new is not None and b"/" not in new and b"$" not in new
            return plain and matches_every_slash(expression)
        case "regexFind":
            return bool(expression) and matches_no_slash(expression)
        case "first" | "last" | "index":
            return bool(arguments) and _ends_in_split(arguments[0])
        case name:
            return name in _HARMLESS


def _takes_a_part(command: nodes.Command) -> bool:
    first = command[0]
    return isinstance(first, nodes.Identifier) and first.name in ("first", "last")


def _ends_in_split(operand: nodes.Operand) -> bool:
    return isinstance(operand, nodes.Pipeline) and _is_split(operand.commands[-1])


def _is_split(command: nodes.Command) -> bool:
    """Whether a command takes a value apart at all of its slashes."""
    first, *arguments = command
    return (
        isinstance(first, nodes.Identifier) and first.name in ("split", "splitList") and _literal(arguments, 0) == b"/"
    )


def _literal(arguments: list[nodes.Operand], index: int) -> bytes | None:
    """The text of an argument that is written out."""
    argument = arguments[index] if index < len(arguments) else None
    return argument.value if isinstance(argument, nodes.Constant) and isinstance(argument.value, bytes) else None


def _path_of_pipeline(pipeline: nodes.Pipeline, place: _KnownValues) -> Path | None:
    operands = pipeline.commands[0]
    if len(pipeline.commands) > 1 or len(operands) > 1:
        return None
    return _path(operands[0], place)


def _path(operand: nodes.Operand, place: _KnownValues) -> Path | None:
    match operand:
        case nodes.Dot():
            return None if isinstance(place.dot, str) else place.dot
        case nodes.Variable(name="$"):
            return ()
        case nodes.Chain():
            path = _path(operand.operand, place)
            return None if path is None else path + operand.fields
        case _:
            return None


def _source(path: Path | None) -> str | None:
    """What a client chooses of what a path leads to."""
    if path is None:
        return None
    return next((_SOURCES[path[:length]] for length in (2, 3) if path[:length] in _SOURCES), None)
