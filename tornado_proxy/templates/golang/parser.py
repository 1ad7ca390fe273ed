"""A template parsed: actions nested as their keywords say, and what they name checked (package text/template/parse)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tornado_proxy.templates.golang import nodes
from tornado_proxy.templates.golang.actions import DEEPEST, Inside, Plain, parse_action, scan
from tornado_proxy.templates.golang.calling import Vocabulary
from tornado_proxy.templates.golang.text import go_string, trim_space
from tornado_proxy.templates.template import TemplateMistake

ROOT = b"template-string-loaded"
"""What s3-proxy calls the outermost template; one that defines it has no text of its own."""
MOST_TEMPLATES = 100
_CLOSERS = ("end", "else", "else if", "else with")
_CONSTANT = (nodes.BoolLiteral, nodes.Dot, nodes.NilLiteral, nodes.NumberLiteral, nodes.StringLiteral)


@dataclass(frozen=True, slots=True)
class ParsedTemplate:
    """A template's own body, the bodies of the templates that it defines, and the names in them that are unknown."""

    body: nodes.Body
    templates: Mapping[bytes, nodes.Body]
    mistakes: tuple[TemplateMistake, ...] = ()

    @property
    def callable(self) -> Mapping[bytes, nodes.Body]:
        """The bodies of all templates that can be called by name, the outermost among them."""
        return {**self.templates, ROOT: self.body}


def parse(text: str, vocabulary: Vocabulary) -> ParsedTemplate:
    """The template's tree; raises `TemplateMistake` with offsets in code points for what is not one."""
    parser = _TemplateParser(scan(text), vocabulary)
    try:
        body = parser.top()
    except TemplateMistake as mistake:
        mistake.others = tuple(parser.mistakes)
        raise
    defined = parser.templates.pop(ROOT, ())
    if _is_empty(defined):
        defined = body
    elif not _is_empty(body):
        message = f"the template `{ROOT.decode()}` is defined twice: the text around its definition is one"
        raise TemplateMistake(message, *parser.root_definition)
    return ParsedTemplate(defined, parser.templates, tuple(parser.mistakes))


@dataclass(slots=True)
class _Scope:
    """What a template being parsed has declared so far, and whether it is inside a `range`."""

    variables: list[str] = field(default_factory=lambda: ["$"])
    ranges: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    """An action and its place."""

    action: nodes.ActionNode
    inside: Inside

    @property
    def start(self) -> int:
        return self.action.start + self.inside.start

    @property
    def end(self) -> int:
        return self.action.end + self.inside.start


