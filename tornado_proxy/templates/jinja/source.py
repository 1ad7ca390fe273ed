"""The text of a `jinja` template: parsed by Jinja2, and checked before anything is rendered.

Jinja2 counts lines; here the "line number" of a token, and so of a node or a syntax error, is its offset.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping
from math import isinf

import msgspec
from jinja2 import Environment, TemplateSyntaxError, nodes
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from gotemplate.regexp.matching import Reference, group_number
from gotemplate.template.errors import TemplateMistake, help_for_unknown, refuse
from tornado_proxy.templates.jinja.filters import FILTERS, GLOBALS, TESTS
from tornado_proxy.templates.jinja.views import NAMES, RECORDS
from tornado_proxy.templates.limits import DEEPEST_TEMPLATE, LONGEST_NUMBER, MOST_TEMPLATE_NAMES
from tornado_proxy.templates.template import unknown_group

CLOSED = ("if", "for", "set", "with", "macro", "call", "filter", "raw")  # statements that end at an `end…` of their own
STATEMENTS = (*CLOSED, "elif", "else")

_QUOTED = re.compile(r"(?<!\w)'([^']*)'")
_PLACE = re.compile(r" at \d+$")


def reworded(message: str | None) -> tuple[str, str | None]:
    """Returns a message of Jinja2 in our form, and its further sentences as the help."""
    text = _QUOTED.sub(r"`\1`", _PLACE.sub("", message or "")).rstrip(".")
    text = text.replace("end of print statement", "}}").replace("end of statement block", "%}")
    fact, _, hint = text.partition(". ")
    return fact[:1].lower() + fact[1:], hint or None


_SPACES = frozenset({"whitespace", "data", "raw_begin", "raw_end", "comment_begin", "comment", "comment_end"})


class TokenPlaces(msgspec.Struct, frozen=True):
    """The start and the end of each token of a template, in order."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def end(self, start: int) -> int:
        """Returns the end of the token that begins at an offset."""
        return self.ends[bisect_right(self.starts, start) - 1] if self.starts else start

    def after(self, start: int) -> int:
        """Returns the start of the token after the one at an offset."""
        return self.starts[min(bisect_right(self.starts, start), len(self.starts) - 1)]


def parse(environment: Environment, text: str) -> tuple[nodes.Template, TokenPlaces]:
    """Parses a template; raises `TemplateMistake` for a syntax error."""
    # Jinja2 makes one character of the two; both are line ends that no key keeps.
    source = text.replace("\r\n", "\n\n")
    tokens = list(_located(environment, source))
    seen = [(start, start + len(value)) for start, kind, value in tokens if kind not in _SPACES]
    places = TokenPlaces(source, tuple(start for start, _ in seen), tuple(end for _, end in seen))
    parser = Parser(environment, "")
    parser.stream = TokenStream(environment.lexer.wrap(iter(tokens), None, None), None, None)
    try:
        return parser.parse(), places
    except TemplateSyntaxError as error:
        at_end = "end of template" in str(error.message)
        offset = len(text) if at_end else error.lineno
        message, hint = reworded(error.message)
        raise TemplateMistake(message, offset, None if at_end else places.end(offset), hint) from error


def _located(environment: Environment, source: str) -> Iterator[tuple[int, str, str]]:
    """Yields the offset, kind and text of each token."""
    position = 0
    try:
        for _, kind, value in environment.lexer.tokeniter(source, None):
            start = max(position, source.find(value, position))
            position = start + len(value)
            is_number = kind in ("integer", "float")
            if is_number and (len(value) > LONGEST_NUMBER or (kind == "float" and isinf(float(value)))):
                raise TemplateMistake("the number is too large", start, position)
            yield start, kind, value
    except TemplateSyntaxError as error:
        message, hint = reworded(error.message)
        if message == "unexpected `}`":
            is_block = source.rfind("{%", 0, position) > source.rfind("{{", 0, position)
            hint = f"close it with `{'%}' if is_block else '}}'}`"
        raise TemplateMistake(message, position, min(position + 1, len(source)), hint) from error


_UNSUPPORTED: Mapping[type[nodes.Node], str] = {
    nodes.Include: "include",
    nodes.Import: "import",
    nodes.FromImport: "from",
    nodes.Extends: "extends",
    nodes.Block: "block",
    nodes.ScopedEvalContextModifier: "autoescape",
}
# Names that Jinja2 gives a meaning in loops and macros.
_SPECIAL_NAMES = frozenset({"loop", "caller", "varargs", "kwargs"})


