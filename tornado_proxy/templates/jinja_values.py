"""What templates in Jinja read and call: variables, operators, methods, filters and tests.

The variables are records, whose fields are fixed, and lookups, whose names come from the request. A lookup has no
attributes of its own: `groups.items` is the group `items`. A group that took no part is empty.

All work is charged to the budget of a rendering. Jinja2's filters are here, but for filters that are random, depend on
the time or the locale, make markup, lay out pages of text (`indent`, `wordwrap`), or read attributes by computed names
(`attr`, `groupby`).
"""

from __future__ import annotations

import operator as python
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from types import BuiltinMethodType
from typing import Any, cast

from jinja2 import Undefined, filters, pass_context, tests
from jinja2.exceptions import UndefinedError
from jinja2.runtime import Context, LoopContext, Macro
from jinja2.utils import Namespace

from gotemplate.regexp.matching import Captures, group_number
from gotemplate.template.errors import LimitError, RenderBudget, RenderError, RenderLimits
from tornado_proxy.templates.limits import FLOAT_DIGITS, KEY_STEPS, KEY_TEXT, LONGEST_CONVERSION, MOST_BITS
from tornado_proxy.templates.template import MissingUserError, MissingValueError, TargetKeyRewriteData


class Record:
    """A value with the fields that `RECORDS` has for its name."""

    absent: type[Exception] = UndefinedError  # what is raised by a name without a value, once it is used

    def __init__(self, name: str, data: Any) -> None:
        self.name = name
        self._fields = RECORDS[name]
        self._data = data

    def entry(self, name: str) -> Any:
        """Returns the value of a field; raises `KeyError` if there is none."""
        return self._fields[name](self._data)

    def missing(self, name: str) -> str:
        """Returns the message for an unknown field."""
        return f"`{self.name}` has no field `{name}`"


class NoUser(Record):
    """The user if nobody is signed in: equal to none and false, until something is read from it."""

    __hash__ = None  # type: ignore[assignment]  # it equals None, but is not None

    def entry(self, name: str) -> Any:
        """Raises `MissingUserError`."""
        raise MissingUserError(f"the template reads `user.{name}`, but nobody is signed in")

    def __bool__(self) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, NoUser)


class Lookup:
    """Values by name; the first of a name counts. Names that `fold` makes equal are one; messages call one a `kind`."""

    absent: type[Exception] = MissingValueError

    def __init__(
        self, name: str, kind: str, pairs: Iterable[tuple[str, str]], fold: Callable[[str], str] = str
    ) -> None:
        self.name = name
        self._kind = kind
        self._fold = fold
        self._values: dict[str, str] = {}
        for each, value in pairs:
            self._values.setdefault(fold(each), value)

    def entry(self, name: str) -> str:
        """Returns the value of a name; raises `KeyError` if there is none."""
        return self._values[self._fold(name)]

    def missing(self, name: str) -> str:
        """Returns the message for a name without a value."""
        return f"missing {self._kind} `{name}`"

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.entry(name) is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class GroupLookup(Lookup):
    """The groups of a match by name and by number; 0 is the whole match."""

    absent = UndefinedError

    def __init__(self, captures: Captures) -> None:
        self._groups = captures.groups
        named = ((name, captures.groups[number] or "") for name, number in captures.names.items())
        super().__init__("groups", "group", named)

    def entry(self, name: str) -> str:
        """Returns the text of a group; raises `KeyError` if there is none."""
        number = None if name in self._values else group_number(name)
        if number is None or number >= len(self._groups):
            return super().entry(name)
        return self._groups[number] or ""


def _plain(*names: str) -> dict[str, Callable[[Any], Any]]:
    """Returns fields that have the name of the data's attribute."""
    return {name: attrgetter(name) for name in names}


