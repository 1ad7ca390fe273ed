"""A `jinja` template: what its text shows at load, and its rendering for each key that its rewrite matched."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import jinja2
from jinja2 import nodes

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.jinja.environment import GLOBALS, KeyEnvironment, instrument
from tornado_proxy.templates.jinja.filters import FILTERS, TESTS
from tornado_proxy.templates.jinja.limits import KEY, TEXT_METHODS, JinjaBudget, backticked
from tornado_proxy.templates.jinja.source import TokenPlaces, parse
from tornado_proxy.templates.jinja.views import NAMES, RECORDS, variables
from tornado_proxy.templates.template import (
    LimitError,
    RenderError,
    TargetKeyRewriteData,
    TemplateMistake,
    group_number,
    trimmed,
)

Reference = tuple[str, int, int]

GREATEST_DEPTH = 60

_REFUSED: Mapping[type[nodes.Node], str] = {
    nodes.Include: "a template stands alone: it cannot include another",
    nodes.Import: "a template stands alone: it cannot import another",
    nodes.FromImport: "a template stands alone: it cannot import another",
    nodes.Extends: "a template stands alone: it cannot extend another",
    nodes.Block: "a template stands alone: nothing can replace its blocks",
    nodes.ScopedEvalContextModifier: "a key is not markup: there is nothing to escape",
}
# Names that Jinja2 gives a meaning in loops and macros.
_SPECIAL_NAMES = frozenset({"loop", "caller", "varargs", "kwargs"})

_LOOKUPS = frozenset({"groups", "request.headers", "request.query"})
_TEXTS = frozenset(
    (
        *("key", "request.method", "request.host", "request.path", "request.scheme", "request.remote_address"),
        *("user.username", "user.kind", "user.email", "user.name", "user.given_name", "user.family_name"),
        *("target.name", "target.bucket.name", "target.bucket.prefix", "target.bucket.region", "target.mount.host"),
    )
)
# The filter that speaks of what there is not.
_DEFAULTS = frozenset({"default", "d"})


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """What a template without mistakes says of itself."""

    group_references: tuple[Reference, ...]
    reads_user: bool


def read(tree: nodes.Template, tokens: TokenPlaces, names: Mapping[str, int], group_count: int) -> TemplateFacts:
    """The facts of a template for a source with these groups; raises `TemplateMistake` for its first mistake."""
    reading = _TemplateReading(tree, tokens, names)
    for check in (_check_kind, _check_parts, _check_name, _check_field):
        for node, _ in reading.nodes:
            check(reading, node)
    for node, parent in reading.nodes:
        _check_text(reading, node, parent)
    references = tuple(reading.group_references())
    for name, start, end in references:
        number = group_number(name)
        if name not in names and (number is None or number > group_count):
            raise TemplateMistake(f"the source has no group `{name}`", start, end, _near(name, names))
    return TemplateFacts(references, reading.reads_user())


class _TemplateReading:
    """A tree with the parent of each node, and the names that it gives a value itself."""

    def __init__(self, tree: nodes.Template, tokens: TokenPlaces, groups: Collection[str]) -> None:
        self.tokens = tokens
        self.groups = groups
        self.nodes = tuple(_walk(tree))
        stored = (node.name for node, _ in self.nodes if isinstance(node, nodes.Name) and node.ctx != "load")
        macros = (node.name for node, _ in self.nodes if isinstance(node, nodes.Macro))
        self.own_names = frozenset((*stored, *macros))
        self.known_names = self.own_names.union(NAMES, GLOBALS, _SPECIAL_NAMES)

    def is_ours(self, node: nodes.Node, name: str) -> bool:
        """Whether a node is one of our variables, and the template gives the name no other meaning."""
        return isinstance(node, nodes.Name) and node.name == name and name not in self.own_names

    def group_references(self) -> Iterator[Reference]:
        """The groups that are named by literals."""
        for node, _ in self.nodes:
            match node:
                case nodes.Getattr() if self.is_ours(node.node, "groups"):
                    yield node.attr, node.node.lineno, self.tokens.end(self.tokens.after(node.lineno))
                case nodes.Getitem(arg=nodes.Const() as constant) if self.is_ours(node.node, "groups"):
                    closing = self.tokens.after(constant.lineno)
                    bracketed = self.tokens.text.startswith("]", closing)
                    end = closing + 1 if bracketed else self.tokens.end(constant.lineno)
                    yield str(constant.value), node.node.lineno, end

    def reads_user(self) -> bool:
        """Whether more is asked of the user than whether there is one."""
        return any(self.is_ours(node, "user") and not _asks(node, parent) for node, parent in self.nodes)


def _walk(tree: nodes.Template) -> Iterator[tuple[nodes.Node, nodes.Node]]:
    """Every node with its parent, in the order of the text; raises `TemplateMistake` where they nest too deeply."""
    rest: list[tuple[nodes.Node, nodes.Node, int]] = [(tree, tree, 0)]
    while rest:
        node, parent, depth = rest.pop()
        if depth > GREATEST_DEPTH:
            raise TemplateMistake(f"the template nests deeper than {GREATEST_DEPTH} levels", node.lineno)
        yield node, parent
        rest += [(child, node, depth + 1) for child in reversed(list(node.iter_child_nodes()))]


def _asks(node: nodes.Node, parent: nodes.Node) -> bool:
    """Whether a variable stands where only its truth, or a test of it, counts."""
    match parent:
        case nodes.If() | nodes.CondExpr():
            return parent.test is node
        case _:
            return isinstance(parent, (nodes.Not, nodes.Test))


def _check_kind(reading: _TemplateReading, node: nodes.Node) -> None:
    """Refuse statements that need other templates, or work that is not paid for."""
    message = _REFUSED.get(type(node))
    if message is None and isinstance(node, nodes.For) and node.recursive:
        message = "a loop cannot be recursive; write one loop within another"
    if message is None and isinstance(node, nodes.Pair) and not isinstance(node.key, nodes.Const):
        message = "the keys of a mapping are written out, not computed"
    if message is not None:
        raise TemplateMistake(message, node.lineno, reading.tokens.end(node.lineno))


def _check_parts(reading: _TemplateReading, node: nodes.Node) -> None:
    """Refuse filters and tests that do not exist."""
    known: Collection[str]
    match node:
        case nodes.Filter():
            kind, known = "filter", FILTERS
        case nodes.Test():
            kind, known = "test", TESTS
        case _:
            return
    if node.name not in known:
        start = reading.tokens.after(node.lineno) if kind == "test" else node.lineno
        raise TemplateMistake(
            f"unknown {kind} `{node.name}`", start, reading.tokens.end(start), _near(node.name, known)
        )


def _check_name(reading: _TemplateReading, node: nodes.Node) -> None:
    """Refuse variables that nothing gives a value."""
    if isinstance(node, nodes.Name) and node.name not in reading.known_names:
        end = reading.tokens.end(node.lineno)
        advice = _path_to(node.name, reading.groups) or _near(node.name, reading.known_names - _SPECIAL_NAMES)
        raise TemplateMistake(f"unknown variable `{node.name}`", node.lineno, end, advice)


def _check_field(reading: _TemplateReading, node: nodes.Node) -> None:
    """Refuse fields that our records do not have."""
    if not isinstance(node, nodes.Getattr):
        return
    record = RECORDS.get(_dotted(reading, node.node))
    if record is not None and node.attr not in record.FIELDS:
        start = reading.tokens.after(node.lineno)
        raise TemplateMistake(
            f"{record.NAME} has no field `{node.attr}`",
            start,
            reading.tokens.end(start),
            _near(node.attr, record.FIELDS) or _listed(record.FIELDS),
        )


def _check_text(reading: _TemplateReading, node: nodes.Node, parent: nodes.Node) -> None:
    """Refuse what a text does not have, and a method of one that is written without being called."""
    if not (isinstance(node, nodes.Getattr) and _is_text(reading, node.node)):
        return
    start = reading.tokens.after(node.lineno)
    end = reading.tokens.end(start)
    if node.attr in TEXT_METHODS:
        if isinstance(parent, nodes.Output | nodes.Filter | nodes.Concat):
            raise TemplateMistake(f"`{node.attr}` is not called", start, end, f"write `{node.attr}()`")
    elif not (isinstance(parent, nodes.Test) or (isinstance(parent, nodes.Filter) and parent.name in _DEFAULTS)):
        raise TemplateMistake(f"a text has no `{node.attr}`", start, end, _near(node.attr, TEXT_METHODS))


def _is_text(reading: _TemplateReading, node: nodes.Node) -> bool:
    """Whether a node is certainly a text: one of ours, a group, a header or a query parameter."""
    if isinstance(node, nodes.Getattr | nodes.Getitem) and _dotted(reading, node.node) in _LOOKUPS:
        return True
    return _dotted(reading, node) in _TEXTS


def _dotted(reading: _TemplateReading, node: nodes.Node) -> str:
    """What a chain of fields is called, `target.bucket`; empty where it does not begin with a variable of ours."""
    if isinstance(node, nodes.Getattr):
        return f"{_dotted(reading, node.node)}.{node.attr}"
    return node.name if isinstance(node, nodes.Name) and reading.is_ours(node, node.name) else ""


def _path_to(name: str, groups: Collection[str]) -> str | None:
    """A group or a field that is called so, where its name alone was written."""
    if name in groups:
        return f"did you mean `groups.{name}`?"
    record = next((path for path, record in RECORDS.items() if name in record.FIELDS), None)
    return f"did you mean `{record}.{name}`?" if record else None


def _near(word: str, words: Collection[str]) -> str | None:
    near = get_close_matches(word, words, n=1)
    return f"did you mean `{near[0]}`?" if near else None


def _listed(words: Collection[str]) -> str:
    return "it has " + ", ".join(f"`{word}`" for word in words)


_ENVIRONMENT = KeyEnvironment()
_LONGEST_MESSAGE = 200  # Python's may hold the values that it speaks of


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A template of Jinja2's language, in its sandbox, bounded; threads may share it."""

    text: str
    _facts: TemplateFacts = field(compare=False, repr=False)
    _compiled: jinja2.Template = field(compare=False, repr=False)

    @property
    def group_references(self) -> tuple[tuple[str, int, int], ...]:
        """The groups that it names by literals."""
        return self._facts.group_references

    @property
    def reads_user(self) -> bool:
        """Whether it asks more of the user than whether there is one."""
        return self._facts.reads_user

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """What it writes, without line ends and outer spaces; raises `RenderError`."""
        context = self._compiled.new_context({**variables(captures, data), KEY: JinjaBudget()})
        try:
            # Not Template.render: on an error it would rewrite the traceback by line numbers, which here are offsets.
            return trimmed("".join(self._compiled.root_render_func(context)))
        except RenderError:
            raise
        except RecursionError as error:
            raise LimitError("the template nests too deeply") from error
        except Exception as error:  # a template may raise whatever Python's operators and Jinja2's filters raise
            raise RenderError(backticked(str(error)[:_LONGEST_MESSAGE]) or type(error).__name__) from error


def compile_template(text: str, names: Mapping[str, int], group_count: int) -> JinjaTemplate:
    """The template of a text, for a source with these groups; raises `TemplateMistake`."""
    try:
        tree, tokens = parse(_ENVIRONMENT, text)
        facts = read(tree, tokens, names, group_count)
        compiled = _compiled(tree, tokens)
    except RecursionError as error:
        raise TemplateMistake("the template nests too deeply") from error
    return JinjaTemplate(text, facts, compiled)


def _compiled(tree: nodes.Template, tokens: TokenPlaces) -> jinja2.Template:
    try:
        code = _ENVIRONMENT.compile(instrument(tree))
    except jinja2.TemplateSyntaxError as error:
        raise TemplateMistake(backticked(str(error.message)), error.lineno, tokens.end(error.lineno)) from error
    except SyntaxError as error:
        # Python finds what Jinja2 does not look for: a name that stands twice among arguments.
        raise TemplateMistake(error.msg) from error
    return jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.make_globals(None))
