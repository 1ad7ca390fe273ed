"""Values as text: under one verb, or as `print` writes them (fmt's print.go)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar

from tornado_proxy.templates.golang.scalars import SHORTEST, Layout
from tornado_proxy.templates.golang.text import go_string
from tornado_proxy.templates.golang.values import (
    INVALID,
    ExecutionError,
    Map,
    Slice,
    Struct,
    Value,
    is_nil,
    type_name,
    type_of,
)
from tornado_proxy.templates.template import RenderBudget

STRINGER = 16
"""The steps that a value's own text is charged with: a time takes that long."""
_INTEGER_BASES = {"v": 10, "d": 10, "b": 2, "o": 8, "O": 8, "x": 16, "X": 16}
_FLOAT_PRECISIONS = {
    "v": SHORTEST,
    "b": SHORTEST,
    "g": SHORTEST,
    "G": SHORTEST,
    "x": SHORTEST,
    "X": SHORTEST,
} | dict.fromkeys("fFeE", 6)
_FLOAT_VERBS = {"v": "g", "F": "f"}


def printed(value: Value, budget: RenderBudget) -> bytes:
    """What an action writes for a value; a pointer is followed, unless an interface with methods holds it."""
    return b"<no value>" if value is INVALID else shown(value, budget, follow=True)


def shown(value: Value, budget: RenderBudget, *, follow: bool = False) -> bytes:
    """The value as `%v` shows it."""
    if type(value) is bytes:
        return value
    printer = Printer(budget)
    printer.argument(value, "v", follow=follow)
    return b"".join(printer.buffer)


def sprint(values: Sequence[Value], budget: RenderBudget, *, follow: bool = False) -> bytes:
    """fmt.Sprint: a space stands between two operands if neither is a string."""
    printer = Printer(budget)
    after_string = True
    for value in values:
        is_string = type(value) is bytes
        if not is_string and not after_string:
            printer.write(b" ")
        printer.argument(value, "v", follow=follow)
        after_string = is_string
    return b"".join(printer.buffer)


def sprintln(values: Iterable[Value], budget: RenderBudget) -> bytes:
    """fmt.Sprintln: a space stands between any two, a line feed at the end."""
    printer = Printer(budget)
    for number, value in enumerate(values):
        if number:
            printer.write(b" ")
        printer.argument(value, "v")
    printer.write(b"\n")
    return b"".join(printer.buffer)