RECORDS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "user": _plain("username", "kind", "email", "groups", "name", "given_name", "family_name", "email_verified"),
    "request": {
        **_plain("method", "host", "path", "scheme", "remote_address", "public_path"),
        "query": lambda request: Lookup("request.query", "query parameter", request.query),
        "headers": lambda request: Lookup("request.headers", "header", request.headers, str.lower),
    },
    "target": {
        "name": attrgetter("name"),
        "bucket": lambda target: Record("target.bucket", target),
        "mount": lambda target: Record("target.mount", target),
    },
    "target.bucket": {name: attrgetter(f"bucket_{name}") for name in ("name", "prefix", "region")},
    "target.mount": {"host": attrgetter("mount_host"), "path": attrgetter("mount_paths")},
}
"""The fields of each record; a misspelt one is found at load."""

NAMES = ("user", "request", "target", "key", "groups")  # the variables of every template


def variables(captures: Captures, data: TargetKeyRewriteData) -> dict[str, Any]:
    """Returns the variables of one rendering."""
    return {
        "user": NoUser("user", None) if data.user is None else Record("user", data.user),
        "request": Record("request", data.request),
        "target": Record("target", data.target),
        "key": data.key,
        "groups": GroupLookup(captures),
    }


LIMITS = RenderLimits(KEY_STEPS, KEY_TEXT, items=KEY_TEXT, unit="characters")
"""The limits of one rendering of a key."""

BUDGET = " budget"  # the name of the budget among a template's variables; no template can spell it


def budget_of(context: Context) -> RenderBudget:
    """Returns the budget of a rendering."""
    budget: RenderBudget = context.parent[BUDGET]
    return budget


def charge_reading(budget: RenderBudget, *values: object) -> None:
    """Charges for values and all that they hold; a list that stands in several places counts in each."""
    rest: list[Any] = list(values)
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            budget.spend(1 + (len(value) >> 4))
        elif isinstance(value, (list, tuple, dict)):
            budget.spend(1 + len(value))
            rest.extend(value.values() if isinstance(value, dict) else value)


def charge_result(budget: RenderBudget, value: object) -> None:
    """Charges for a result."""
    if isinstance(value, str):
        budget.text(len(value))
    elif isinstance(value, (list, tuple)):
        budget.items(len(value))


_KINDS: Mapping[type, str] = {
    str: "a text",
    bool: "a truth value",
    int: "a number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "a mapping",
    type(None): "`none`",
    Macro: "a macro",
    Namespace: "a namespace",
    LoopContext: "`loop`",
    BuiltinMethodType: "a method that is not called",
}


def written(value: object) -> str:
    """Returns the text of a text, a number or a truth value; raises `RenderError` for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float, Undefined)):
        return str(value)  # raises if it is undefined, with its name
    raise RenderError(f"{described(value)} cannot be written as text")


def described(value: object) -> str:
    """Returns the kind of a value for messages; raises `UndefinedError` if it is undefined."""
    if isinstance(value, Undefined):
        str(value)
    if isinstance(value, Record | Lookup):
        return f"`{value.name}`"
    return _KINDS.get(type(value), "this value")


Size = Callable[..., int]

# A width or precision of three digits or more, or one that is an argument.
_WIDE = re.compile(r"%(?:\([^)]*\))?[-#0 +]*(?:\*|\d{3}|\d*\.(?:\*|\d{3}))")


def padded(text: object, width: int = 80, *_: object) -> int:
    """Returns the size of a text that is padded to a width."""
    return max(len(written(text)), width)


def joined(items: Iterable[object], d: object = "") -> int:
    """Returns the largest size of texts that are joined by `d`, which is Jinja2's name for it."""
    sizes = [len(written(item)) for item in items]
    return sum(sizes) + len(sizes) * len(written(d))


def replaced(text: object, old: object, new: object, count: int | None = None) -> int:
    """Returns the largest size of a text in which `new` replaces `old`."""
    times = written(text).count(written(old))
    return len(written(text)) + (times if count is None or count < 0 else min(times, count)) * len(written(new))


def formatted(text: str, values: object) -> int:
    """Returns the largest size of a text with `%` conversions, if each writes the longest value."""
    if wide := _WIDE.search(text):
        raise LimitError(f"`{wide[0]}` asks for more than 99 characters")
    parts = values.values() if isinstance(values, dict) else values if isinstance(values, tuple) else (values,)
    longest = max((len(written(part)) for part in parts), default=0)
    return len(text) + text.count("%") * max(longest, LONGEST_CONVERSION)


