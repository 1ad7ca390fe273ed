"""A `jinja` template: Jinja2's sandbox with a list of allowed names and a budget for each rendering.

Jinja2 compiles a template to Python that asks its environment for every attribute, item, call, operator and text. The
environment allows what is listed here, and charges for it. Jinja2 does not ask it about loops, comparisons, slices and
`~`, so these are wrapped in filters before the tree is compiled. The names of the filters begin with a space, which no
template can spell.
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

from gotemplate.regexp.matching import Captures, Reference
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, TemplateMistake
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.jinja import filters
from tornado_proxy.templates.jinja.source import TemplateReading, parse, reworded
from tornado_proxy.templates.jinja.views import Lookup, Record, variables
from tornado_proxy.templates.limits import LONGEST_MESSAGE
from tornado_proxy.templates.template import trimmed


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
    filters.budget_of(context).spend(len(items) * steps)
    return items


@pass_context
def _read(context: Context, value: Any) -> Any:
    filters.charge_reading(filters.budget_of(context), value)
    return value


@pass_context
def _concatenated(context: Context, values: list[object]) -> str:
    texts = [filters.written(value) for value in values]
    filters.budget_of(context).text(sum(map(len, texts)))
    return "".join(texts)


HIDDEN_FILTERS: Mapping[str, Callable[..., Any]] = {" each": _each, " read": _read, " concatenated": _concatenated}
"""The filters that only an instrumented tree names."""

_ATTRIBUTES: Mapping[type, Collection[str]] = {
    str: filters.TEXT_METHODS,
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
    text = filters.written(value)
    filters.budget_of(context).text(len(text))
    return text


def _joined(pieces: Iterable[str]) -> str:
    size, kept, budget = 0, [], RenderBudget(filters.LIMITS)
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
        self.globals = dict(filters.GLOBALS)
        self.filters = {**filters.FILTERS, **HIDDEN_FILTERS}
        self.tests = dict(filters.TESTS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Returns an attribute of a value, if its type has it in templates."""
        if isinstance(obj, Record | Lookup):
            try:
                return obj.entry(attribute)
            except KeyError:
                return self.undefined(obj.missing(attribute))
        if attribute in _ATTRIBUTES.get(type(obj), ()) or (isinstance(obj, Namespace) and attribute[:1] != "_"):
            with suppress(AttributeError):
                return getattr(obj, attribute)
        return self.getitem(obj, attribute) if isinstance(obj, dict) else self._nothing(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Returns an item of a text or list by position, of a mapping by key, of anything else as an attribute."""
        if isinstance(obj, Record | Lookup | Namespace):
            return self.getattr(obj, filters.written(argument))
        # A tuple as a key would be hashed, whatever is nested in it.
        if isinstance(obj, (str, list, tuple, dict)) and not isinstance(argument, tuple):
            with suppress(LookupError, TypeError):
                return obj[argument]
        return self._nothing(obj, argument)

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls a macro, a function or a method; raises `SecurityError` for anything else."""
        budget = filters.budget_of(context)
        budget.spend()
        for name in _JINJA_ARGUMENTS:
            kwargs.pop(name, None)
        if isinstance(obj, Macro):
            return context.call(obj, *args, **kwargs)
        filters.charge_reading(budget, args, kwargs)
        if isinstance(obj, BuiltinMethodType) and isinstance(obj.__self__, str):
            size = filters.TEXT_METHODS[obj.__name__]
            filters.charge_reading(budget, obj.__self__)
            budget.text(size(obj.__self__, *args, **kwargs) if size else 0)
        elif not _is_callable(obj):
            raise SecurityError(f"{filters.described(obj)} cannot be called")
        result = context.call(obj, *args, **kwargs)
        filters.charge_result(budget, result)
        return result

    def _nothing(self, obj: object, name: object) -> Undefined:
        """Returns an undefined value, whose message does not write out the two values: they may be nested."""
        missing = f"`{name}`" if isinstance(name, (str, int)) else f"item for {filters.described(name)}"
        return self.undefined(f"{filters.described(obj)} has no {missing}")

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Returns the result of an operator."""
        return filters.apply(filters.budget_of(context), operator, left, right)


def _is_callable(obj: Any) -> bool:
    """Returns whether a template may call something that is not a macro."""
    if isinstance(obj, (BuiltinMethodType, MethodType)):
        return obj.__name__ in _ATTRIBUTES.get(type(obj.__self__), ())
    return any(obj is function for function in filters.GLOBALS.values())


_ENVIRONMENT = KeyEnvironment()


@dataclass(frozen=True, slots=True)
class JinjaTemplate:
    """A compiled template; threads may share it."""

    text: str
    group_references: tuple[Reference, ...] = field(compare=False, repr=False)
    reads_user: bool = field(compare=False, repr=False)
    _compiled: jinja2.Template = field(compare=False, repr=False)

    def render(self, captures: Captures, data: TargetKeyRewriteData) -> str:
        """Returns the output without line ends and outer spaces; raises `RenderError`."""
        budget = {filters.BUDGET: RenderBudget(filters.LIMITS)}
        context = self._compiled.new_context(variables(captures, data) | budget)
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
        tree, tokens = parse(_ENVIRONMENT, text)
        reading = TemplateReading(tree, tokens)
        reading.check(names, group_count)
        references, reads_user = tuple(reading.group_references()), reading.reads_user()
        code = _ENVIRONMENT.compile(instrument(tree))
    except RecursionError as error:
        raise TemplateMistake("the template nests too deeply") from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateMistake(reworded(error.message)[0], error.lineno, tokens.end(error.lineno)) from error
    except SyntaxError as error:
        # Python finds what Jinja2 does not look for, such as a repeated name among arguments.
        raise TemplateMistake(error.msg) from error
    compiled = jinja2.Template.from_code(_ENVIRONMENT, code, _ENVIRONMENT.make_globals(None))
    return JinjaTemplate(text, references, reads_user, compiled)
