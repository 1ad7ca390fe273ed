"""A `jinja` template: Jinja2's sandbox, narrowed and bounded, and a rendering for each key that its rewrite matched.

Jinja2 compiles a template to Python that asks its environment for every attribute, item, call, operator and text. Only
what is allowed here by name can be reached, and it is charged. Jinja2 does not ask where it loops, compares, slices or
joins texts by `~`: the tree is changed there, before it is compiled, into filters whose names begin with a space, so
that no template can spell them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import BuiltinMethodType, MethodType
from typing import Any

import jinja2
from jinja2 import StrictUndefined, Undefined, nodes, pass_context
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.jinja.checks import TemplateFacts, check
from tornado_proxy.templates.jinja.filters import (
    FILTERS,
    GLOBALS,
    KEY,
    LIMITS,
    TESTS,
    TEXT_METHODS,
    apply,
    budget_of,
    described,
    keep,
    read,
    written,
)
from tornado_proxy.templates.jinja.source import TokenPlaces, backticked, parse
from tornado_proxy.templates.jinja.views import View, variables
from tornado_proxy.templates.template import (
    LimitError,
    RenderBudget,
    RenderError,
    TargetKeyRewriteData,
    TemplateMistake,
    trimmed,
)


def instrument(tree: nodes.Template) -> nodes.Template:
    """The tree with a filter around all work that Jinja2 does without asking; changes the tree itself."""
    for node in list(tree.find_all((nodes.For, nodes.Compare, nodes.Concat, nodes.Getitem))):
        match node:
            case nodes.For():
                steps = 1 + sum(1 for _ in node.find_all(nodes.Node))
                node.iter = _hidden(" each", node.iter, nodes.Const(steps))
            case nodes.Compare():
                node.expr = _hidden(" read", node.expr)
                for operand in node.ops:
                    operand.expr = _hidden(" read", operand.expr)
            case nodes.Concat():
                node.nodes = [_hidden(" concatenated", nodes.List(node.nodes, lineno=node.lineno))]
            case nodes.Getitem(arg=nodes.Slice()):
                node.node = _hidden(" read", node.node)
    tree.set_environment(tree.environment)  # type: ignore[arg-type]  # the parser has set it
    return tree


def _hidden(name: str, node: nodes.Node, *args: nodes.Expr) -> nodes.Filter:
    return nodes.Filter(node, name, list(args), [], None, None, lineno=node.lineno)


@pass_context
def _each(context: Context, value: Any, steps: int) -> Any:
    """What a loop runs over; all rounds are paid for before the first."""
    items = value if isinstance(value, (str, list, tuple, dict)) else list(value)
    budget_of(context).spend(len(items) * steps)
    return items


@pass_context
def _read(context: Context, value: Any) -> Any:
    read(budget_of(context), value)
    return value


@pass_context
def _concatenated(context: Context, values: list[object]) -> str:
    texts = [written(value) for value in values]
    budget_of(context).text(sum(map(len, texts)))
    return "".join(texts)


HIDDEN_FILTERS: Mapping[str, Callable[..., Any]] = {" each": _each, " read": _read, " concatenated": _concatenated}
"""The filters that only the changed tree names."""


_ATTRIBUTES: Mapping[type, Collection[str]] = {
    str: TEXT_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    LoopContext: frozenset(
        (
            *("cycle", "depth", "first", "index", "index0", "last", "length"),
            *("nextitem", "previtem", "revindex", "revindex0"),
        )
    ),
}
"""What a template may read of values that are not ours; their methods may be called."""

# With these a call would run in a context of variables that the template chose, the budget among them.
_JINJA_ARGUMENTS = ("_loop_vars", "_block_vars")


@pass_context
def _finalize(context: Context, value: object) -> str:
    """The text of what stands between `{{` and `}}`."""
    text = written(value)
    budget_of(context).text(len(text))
    return text


def _joined(pieces: Iterable[str]) -> str:
    """What a template or a part of it writes, as long as it is no longer than any other text."""
    size, kept = 0, []
    for piece in pieces:
        size += len(piece)
        if size > LIMITS.text:
            RenderBudget(LIMITS).fit(size)
        kept.append(piece)
    return "".join(kept)


class KeyEnvironment(ImmutableSandboxedEnvironment):
    """The one environment of all `jinja` templates; it holds no state of its own."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})
    concat = staticmethod(_joined)

    def __init__(self) -> None:
        super().__init__(
            undefined=StrictUndefined,
            finalize=_finalize,
            keep_trailing_newline=True,
            optimized=False,  # constants are evaluated at rendering, where they are paid for
            cache_size=0,
        )
        self.globals = dict(GLOBALS)
        self.filters = {**FILTERS, **HIDDEN_FILTERS}
        self.tests = dict(TESTS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """The attribute of a value, from those that its kind has in templates."""
        if isinstance(obj, View):
            return self._entry(obj, attribute)
        if attribute in _ATTRIBUTES.get(type(obj), ()) or (isinstance(obj, Namespace) and attribute[:1] != "_"):
            with suppress(AttributeError):
                return getattr(obj, attribute)
        return self.getitem(obj, attribute) if isinstance(obj, dict) else self._nothing(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The item of a value: of a text or list by position, of a mapping by key, else as an attribute."""
        if isinstance(obj, (View, Namespace)):
            return self.getattr(obj, written(argument))
        # A tuple as a key would be hashed, whatever is nested in it.
        if isinstance(obj, (str, list, tuple, dict)) and not isinstance(argument, tuple):
            with suppress(LookupError, TypeError):
                return obj[argument]
        return self._nothing(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call a macro, a function, or a method of a text; nothing else can be called."""
        budget = budget_of(context)
        budget.spend()
        for name in _JINJA_ARGUMENTS:
            kwargs.pop(name, None)
        if isinstance(obj, Macro):
            return context.call(obj, *args, **kwargs)
        read(budget, args, kwargs)
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str):
            size = TEXT_METHODS[obj.__name__]
            read(budget, obj.__self__)
            budget.text(size(obj.__self__, *args, **kwargs) if size else 0)
        elif isinstance(obj, Undefined) or not _is_callable(obj):
            raise SecurityError(str(obj) if isinstance(obj, Undefined) else f"{described(obj)} cannot be called")
        result = context.call(obj, *args, **kwargs)
        keep(budget, result)
        return result

    def _entry(self, view: View, name: str) -> Any:
        try:
            return view.entry(name)
        except KeyError:
            return self.undefined(view.lack(name))

    def _nothing(self, obj: object, name: object) -> Undefined:
        """What is undefined, with a message that does not write out how either value is nested."""
        missing = f"`{name}`" if isinstance(name, (str, int)) else f"item for {described(name)}"
        return self.undefined(f"{described(obj)} has no {missing}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator between two values."""
        return apply(budget_of(context), operator, left, right)


def _is_callable(obj: Any) -> bool:
    """Whether something is a function of ours, or a method that templates may have."""
    if isinstance(obj, (BuiltinMethodType, MethodType)):
        return obj.__name__ in _ATTRIBUTES.get(type(obj.__self__), ())
    return any(obj is function for function in GLOBALS.values())


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
        context = self._compiled.new_context({**variables(captures, data), KEY: RenderBudget(LIMITS)})
        try:
            # Not Template.render: on an error it would rewrite the traceback by line numbers, which here are offsets.
            return trimmed(_joined(self._compiled.root_render_func(context)))
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
        facts = check(tree, tokens, names, group_count)
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
