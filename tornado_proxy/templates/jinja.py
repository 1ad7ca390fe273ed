"""A `jinja` template: Jinja2's sandbox with a list of allowed names and a budget for each rendering.

Jinja2 compiles a template to Python that asks its environment for every attribute, item, call, operator and text. The
environment allows what is listed here, and charges for it. Jinja2 does not ask it about loops, comparisons, slices and
`~`, so these are wrapped in filters before the tree is compiled. The names of the filters begin with a space, which no
template can spell.

A text is parsed by Jinja2, and checked before anything is rendered. Jinja2 counts lines; here the "line number" of a
token, and so of a node or a syntax error, is its offset.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import isinf
from types import BuiltinMethodType, MethodType
from typing import Any

import jinja2
from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.lexer import TokenStream
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from gotemplate.regexp.matching import Captures, Reference, group_number
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, TemplateMistake, help_for_unknown, refuse
from tornado_proxy.templates import jinja_values
from tornado_proxy.templates.limits import DEEPEST_TEMPLATE, LONGEST_MESSAGE, LONGEST_NUMBER, MOST_TEMPLATE_NAMES
from tornado_proxy.templates.template import TargetKeyRewriteData, trimmed, unknown_group

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
    """A parsed template: its nodes with their parents, the names that it sets, and the places of its tokens.

    Raises `TemplateMistake` for a syntax error, and for too many nodes or names.
    """

    def __init__(self, environment: Environment, text: str) -> None:
        # Jinja2 makes one character of the two; both are line ends that no key keeps.
        self._text = text.replace("\r\n", "\n\n")
        tokens = [*_located(environment, self._text)]
        places = [(start, start + len(value)) for start, kind, value in tokens if kind not in _SPACES]
        self._starts, self._ends = [start for start, _ in places], [end for _, end in places]
        parser = Parser(environment, "")
        parser.stream = TokenStream(environment.lexer.wrap(iter(tokens), None, None), None, None)
        try:
            self.tree = parser.parse()
        except TemplateSyntaxError as error:
            at_end = "end of template" in str(error.message)
            offset = len(text) if at_end else error.lineno
            message, hint = reworded(error.message)
            raise TemplateMistake(message, offset, None if at_end else self.end(offset), hint) from error
        self._nodes = tuple(_walk(self.tree))
        set_at: dict[str, int] = {}
        for node, _ in self._nodes:
            if isinstance(node, nodes.Macro) or (isinstance(node, nodes.Name) and node.ctx != "load"):
                set_at.setdefault(node.name, node.lineno)
        if len(set_at) > MOST_TEMPLATE_NAMES:
            start = [*set_at.values()][MOST_TEMPLATE_NAMES]
            raise TemplateMistake(f"the template sets more than {MOST_TEMPLATE_NAMES} names", start, self.end(start))
        self._own_names = frozenset(set_at)

    def end(self, start: int) -> int:
        """Returns the end of the token that begins at an offset."""
        return self._ends[bisect_right(self._starts, start) - 1] if self._starts else start

    def _after(self, start: int) -> int:
        """Returns the start of the token after the one at an offset."""
        return self._starts[min(bisect_right(self._starts, start), len(self._starts) - 1)]

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
                    yield node.attr, node.node.lineno, self.end(self._after(node.lineno))
                case nodes.Getitem(arg=nodes.Const() as constant) if self._dotted(node.node) == "groups":
                    closing = self._after(constant.lineno)
                    bracketed = self._text.startswith("]", closing)
                    end = closing + 1 if bracketed else self.end(constant.lineno)
                    yield str(constant.value), node.node.lineno, end

    def reads_user(self) -> bool:
        """Returns whether the template uses more of the user than whether there is one."""
        return any(
            isinstance(node, nodes.Name) and self._dotted(node) == "user" and not _is_condition(node, parent)
            for node, parent in self._nodes
        )

    def _mistakes(self, groups: Collection[str]) -> Iterator[TemplateMistake]:
        known_names = self._own_names.union(jinja_values.NAMES, jinja_values.GLOBALS)
        allowed_names = known_names | _SPECIAL_NAMES
        for node, _ in self._nodes:
            start, message, hint = node.lineno, _refusal(node), None
            match node:
                case nodes.Filter() if node.name not in jinja_values.FILTERS:
                    message, hint = f"unknown filter `{node.name}`", help_for_unknown(node.name, jinja_values.FILTERS)
                case nodes.Test() if node.name not in jinja_values.TESTS:
                    start = self._after(start)
                    message, hint = f"unknown test `{node.name}`", help_for_unknown(node.name, jinja_values.TESTS)
                case nodes.Name() if node.name not in allowed_names:
                    message = f"unknown variable `{node.name}`"
                    hint = _path_to(node.name, groups) or help_for_unknown(node.name, known_names)
                    hint = hint or f"there are {', '.join(map('`{}`'.format, jinja_values.NAMES))}"
                case nodes.Getattr() if node.attr not in jinja_values.RECORDS.get(
                    record := self._dotted(node.node), (node.attr,)
                ):
                    start, fields = self._after(start), jinja_values.RECORDS[record]
                    message = f"`{record}` has no field `{node.attr}`"
                    hint = help_for_unknown(node.attr, fields) or f"it has {', '.join(map('`{}`'.format, fields))}"
            if message is not None:
                yield TemplateMistake(message, start, self.end(start), hint)

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
    record = (
        "groups"
        if name in groups
        else next((path for path, fields in jinja_values.RECORDS.items() if name in fields), None)
    )
    return f"did you mean `{record}.{name}`?" if record else None


def instrument(tree: nodes.Template) -> nodes.Template:
    """Wraps all work that Jinja2 does without asking the environment; changes and returns the tree."""
    for node in list(tree.find_all((nodes.For, nodes.Compare, nodes.Concat, nodes.Getitem))):
        match node:
            case nodes.For():
                steps = 1 + sum(1 for _ in node.find_all(nodes.Node))
                node.iter = _wrapped(" each", node.iter, nodes.Const(steps))
            case nodes.Compare():
                node.expr = _wrapped(" read", node.expr)
                for operand in node.ops:
                    operand.expr = _wrapped(" read", operand.expr)
            case nodes.Concat():
                node.nodes = [_wrapped(" concatenated", nodes.List(node.nodes, lineno=node.lineno))]
            case nodes.Getitem(arg=nodes.Slice()):
                node.node = _wrapped(" read", node.node)
    tree.set_environment(tree.environment)  # type: ignore[arg-type]  # the parser has set it
    return tree


def _wrapped(name: str, node: nodes.Node, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


@pass_context
def _each(context: Context, value: Any, steps: int) -> Any:
    """Returns the items of a loop after charging for all its rounds."""
    items = value if isinstance(value, (str, list, tuple, dict)) else list(value)
    jinja_values.budget_of(context).spend(len(items) * steps)
    return items


@pass_context
def _read(context: Context, value: Any) -> Any:
    jinja_values.charge_reading(jinja_values.budget_of(context), value)
    return value


@pass_context
def _concatenated(context: Context, values: list[object]) -> str:
    texts = [jinja_values.written(value) for value in values]
    jinja_values.budget_of(context).text(sum(map(len, texts)))
    return "".join(texts)


HIDDEN_FILTERS: Mapping[str, Callable[..., Any]] = {" each": _each, " read": _read, " concatenated": _concatenated}
"""The filters that only an instrumented tree names."""

_ATTRIBUTES: Mapping[type, Collection[str]] = {
    str: jinja_values.TEXT_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    LoopContext: frozenset(
        (
            *("cycle", "depth", "first", "index", "index0", "last", "length"),
            *("nextitem", "previtem", "revindex", "revindex0"),
        )
    ),
}
"""The attributes that a template may read of values of Python and Jinja2; methods may be called."""

# With these, a call would run with variables of the template's choice, the budget among them.
_JINJA_ARGUMENTS = ("_loop_vars", "_block_vars")


@pass_context
def _finalize(context: Context, value: object) -> str:
    """Returns the text of an expression between `{{` and `}}`."""
    text = jinja_values.written(value)
    budget = jinja_values.budget_of(context)
    budget.text(len(text))
    return budget.inserted(text)


def _joined(pieces: Iterable[str]) -> str:
    size, kept, budget = 0, [], RenderBudget(jinja_values.LIMITS)
    for piece in pieces:
        size += len(piece)
        budget.check_size(size)
        kept.append(piece)
    return "".join(kept)


class KeyEnvironment(ImmutableSandboxedEnvironment):
    """The environment of all `jinja` templates; it has no state."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})
    concat = staticmethod(_joined)

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=_finalize,
            keep_trailing_newline=True,
            optimized=False,  # constants are evaluated at rendering, where there is a budget to charge
            cache_size=0,
        )
        self.globals = dict(jinja_values.GLOBALS)
        self.filters = {**jinja_values.FILTERS, **HIDDEN_FILTERS}
        self.tests = dict(jinja_values.TESTS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Returns an attribute of a value, if its type has it in templates."""
        if isinstance(obj, jinja_values.Record | jinja_values.Lookup):
            try:
                return obj.entry(attribute)
            except KeyError:
                return self.undefined(obj.missing(attribute), exc=obj.absent)  # type: ignore[arg-type] # any exception can be raised
        if attribute in _ATTRIBUTES.get(type(obj), ()) or (isinstance(obj, Namespace) and attribute[:1] != "_"):
            with suppress(AttributeError):
                return getattr(obj, attribute)
        return self.getitem(obj, attribute) if isinstance(obj, dict) else self._nothing(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Returns an item of a text or list by position, of a mapping by key, of anything else as an attribute."""
        if isinstance(obj, jinja_values.Record | jinja_values.Lookup | Namespace):
            return self.getattr(obj, jinja_values.written(argument))
        # A tuple as a key would be hashed, whatever is nested in it.
        if isinstance(obj, (str, list, tuple, dict)) and not isinstance(argument, tuple):
            with suppress(LookupError, TypeError):
                return obj[argument]
        return self._nothing(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls a macro, a function or a method; raises `SecurityError` for anything else."""
        budget = jinja_values.budget_of(context)
        budget.spend()
        for name in _JINJA_ARGUMENTS:
            kwargs.pop(name, None)
        if isinstance(obj, Macro):
            return context.call(obj, *args, **kwargs)
        jinja_values.charge_reading(budget, args, kwargs)
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str):
            size = jinja_values.TEXT_METHODS[obj.__name__]
            jinja_values.charge_reading(budget, obj.__self__)
            budget.text(size(obj.__self__, *args, **kwargs) if size else 0)
        else:
            is_method = isinstance(obj, (BuiltinMethodType, MethodType))
            is_listed = is_method and obj.__name__ in _ATTRIBUTES.get(type(obj.__self__), ())
            if not is_listed and not any(obj is function for function in jinja_values.GLOBALS.values()):
                raise SecurityError(f"{jinja_values.described(obj)} cannot be called")
        result = context.call(obj, *args, **kwargs)
        jinja_values.charge_result(budget, result)
        return result

    def _nothing(self, obj: object, name: object) -> Undefined:
        """Returns an undefined value, whose message does not write out the two values: they may be nested."""
        missing = f"`{name}`" if isinstance(name, (str, int)) else f"item for {jinja_values.described(name)}"
        return self.undefined(f"{jinja_values.described(obj)} has no {missing}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Returns the result of an operator."""
        return jinja_values.apply(jinja_values.budget_of(context), operator, left, right)


_ENVIRONMENT = KeyEnvironment()


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A compiled template; threads may share it."""

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    reads_user: bool = field(compare=False, repr=False)
    _compiled: jinja2.Template = field(compare=False, repr=False)

    def render(self, captures: Captures, data: TargetKeyRewriteData, *, marked: bool = False) -> str:
        """Returns the output without line ends and outer spaces; raises `RenderError`."""
        budget = {jinja_values.BUDGET: RenderBudget(jinja_values.LIMITS, marked=marked)}
        context = self._compiled.new_context(jinja_values.variables(captures, data) | budget)
        try:
            # Not Template.render: on an error it would rewrite the traceback by line numbers, which here are offsets.
            return trimmed(_joined(self._compiled.root_render_func(context)))
        except RenderError:
            raise
        except RecursionError as error:
            raise LimitError("the template nests too deeply") from error
        except Exception as error:  # Python's operators and Jinja2's filters raise errors of many types
            raise RenderError(reworded(str(error)[:LONGEST_MESSAGE])[0] or type(error).__name__) from error


def compile_template(text: str, names: Mapping[str, int], group_count: int) -> JinjaTemplate:
    """Compiles a template for a source with these groups; raises `TemplateMistake`."""
    try:
        reading = TemplateReading(_ENVIRONMENT, text)
        reading.check(names, group_count)
        references, reads_user = tuple(reading.group_references()), reading.reads_user()
        code = _ENVIRONMENT.compile(instrument(reading.tree))
    except RecursionError as error:
        raise TemplateMistake("the template nests too deeply") from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateMistake(reworded(error.message)[0], error.lineno, reading.end(error.lineno)) from error
    except SyntaxError as error:
        # Python finds what Jinja2 does not look for, such as a repeated name among arguments.
        raise TemplateMistake(error.msg) from error
    compiled = jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.make_globals(None))
    return JinjaTemplate(text, references, reads_user, compiled)
