"""What the text of a `jinja` template shows at load: the groups that it names, whether it needs a user, mistakes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from jinja2 import nodes

from tornado_proxy.templates.jinja.filters import FILTERS, GLOBALS, TESTS, TEXT_METHODS
from tornado_proxy.templates.jinja.source import TokenPlaces
from tornado_proxy.templates.jinja.views import NAMES, RECORDS
from tornado_proxy.templates.template import TemplateMistake, group_number, refuse

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


def check(tree: nodes.Template, tokens: TokenPlaces, names: Mapping[str, int], group_count: int) -> TemplateFacts:
    """The facts of a template for a source with these groups; raises `TemplateMistake` for its mistakes."""
    reading = _TemplateReading(tree, tokens, names)
    references = tuple(reading.group_references())
    refuse([*_mistakes(reading), *_unknown_groups(references, names, group_count)])
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

    def mistake(self, message: str, start: int, advice: str | None) -> TemplateMistake:
        """A mistake of the token that begins at an offset."""
        return TemplateMistake(message, start, self.tokens.end(start), advice)

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


def _mistakes(reading: _TemplateReading) -> Iterator[TemplateMistake]:
    """What is wrong with the parts of a template, its groups excepted."""
    for node, parent in reading.nodes:
        if (message := _refusal(node)) is not None:
            yield TemplateMistake(message, node.lineno, reading.tokens.end(node.lineno))
        match node:
            case nodes.Filter() if node.name not in FILTERS:
                yield reading.mistake(f"unknown filter `{node.name}`", node.lineno, _near(node.name, FILTERS))
            case nodes.Test() if node.name not in TESTS:
                start = reading.tokens.after(node.lineno)
                yield reading.mistake(f"unknown test `{node.name}`", start, _near(node.name, TESTS))
            case nodes.Name() if node.name not in reading.known_names:
                near = _near(node.name, reading.known_names - _SPECIAL_NAMES)
                advice = _path_to(node.name, reading.groups) or near
                yield reading.mistake(f"unknown variable `{node.name}`", node.lineno, advice)
            case nodes.Getattr():
                yield from _mistakes_of_field(reading, node, parent)


def _refusal(node: nodes.Node) -> str | None:
    """Why a template cannot have a node: it needs other templates, or makes work that is not paid for."""
    if isinstance(node, nodes.For) and node.recursive:
        return "a loop cannot be recursive; write one loop within another"
    if isinstance(node, nodes.Pair) and not isinstance(node.key, nodes.Const):
        return "the keys of a mapping are written out, not computed"
    return _REFUSED.get(type(node))


def _mistakes_of_field(reading: _TemplateReading, node: nodes.Getattr, parent: nodes.Node) -> Iterator[TemplateMistake]:
    """Fields that our records or a text do not have, and a method of a text that is not called."""
    start, name = reading.tokens.after(node.lineno), node.attr
    record = RECORDS.get(_dotted(reading, node.node))
    if record is not None and name not in record.FIELDS:
        advice = _near(name, record.FIELDS) or "it has " + ", ".join(f"`{field}`" for field in record.FIELDS)
        yield reading.mistake(f"{record.NAME} has no field `{name}`", start, advice)
    if not _is_text(reading, node.node):
        return
    if name in TEXT_METHODS:
        if isinstance(parent, nodes.Output | nodes.Filter | nodes.Concat):
            yield reading.mistake(f"`{name}` is not called", start, f"write `{name}()`")
    elif not (isinstance(parent, nodes.Test) or (isinstance(parent, nodes.Filter) and parent.name in _DEFAULTS)):
        yield reading.mistake(f"a text has no `{name}`", start, _near(name, TEXT_METHODS))


def _unknown_groups(
    references: Iterable[Reference], names: Mapping[str, int], group_count: int
) -> Iterator[TemplateMistake]:
    for name, start, end in references:
        number = group_number(name)
        if name not in names and (number is None or number > group_count):
            yield TemplateMistake(f"the source has no group `{name}`", start, end, _near(name, names))


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