class _TemplateParser:
    """Puts the pieces of a template together; each method takes what follows what it names."""

    def __init__(self, pieces: Iterator[Plain | Inside], vocabulary: Vocabulary) -> None:
        self._pieces = pieces
        self._vocabulary = vocabulary
        self._depth = 0
        self.templates: dict[bytes, nodes.Body] = {}
        self.root_definition = 0, 0
        self.mistakes: list[TemplateMistake] = []

    def top(self) -> nodes.Body:
        """The whole template; only here may templates be defined."""
        scope = _Scope()
        made: list[nodes.Node] = []
        for piece in self._pieces:
            if isinstance(piece, Plain):
                made.append(nodes.TextNode(go_string(piece.text)))
                continue
            found = _Found(parse_action(piece), piece)
            if found.action.keyword == "define":
                self._definition(found)
            elif found.action.keyword in _CLOSERS:
                raise TemplateMistake(f"there is nothing to `{found.action.keyword}`", found.start, found.end)
            else:
                made.append(self._node(found, scope))
        return tuple(made)

    def _definition(self, opening: _Found) -> None:
        body, closer = self._body(opening, _Scope())
        _must_end(closer, opening)
        self._add(opening, body)

    def _add(self, opening: _Found, body: nodes.Body) -> None:
        """Give a template its name; of two, one must be empty, and the other counts."""
        name = opening.action.name or b""
        if name == ROOT:
            self.root_definition = opening.inside.start + opening.action.name_start, opening.end
        known = self.templates.get(name, ())
        if _is_empty(known):
            self.templates[name] = body
            if len(self.templates) > MOST_TEMPLATES:
                raise TemplateMistake(f"more than {MOST_TEMPLATES} templates are defined", opening.start, opening.end)
        elif not _is_empty(body):
            start = opening.inside.start + opening.action.name_start
            raise TemplateMistake(f"the template `{name.decode()}` is defined twice", start, opening.end)

    def _body(self, opening: _Found, scope: _Scope) -> tuple[nodes.Body, _Found]:
        """The nodes up to an `end` or an `else`, and that closing action."""
        self._nest(opening)
        made: list[nodes.Node] = []
        for piece in self._pieces:
            if isinstance(piece, Plain):
                made.append(nodes.TextNode(go_string(piece.text)))
                continue
            found = _Found(parse_action(piece), piece)
            if found.action.keyword in _CLOSERS:
                self._depth -= 1
                return tuple(made), found
            made.append(self._node(found, scope))
        keyword = opening.action.keyword
        raise TemplateMistake(f"the `{keyword}` is not closed", opening.start, opening.end, "close it with `{{end}}`")

    def _nest(self, opening: _Found) -> None:
        """Count one level more; an `else if` is one as well, for its tree is that of an `if` within an `else`."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise TemplateMistake(f"actions nest deeper than {DEEPEST} levels", opening.start, opening.end)

    def _node(self, found: _Found, scope: _Scope) -> nodes.Node:
        match found.action.keyword:
            case "":
                return self._output(found, scope)
            case "if" | "with":
                return self._branch(found, scope)
            case "range":
                return self._range(found, scope)
            case "break" | "continue":
                return _jump(found, scope)
            case "template":
                return self._call(found, scope)
            case "block":
                node = self._call(found, scope)
                self._definition(found)
                return node
        raise TemplateMistake("a template is defined at the outermost level only", found.start, found.end)

    def _output(self, found: _Found, scope: _Scope) -> nodes.Output:
        return nodes.Output(found.inside.start, self._checked(found, scope))

    def _branch(self, found: _Found, scope: _Scope) -> nodes.Branch:
        keyword = found.action.keyword.removeprefix("else ")
        mark = len(scope.variables)
        pipeline = self._checked(found, scope)
        body, closer = self._body(found, scope)
        otherwise: nodes.Body = ()
        if closer.action.keyword == f"else {keyword}":
            self._nest(closer)
            otherwise = (self._branch(closer, scope),)
            self._depth -= 1
        elif closer.action.keyword == "else":
            otherwise, closer = self._body(found, scope)
            _must_end(closer, found)
        else:
            _must_end(closer, found)
        del scope.variables[mark:]
        return nodes.Branch(found.inside.start, pipeline, keyword == "with", body, otherwise)

    def _range(self, found: _Found, scope: _Scope) -> nodes.Range:
        mark = len(scope.variables)
        pipeline = self._checked(found, scope)
        scope.ranges += 1
        body, closer = self._body(found, scope)
        scope.ranges -= 1
        otherwise: nodes.Body = ()
        if closer.action.keyword == "else":
            otherwise, closer = self._body(found, scope)
        _must_end(closer, found)
        del scope.variables[mark:]
        return nodes.Range(found.inside.start, pipeline, body, otherwise)

    def _call(self, found: _Found, scope: _Scope) -> nodes.Call:
        action = found.action
        pipeline = None if action.pipeline is None else self._checked(found, scope)
        return nodes.Call(found.inside.start, action.name or b"", pipeline, action.start, action.end)

    def _checked(self, found: _Found, scope: _Scope) -> nodes.Pipeline:
        """The action's pipeline, its functions and variables known."""
        pipeline = found.action.pipeline
        assert pipeline is not None
        if len(pipeline.variables) > 1 and found.action.keyword != "range":
            raise TemplateMistake("two variables are declared by a `range` only", found.start, found.end)
        self.mistakes += self._mistakes(pipeline, found.inside.start, scope)
        return pipeline

    def _mistakes(self, pipeline: nodes.Pipeline, base: int, scope: _Scope) -> Iterator[TemplateMistake]:
        """The names in a pipeline that stand for nothing, and constants where only a function can stand."""
        scope.variables.extend(pipeline.variables)
        for number, command in enumerate(pipeline.commands):
            first = command.operands[0]
            if number and isinstance(first, _CONSTANT):
                yield TemplateMistake("a constant takes no piped value", first.start + base, first.end + base)
            for operand in command.operands:
                yield from self._mistakes_of_operand(operand, base, scope)

    def _mistakes_of_operand(self, operand: nodes.Operand, base: int, scope: _Scope) -> Iterator[TemplateMistake]:
        match operand:
            case nodes.Identifier():
                yield from self._vocabulary.mistakes(operand.name, operand.start + base)
            case nodes.Variable() if operand.name not in scope.variables:
                end = operand.start + len(operand.name)
                yield TemplateMistake(f"unknown variable `{operand.name}`", operand.start + base, end + base)
            case nodes.Chain():
                yield from self._mistakes_of_operand(operand.operand, base, scope)
            case nodes.Pipeline():
                if len(operand.variables) > 1:
                    message = "two variables are declared by a `range` only"
                    yield TemplateMistake(message, operand.start + base, operand.end + base)
                yield from self._mistakes(operand, base, scope)
            case _:
                pass


def _jump(found: _Found, scope: _Scope) -> nodes.Jump:
    keyword = found.action.keyword
    if not scope.ranges:
        raise TemplateMistake(f"there is no `range` to {keyword}", found.start, found.end)
    return nodes.Jump(found.inside.start, keyword == "break")


def _must_end(closer: _Found, opening: _Found) -> None:
    keyword = closer.action.keyword
    if keyword != "end":
        message = f"`{keyword}` does not belong to `{opening.action.keyword}`"
        raise TemplateMistake(message, closer.start, closer.end, "close it with `{{end}}` first")


def _is_empty(body: nodes.Body) -> bool:
    return all(isinstance(node, nodes.TextNode) and not trim_space(node.value) for node in body)
