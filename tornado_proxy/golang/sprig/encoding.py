"""Base64, Base32, digests, JSON and YAML (Go's encoding/base64, encoding/json and gopkg.in/yaml.v3)."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NoReturn

from tornado_proxy.golang.sprig.basics import forgiving
from tornado_proxy.golang.template import values as go
from tornado_proxy.golang.template.budget import RenderBudget
from tornado_proxy.golang.template.calling import ANY, STRING, Function, budgeted, function
from tornado_proxy.golang.template.errors import LimitError
from tornado_proxy.golang.template.formatting import STRINGER
from tornado_proxy.golang.template.numbers import format_float
from tornado_proxy.golang.template.text import go_string, runes

_BASE64_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
_BASE32_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAD = ord("=")


def _without_line_ends(text: bytes) -> bytes:
    return text.translate(None, b"\r\n")


def _after_line_ends(text: bytes, position: int) -> int:
    return len(text) - len(text[position:].lstrip(b"\r\n"))


def _b64dec(text: bytes) -> bytes:
    at = len(text) - len(text.lstrip(_BASE64_CHARS))
    digits = _without_line_ends(text[:at])
    fault = _base64_fault(text, at, len(digits) % 4)
    if fault is not None:
        return b"illegal base64 data at input byte %d" % fault
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))


def _base64_fault(text: bytes, at: int, over: int) -> int | None:
    """Returns the offset in Go's error; the digits end at `at`, and exceed a multiple of four by `over`."""
    if at == len(text):
        return at - over if over else None
    if text[at] != _PAD or over < 2:
        return at
    at = _after_line_ends(text, at + 1)
    if over == 2:
        if at == len(text):
            return at
        if text[at] != _PAD:
            return at - 1
        at = _after_line_ends(text, at + 1)
    return at if at < len(text) else None


def _b32dec(text: bytes) -> bytes:
    text = _without_line_ends(text)
    digits = text[: len(text) - len(text.lstrip(_BASE32_CHARS))]
    fault = _base32_fault(text, len(digits), len(digits) % 8)
    if fault is not None:
        return b"illegal base32 data at input byte %d" % fault
    return base64.b32decode(digits + b"=" * (-len(digits) % 8))


def _base32_fault(text: bytes, at: int, over: int) -> int | None:
    """Returns the offset in Go's error for groups of eight; it does not count line ends."""
    rest = text[at + 1 :]
    if at == len(text):
        return at - over if over else None
    if text[at] != _PAD or over < 2 or len(rest) >= 8:
        return at
    if len(rest) + over < 7:
        return len(text)
    wrong = rest[: 7 - over].lstrip(b"=")
    if wrong:
        return at + 7 - over - len(wrong)
    return at if over in (3, 6) else None


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPECIAL = re.compile('[\x00-\x1f"\\\\\u2028\u2029\udc80-\udcff]')
_SPECIAL_IN_HTML = re.compile('[\x00-\x1f"\\\\\u2028\u2029\udc80-\udcff<>&]')
_INDENT = b"  "


class _Writer:
    def __init__(self, budget: RenderBudget, *, html: bool, pretty: bool) -> None:
        self._budget = budget
        self._special = _SPECIAL_IN_HTML if html else _SPECIAL
        self._pretty = pretty
        self._size = 0
        self.pieces: list[bytes] = []

    def _write(self, piece: bytes) -> None:
        self._size += len(piece)
        self._budget.check_size(self._size)
        self.pieces.append(piece)

    def value(self, value: go.Value, depth: int = 0) -> None:
        """Writes a value; raises `ExecutionError` for one that JSON cannot represent."""
        self._budget.spend()
        self._budget.nest(depth)
        if go.is_nil(value):
            go.type_name(value)  # raises for an absent user
            self._write(b"null")
        elif isinstance(value, bool):
            self._write(b"true" if value else b"false")
        elif isinstance(value, int):
            self._write(b"%d" % value)
        elif isinstance(value, float):
            if not math.isfinite(value):
                raise go.ExecutionError(f"`{value}` has no form in JSON")
            # As ECMAScript does.
            plain = value == 0 or 1e-6 <= abs(value) < 1e21
            text = format_float(value, "f" if plain else "e")
            self._write(re.sub("e-0", "e-", text).encode())
        elif isinstance(value, bytes):
            self._string(value)
        elif isinstance(value, go.Struct) and value.type.json is not None:
            self._budget.spend(STRINGER)
            self._string(value.type.json(value))
        elif isinstance(value, go.Slice):
            self._items([(b"", element) for element in value], b"[", b"]", depth)
        else:
            self._items(_members(value), b"{", b"}", depth)

    def _string(self, value: bytes) -> None:
        text = self._special.sub(_escaped, value.decode("utf-8", "surrogateescape"))
        self._write(b'"' + text.encode() + b'"')

    def _items(self, items: list[tuple[bytes, go.Value]], opening: bytes, closing: bytes, depth: int) -> None:
        self._write(opening)
        line, indent = (b"\n" + _INDENT * depth, _INDENT) if self._pretty else (b"", b"")
        for number, (name, item) in enumerate(items):
            self._write((b"," if number else b"") + line + indent)
            if opening == b"{":
                self._string(name)
                self._write(b": " if self._pretty else b":")
            self.value(item, depth + 1)
        self._write((line if items else b"") + closing)