class TemplateReading:
    """A parsed template: nodes with parents, names that it sets. Raises `TemplateMistake` if either are too many."""

    def __init__(self, tree: nodes.Template, tokens: TokenPlaces) -> None:
        self._tokens = tokens
        self._nodes = tuple(_walk(tree))
        places: dict[str, int] = {}
        for node, _ in self._nodes:
            if isinstance(node, nodes.Macro) or (isinstance(node, nodes.Name) and node.ctx != "load"):
                places.setdefault(node.name, node.lineno)
        if len(places) > MOST_TEMPLATE_NAMES:
            start = [*places.values()][MOST_TEMPLATE_NAMES]
            raise TemplateMistake(f"the template sets more than {MOST_TEMPLATE_NAMES} names", start, tokens.end(start))
        self._own_names = frozenset(places)

    def check(self, names: Mapping[str, int], group_count: int) -> None:
        """Raises `TemplateMistake` for the mistakes of a template whose source has these groups."""
        groups = [*names, *map(str, range(group_count + 1))]
        unknown = [
            unknown_group(name, start, end, groups)
            for name, start, end in self.group_references()
            if name not in names and ((number := group_number(name)) is None or number > group_count)
        ]
        refuse([*self._mistakes(names), *unknown])

    def group_references(self) -> Iterator[Reference]:
        """Yields the groups that are named by literals."""
        for node, _ in self._nodes:
            match node:
                case nodes.Getattr() if self._dotted(node.node) == "groups":
                    yield node.attr, node.node.lineno, self._tokens.end(self._tokens.after(node.lineno))
                case nodes.Getitem(arg=nodes.Const() as constant) if self._dotted(node.node) == "groups":
                    closing = self._tokens.after(constant.lineno)
                    bracketed = self._tokens.text.startswith("]", closing)
                    end = closing + 1 if bracketed else self._tokens.end(constant.lineno)
                    yield str(constant.value), node.node.lineno, end

    def reads_user(self) -> bool:
        """Returns whether the template uses more of the user than whether there is one."""
        return any(
            isinstance(node, nodes.Name) and self._dotted(node) == "user" and not _is_condition(node, parent)
            for node, parent in self._nodes
        )

    def _mistakes(self, groups: Collection[str]) -> Iterator[TemplateMistake]:
        known_names = self._own_names.union(NAMES, GLOBALS)
        allowed_names = known_names | _SPECIAL_NAMES
        for node, _ in self._nodes:
            start, message, hint = node.lineno, _refusal(node), None
            match node:
                case nodes.Filter() if node.name not in FILTERS:
                    message, hint = f"unknown filter `{node.name}`", help_for_unknown(node.name, FILTERS)
                case nodes.Test() if node.name not in TESTS:
                    start = self._tokens.after(start)
                    message, hint = f"unknown test `{node.name}`", help_for_unknown(node.name, TESTS)
                case nodes.Name() if node.name not in allowed_names:
                    message = f"unknown variable `{node.name}`"
                    hint = _path_to(node.name, groups) or help_for_unknown(node.name, known_names)
                    hint = hint or f"there are {', '.join(map('`{}`'.format, NAMES))}"
                case nodes.Getattr() if node.attr not in RECORDS.get(record := self._dotted(node.node), (node.attr,)):
                    start, fields = self._tokens.after(start), RECORDS[record]
                    message = f"`{record}` has no field `{node.attr}`"
                    hint = help_for_unknown(node.attr, fields) or f"it has {', '.join(map('`{}`'.format, fields))}"
            if message is not None:
                yield TemplateMistake(message, start, self._tokens.end(start), hint)

    def _dotted(self, node: nodes.Node) -> str:
        """Returns a chain of fields, `target.bucket`; it is empty unless it begins with a variable of `NAMES`."""
        if isinstance(node, nodes.Getattr):
            return f"{self._dotted(node.node)}.{node.attr}"
        return node.name if isinstance(node, nodes.Name) and node.name not in self._own_names else ""


def _walk(tree: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node]]:
    """Yields every node with its parent, in the order of the text."""
    rest: list[tuple[nodes.Node, nodes.Node, int]] = [(tree, tree, 0)]
    while rest:
        node, parent, depth = rest.pop()
        if depth > DEEPEST_TEMPLATE:
            raise TemplateMistake(f"the template nests deeper than {DEEPEST_TEMPLATE} levels", node.lineno)
        yield node, parent
        rest += [(child, node, depth + 1) for child in reversed(list(node.iter_child_nodes()))]


def _is_condition(node: nodes.Node, parent: nodes.Node) -> bool:
    """Returns whether only the truth of a variable, or a test of it, counts."""
    if isinstance(parent, nodes.If | nodes.CondExpr):
        return parent.test is node
    return isinstance(parent, nodes.Not | nodes.Test)


def _refusal(node: nodes.Node) -> str | None:
    """Returns why no template can have a node: it needs other templates, or makes work that is not charged."""
    if isinstance(node, nodes.For) and node.recursive:
        return "a loop cannot be recursive"
    if isinstance(node, nodes.Pair) and not isinstance(node.key, nodes.Const):
        return "the keys of a mapping must be literals"
    statement = _UNSUPPORTED.get(type(node))
    return f"the statement `{statement}` is not supported" if statement else None


def _path_to(name: str, groups: Collection[str]) -> str | None:
    """Returns a hint at the group or the field of that name."""
    record = "groups" if name in groups else next((path for path, fields in RECORDS.items() if name in fields), None)
    return f"did you mean `{record}.{name}`?" if record else None