TEXT_METHODS: Mapping[str, Size | None] = {
    **dict.fromkeys(
        (
            *("capitalize", "casefold", "lower", "swapcase", "title", "upper"),
            *("count", "endswith", "find", "rfind", "startswith"),
            *("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "isupper"),
            *("lstrip", "removeprefix", "removesuffix", "rstrip", "strip"),
            *("partition", "rpartition", "rsplit", "split", "splitlines"),
        )
    ),
    **dict.fromkeys(("center", "ljust", "rjust", "zfill"), padded),
    "join": lambda separator, items: joined(items, separator),
    "replace": replaced,
}
"""The methods of texts; the size is the length of a result that may be longer than what was read."""


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": python.add,
    "-": python.sub,
    "*": python.mul,
    "/": python.truediv,
    "//": python.floordiv,
    "**": python.pow,
    "%": python.mod,
}


def apply(budget: RenderBudget, operator: str, left: Any, right: Any) -> Any:
    """Returns the result of an operator; raises `LimitError` before it makes one that is too large."""
    budget.spend()
    if isinstance(left, (int, float)) and isinstance(right, (int, float)):
        return _calculate(operator, left, right)
    match operator, left, right:
        case "+", str(), str():
            budget.text(len(left) + len(right))
        case "+", list() | tuple(), list() | tuple():
            budget.items(len(left) + len(right))
        case ("*", str() as text, int() as times) | ("*", int() as times, str() as text):
            budget.text(len(text) * max(times, 0))
        case ("*", list() | tuple() as items, int() as times) | ("*", int() as times, list() | tuple() as items):
            budget.items(len(items) * max(times, 0))
        case "%", str(), _:
            charge_reading(budget, right)
            budget.text(formatted(left, right))
        case _:
            raise RenderError(f"`{operator}` cannot be put between {described(left)} and {described(right)}")
    return _OPERATORS[operator](left, right)


def _calculate(operator: str, left: float, right: float) -> Any:
    too_large = LimitError(f"a number has more than {MOST_BITS} bits")
    if operator == "**" and isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > MOST_BITS:
        raise too_large
    result = _OPERATORS[operator](left, right)
    if isinstance(result, int) and result.bit_length() > MOST_BITS:
        raise too_large
    return result


Filter = Callable[..., Any]


def _of_text(method: Filter) -> Filter:
    return lambda _, value, *args, **kwargs: method(written(value), *args, **kwargs)


def _of_value(function: Filter) -> Filter:
    return lambda _, value, *args, **kwargs: function(value, *args, **kwargs)


def _with_environment(function: Filter) -> Filter:
    return lambda context, *args, **kwargs: function(context.environment, *args, **kwargs)


def _replace(text: str, old: object, new: object, count: int | None = None) -> str:
    return text.replace(written(old), written(new), -1 if count is None else count)


def _round(value: float, precision: int = 0, method: Any = "common") -> float:
    if abs(precision) > FLOAT_DIGITS:
        raise RenderError(f"`round` keeps at most {FLOAT_DIGITS} digits")
    return filters.do_round(value, precision, method)


def _sum(value: Iterable[float], start: float = 0) -> float:
    numbers = [start, *value]
    if not all(isinstance(each, (int, float)) for each in numbers):
        raise RenderError("`sum` takes a list of numbers")
    return sum(numbers)


def _map(context: Context, value: Iterable[Any], name: str | None = None, *args: Any, **kwargs: Any) -> list[Any]:
    environment = context.environment
    if name is None:
        attribute = kwargs.pop("attribute")
        return [environment.getitem(each, attribute) for each in value]
    if name not in FILTERS:
        raise RenderError(f"unknown filter `{written(name)}`")
    return [environment.call_filter(name, each, args, kwargs, context) for each in value]