class Printer(Layout):
    """A buffer that values are written to, each as its kind and a verb want it."""

    __slots__ = ("_erring",)

    def __init__(self, budget: RenderBudget) -> None:
        super().__init__(budget)
        self._erring = False

    def argument(self, value: Value, verb: str, *, follow: bool = False) -> None:
        """A value by itself, with the flags that are set; `follow` shows what a pointer points to, without its `&`."""
        if value is None:
            self._nil(verb)
        elif verb == "T":
            self.string(type_name(value).encode())
        elif verb == "p":
            self._address(value)
        elif verb == "w":
            self.bad_verb(value, verb)
        elif follow and type(value) is Struct and value.type.stringer is None and not value.boxed:
            self._struct(value, verb, 0)
        else:
            self._value(value, verb, 0)

    def _nil(self, verb: str) -> None:
        if verb in "Tv":
            self.pad(b"<nil>")
        else:
            self.bad_verb(None, verb)

    def bad_verb(self, value: Value, verb: str) -> None:
        """What is written for a verb that does not fit the value."""
        self._erring = True
        self.write(go_string(f"%!{verb}("))
        if value is None:
            self.write(b"<nil>")
        else:
            self.write(type_name(value).encode() + b"=")
            self._value(value, "v", 0)
        self.write(b")")
        self._erring = False

    def _address(self, value: Value) -> None:
        type_name(value)  # an absent user has none, and says so
        if is_nil(value):
            self._zero_address()
            return
        if isinstance(value, Slice | Map | Struct):
            raise ExecutionError("an address in memory cannot be printed")
        self.bad_verb(value, "p")

    def _zero_address(self) -> None:
        sharp, self.sharp = self.sharp, not self.sharp
        self.integer(0, 16, "v")
        self.sharp = sharp

    def _value(self, value: Value, verb: str, depth: int) -> None:
        self.budget.spend()
        self.budget.nest(depth)
        if value is None:
            # Only within a list or a map: there a nil is shown whatever the verb.
            self.write(b"interface {}(nil)" if self.sharp_v else b"<nil>")
            return
        of = type_of(value)
        if of.stringer is not None and verb in "vsxXq" and not self.sharp_v and not self._erring:
            self.budget.spend(STRINGER)
            self._string(of.stringer(value), verb)
        else:
            self._KINDS[of.kind](self, value, verb, depth)

    def _bool(self, value: bool, verb: str, _depth: int) -> None:  # noqa: FBT001 - it is the value to write, no flag
        if verb in "tv":
            self.boolean(value)
        else:
            self.bad_verb(value, verb)

    def _signed(self, value: int, verb: str, _depth: int) -> None:
        if verb in _INTEGER_BASES:
            self.integer(value, _INTEGER_BASES[verb], verb)
        elif verb == "c":
            self.character(value)
        elif verb == "q":
            self.quoted_character(value)
        elif verb == "U":
            self.unicode(value)
        else:
            self.bad_verb(value, verb)

    def _unsigned(self, value: int, verb: str, depth: int) -> None:
        if verb == "v" and self.sharp_v:
            sharp, self.sharp = self.sharp, True
            self.integer(value, 16, "v")
            self.sharp = sharp
        else:
            self._signed(value, verb, depth)

    def _float(self, value: float, verb: str, _depth: int) -> None:
        if verb in _FLOAT_PRECISIONS:
            self.floating(value, _FLOAT_VERBS.get(verb, verb), _FLOAT_PRECISIONS[verb])
        else:
            self.bad_verb(value, verb)

    def _complex(self, value: complex, verb: str, depth: int) -> None:
        if verb not in _FLOAT_PRECISIONS:
            self.bad_verb(value, verb)
            return
        plus = self.plus
        self.write(b"(")
        self._float(value.real, verb, depth)
        self.plus = True
        self._float(value.imag, verb, depth)
        self.write(b"i)")
        self.plus = plus

    def _string(self, value: bytes, verb: str, _depth: int = 0) -> None:
        if verb == "q" or (verb == "v" and self.sharp_v):
            self.quoted(value)
        elif verb in "sv":
            self.string(value)
        elif verb in "xX":
            self.hexadecimal(value, large=verb == "X")
        else:
            self.bad_verb(value, verb)

    def _slice(self, value: Slice, verb: str, depth: int) -> None:
        if self._opened(value, b"{" if self.sharp_v else b"["):
            for number, element in enumerate(value):
                self._separate(number)
                self._value(element, verb, depth + 1)
            self.write(b"}" if self.sharp_v else b"]")

    def _map(self, value: Map, verb: str, depth: int) -> None:
        if self._opened(value, b"{" if self.sharp_v else b"map["):
            for number, (key, element) in enumerate(sorted(value.items())):
                self._separate(number)
                self._value(key, verb, depth + 1)
                self.write(b":")
                self._value(element, verb, depth + 1)
            self.write(b"}" if self.sharp_v else b"]")

    def _opened(self, value: Slice | Map, bracket: bytes) -> bool:
        """Write what stands before the elements; whether there may be any."""
        if self.sharp_v:
            self.write(value.type.name.encode())
            if value.nil:
                self.write(b"(nil)")
                return False
        self.write(bracket)
        return True

    def _separate(self, number: int) -> None:
        if number:
            self.write(b", " if self.sharp_v else b" ")

    def _struct(self, value: Struct, verb: str, depth: int) -> None:
        if value.type.opaque:
            raise ExecutionError(f"a `{value.type.name}` cannot be written as a whole")
        if self.sharp_v:
            self.write(value.type.name.removeprefix("*").encode())
        self.write(b"{")
        for number, (name, getter) in enumerate(value.type.getters.items()):
            self._separate(number)
            if self.plus_v or self.sharp_v:
                self.write(name + b":")
            self._value(getter(value.source), verb, depth + 1)
        self.write(b"}")

    def _pointer(self, value: Value, verb: str, depth: int) -> None:
        if is_nil(value):
            self._nil_pointer(value, verb)
        elif depth:
            raise ExecutionError(f"a `{value.type.name}` within another value is an address, which cannot be printed")
        else:
            self.write(b"&")
            self._struct(value, verb, depth)

    def _nil_pointer(self, value: Value, verb: str) -> None:
        """A nil pointer, which is the integer 0 under the verbs of integers."""
        if verb == "v" and self.sharp_v:
            self.write(f"({type_name(value)})(nil)".encode())
        elif verb == "v":
            self.pad(b"<nil>")
        elif verb in "bdoxX":
            self.integer(0, _INTEGER_BASES[verb], verb)
        else:
            self.bad_verb(value, verb)

    _KINDS: ClassVar[dict[str, Callable[[Printer, Value, str, int], None]]] = {
        "bool": _bool,
        "int": _signed,
        "int32": _signed,
        "int64": _signed,
        "uint8": _unsigned,
        "uint64": _unsigned,
        "float64": _float,
        "complex128": _complex,
        "string": _string,
        "slice": _slice,
        "map": _map,
        "struct": _struct,
        "ptr": _pointer,
        "interface": _pointer,
    }
