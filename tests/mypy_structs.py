"""A plugin of mypy: functions of `dataclasses` refuse structs.

Structs are declared with `dataclass_transform` (PEP 681), so mypy takes them for dataclasses, which they are not when the
function is called.
"""

from mypy.plugin import FunctionContext, Plugin
from mypy.types import Instance, Type, flatten_nested_unions, get_proper_type

_FUNCTIONS = frozenset({"dataclasses.replace", "dataclasses.asdict", "dataclasses.astuple", "dataclasses.fields"})


class _StructsPlugin(Plugin):
    """Looks at calls of functions of `dataclasses`."""

    def get_function_hook(self, fullname):
        return _refuse_structs if fullname in _FUNCTIONS else None


def _refuse_structs(context: FunctionContext) -> Type:
    for each in flatten_nested_unions(context.arg_types[0]):
        kind = get_proper_type(each)
        if isinstance(kind, Instance) and kind.type.has_base("msgspec.Struct"):
            message = f"`{kind.type.name}` is a struct: use the functions of `msgspec.structs`"
            context.api.fail(message, context.context)
    return context.default_return_type


def plugin(_version):
    """Returns the plugin, as mypy asks for it."""
    return _StructsPlugin