def _chosen(*, passing: bool) -> Filter:
    """Returns the filter of the items that pass a test, or that fail it."""

    def filtered(context: Context, value: Iterable[Any], name: str | None = None, *args: Any) -> list[Any]:
        if name is None:
            return [each for each in value if bool(each) is passing]
        call_test = context.environment.call_test

        def passes(each: Any) -> bool:
            if name not in TESTS:
                raise RenderError(f"unknown test `{written(name)}`")
            return bool(call_test(name, each, args, None, context))

        return [each for each in value if passes(each) is passing]

    return filtered


def _paid(function: Filter, size: Size | None = None) -> Filter:
    """Returns a filter that charges for what it reads and makes; `size` limits a result before it is made."""

    @pass_context
    def filtered(context: Context, value: Any, *args: Any, **kwargs: Any) -> Any:
        budget = budget_of(context)
        budget.spend()
        charge_reading(budget, value, args, kwargs)
        if size is not None:
            budget.check_size(size(value, *args, **kwargs))
        result = function(context, value, *args, **kwargs)
        charge_result(budget, result)
        return result

    return filtered


_TEXT: Mapping[str, Filter] = {
    "capitalize": str.capitalize,
    "lower": str.lower,
    "string": str,
    "title": filters.do_title,
    "trim": str.strip,
    "upper": str.upper,
    "urlencode": filters.do_urlencode,
}

_VALUES: Mapping[str, Filter] = {
    "abs": abs,
    "count": len,
    "d": filters.do_default,
    "default": filters.do_default,
    "float": filters.do_float,
    "int": filters.do_int,
    "length": len,
    "list": list,
    "reverse": lambda value: value[::-1] if isinstance(value, str) else list(value)[::-1],
    "round": _round,
    "sum": _sum,
}

_ASKING: Mapping[str, Filter] = {
    "first": filters.sync_do_first,
    "last": filters.do_last,
    "max": filters.do_max,
    "min": filters.do_min,
    "sort": filters.do_sort,
    "truncate": filters.do_truncate,
    "unique": lambda *args, **kwargs: list(filters.sync_do_unique(*args, **kwargs)),
}

FILTERS: Mapping[str, Filter] = {
    **{name: _paid(_of_text(method)) for name, method in _TEXT.items()},
    **{name: _paid(_of_value(function)) for name, function in _VALUES.items()},
    **{name: _paid(_with_environment(function)) for name, function in _ASKING.items()},
    "center": _paid(_of_text(lambda text, width=80: text.center(width)), padded),
    "format": _paid(
        _of_text(lambda text, *values, **named: text % (named or values)),
        lambda text, *values, **named: formatted(written(text), named or values),
    ),
    "join": _paid(_of_value(lambda value, d="": written(d).join(map(written, value))), joined),
    "replace": _paid(_of_text(_replace), replaced),
    "map": _paid(_map),
    "reject": _paid(_chosen(passing=False)),
    "select": _paid(_chosen(passing=True)),
}


_TESTS = (
    *("boolean", "defined", "false", "float", "integer", "mapping", "number", "string", "true", "undefined"),
    *("divisibleby", "even", "lower", "odd", "upper"),
    *("==", "eq", "equalto", "!=", "ne", "<", "lt", "lessthan", "<=", "le", ">", "gt", "greaterthan", ">=", "ge", "in"),
)


def _paid_test(test: Callable[..., bool]) -> Callable[..., bool]:
    @pass_context
    def tested(context: Context, value: Any, *args: Any) -> bool:
        charge_reading(budget_of(context), value, args)
        return test(value, *args)

    return tested


TESTS: Mapping[str, Callable[..., bool]] = {
    **{name: _paid_test(cast("Callable[..., bool]", tests.TESTS[name])) for name in _TESTS},
    "none": _paid_test(lambda value: value is None or isinstance(value, NoUser)),
}


@pass_context
def _range(context: Context, *bounds: int) -> list[int]:
    numbers = range(*bounds)
    budget_of(context).items(max(0, (numbers.stop - numbers.start) // numbers.step))
    return list(numbers)


GLOBALS: Mapping[str, Any] = {"range": _range, "namespace": Namespace}
