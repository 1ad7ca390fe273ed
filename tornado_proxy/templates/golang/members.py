"""What a dot reads: fields of structs, keys of maps, methods of any type (text/template's evalField)."""

from __future__ import annotations

from collections.abc import Sequence

from tornado_proxy.templates.golang.calling import Function
from tornado_proxy.templates.golang.failures import ExecutionError
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.values import INVALID, Map, Nil, Struct, Value, type_of


def read(receiver: Value, name: bytes, budget: Budget) -> Value:
    """The field, the key, or the result of the method of that name; what is read from no value is no value."""
    if type(receiver) is Struct:
        getter = receiver.type.getters.get(name)
        if getter is not None:
            return getter(receiver.source)
    elif receiver is INVALID:
        return INVALID
    method = method_of(receiver, name)
    if method is not None:
        return call_method(method, receiver, name, (), budget)
    if receiver is None or isinstance(receiver, Nil):
        raise ExecutionError(f"`{name.decode()}` is read from nil")
    reason = type_of(receiver).refused.get(name)
    if reason is not None:
        raise ExecutionError(f"the member `{name.decode()}` is refused: {reason}")
    if isinstance(receiver, Map):
        return receiver.lookup(name)
    raise ExecutionError(f"a `{type_of(receiver).name}` has no field `{name.decode()}`")


def method_of(receiver: Value, name: bytes) -> Function | None:
    """The method of that name; None where the receiver's type has none."""
    if receiver is None or receiver is INVALID:
        return None
    method: Function | None = type_of(receiver).methods.get(name)
    return method


def call_method(method: Function, receiver: Value, name: bytes, arguments: Sequence[Value], budget: Budget) -> Value:
    """The method's result for arguments that are converted already; their number is checked here."""
    if not method.accepts(len(arguments)):
        raise ExecutionError(f"the method `{name.decode()}` does not take {len(arguments)} arguments")
    budget.spend(1 + (sum(len(each) for each in arguments if type(each) is bytes) >> 4))
    result = method.call(budget, receiver, *arguments) if method.budgeted else method.call(receiver, *arguments)
    if type(result) is bytes:
        budget.spend(len(result) >> 4)
    return result