def _escaped(match: re.Match[str]) -> str:
    char = match[0]
    # A byte that is not UTF-8 is U+FFFD.
    return _ESCAPES.get(char) or ("\ufffd" if char >= "\udc80" else f"\\u{ord(char):04x}")


def _members(value: go.Value) -> list[tuple[bytes, go.Value]]:
    """Returns the members of an object in Go's order."""
    if isinstance(value, go.Map):
        return sorted(value.items())
    if isinstance(value, go.Struct) and not value.type.opaque:
        return [(name, getter(value.source)) for name, getter in value.type.getters.items()]
    raise go.ExecutionError(f"`{go.type_name(value)}` has no form in JSON")


def _write(budget: RenderBudget, value: go.Value, *, html: bool = True, pretty: bool = False) -> bytes:
    """Returns the JSON text of a value; raises `ExecutionError` if JSON cannot represent it."""
    writer = _Writer(budget, html=html, pretty=pretty)
    writer.value(value)
    return b"".join(writer.pieces)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _decoded(budget: RenderBudget, text: bytes, number: Callable[[str], float]) -> go.Value:
    """Parses a JSON text; `number` parses each number, which is a float64 in Go."""
    budget.spend(len(text) >> 4)
    try:
        decoded = json.loads(runes(text), parse_int=number, parse_float=number, parse_constant=_refuse)
    except ValueError as error:
        raise go.ExecutionError(f"invalid JSON: {error}") from None
    except RecursionError:
        raise LimitError("the JSON text nests too deeply") from None
    return from_json(decoded, budget)


def from_json(value: Any, budget: RenderBudget, depth: int = 0) -> go.Value:
    """Converts a decoded JSON text to a Go value: map[string]any, []any, int for ints, float64 for floats."""
    budget.nest(depth)
    match value:
        case str():
            return go_string(value)
        case dict():
            budget.items(len(value))
            return go.Map({go_string(str(key)): from_json(item, budget, depth + 1) for key, item in value.items()})
        case list():
            budget.items(len(value))
            return go.Slice([from_json(item, budget, depth + 1) for item in value])
    return value


def _number_in_range(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"the number {text} is out of range")
    return number


def _number_or_zero(text: str) -> float:
    return 0.0 if math.isinf(number := float(text)) else number


_write_pretty = partial(_write, pretty=True)
_write_raw = partial(_write, html=False)
_read = forgiving(lambda budget, text: _decoded(budget, text, _number_or_zero), lambda _text: None)

FUNCTIONS: Mapping[str, Function] = {
    "b32dec": function(_b32dec, STRING),
    "b32enc": function(base64.b32encode, STRING),
    "b64dec": function(_b64dec, STRING),
    "b64enc": function(base64.b64encode, STRING),
    "adler32sum": function(lambda text: b"%d" % zlib.adler32(text), STRING),
    "sha1sum": function(lambda text: hashlib.sha1(text, usedforsecurity=False).hexdigest().encode(), STRING),
    "sha256sum": function(lambda text: hashlib.sha256(text).hexdigest().encode(), STRING),
    "sha512sum": function(lambda text: hashlib.sha512(text).hexdigest().encode(), STRING),
    "fromJson": budgeted(_read, STRING),
    "mustFromJson": budgeted(lambda budget, text: _decoded(budget, text, _number_in_range), STRING),
    "mustToJson": budgeted(_write, ANY),
    "mustToPrettyJson": budgeted(_write_pretty, ANY),
    "mustToRawJson": budgeted(_write_raw, ANY),
    "toJson": budgeted(forgiving(_write, lambda _value: b""), ANY),
    "toPrettyJson": budgeted(forgiving(_write_pretty, lambda _value: b""), ANY),
    "toRawJson": budgeted(_write_raw, ANY),
}


_YAML_INDENT = "    "
# Text that every YAML parser reads as a string; all other text is quoted.
_PLAIN = re.compile(r"[A-Za-z/][\w./@+-]*(?: [\w./@+-]+)*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write_yaml(budget: RenderBudget, value: go.Value) -> bytes:
    """Returns the YAML text of a value without its last line end; empty if YAML cannot represent it."""
    try:
        written = _write(budget, value, html=False)
    except go.ExecutionError:
        return b""
    lines = list(_yaml_lines(json.loads(written), ""))
    size = sum(len(line) + 1 for line in lines)
    budget.check_size(size)
    budget.spend(len(lines))
    return "\n".join(lines).encode()


def _yaml_lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            head = f"{indent}{_scalar(name)}:"
            if isinstance(item, (dict, list)) and item:
                yield head
                yield from _yaml_lines(item, indent + _YAML_INDENT)
            else:
                yield f"{head} {_scalar(item)}"
    elif isinstance(value, list) and value:
        for item in value:
            first, *rest = _yaml_lines(item, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from rest
    else:
        yield f"{indent}{_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
