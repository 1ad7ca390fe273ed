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

import msgspec

from gotemplate.limits import COST_OF_STRINGER
from gotemplate.sprig.basics import forgiving
from gotemplate.template import values as go
from gotemplate.template.calling import ANY, STRING, Function, budgeted, function
from gotemplate.template.errors import LimitError, RenderBudget
from gotemplate.template.text import format_float, runes

_BASE64_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/\r\n"
_BASE32_CHARS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAD = ord("=")


def _after_line_ends(text: bytes, position: int) -> int:
    return len(text) - len(text[position:].lstrip(b"\r\n"))


def _b64dec(text: bytes) -> bytes:
    at = len(text) - len(text.lstrip(_BASE64_CHARS))
    digits = text[:at].translate(None, b"\r\n")
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
    text = text.translate(None, b"\r\n")
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


_BEYOND_JSON = re.compile("[\u2028\u2029]")
_BEYOND_HTML = re.compile("[\u2028\u2029<>&]")


def _plain(value: go.Value, budget: RenderBudget, depth: int = 0) -> Any:
    """Returns a value as msgspec writes it; raises `ExecutionError` for one that JSON cannot represent."""
    budget.spend()
    budget.nest(depth)
    if go.is_nil(value):
        go.type_name(value)  # raises for an absent user
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            raise go.ExecutionError(f"`{value}` has no form in JSON")
        # As ECMAScript does.
        is_plain = value == 0 or 1e-6 <= abs(value) < 1e21
        return msgspec.Raw(re.sub("e-0", "e-", format_float(value, "f" if is_plain else "e")).encode())
    if isinstance(value, go.Struct) and value.type.json is not None:
        budget.spend(COST_OF_STRINGER)
        value = value.type.json(value)
    if isinstance(value, bytes):
        budget.text(len(value))
        return runes(value)
    if isinstance(value, go.Slice):
        return [_plain(element, budget, depth + 1) for element in value]
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    # An object, whose members are in Go's order.
    if isinstance(value, go.Map):
        members = sorted(value.items())
    elif isinstance(value, go.Struct) and not value.type.opaque:
        members = [(name, getter(value.source)) for name, getter in value.type.getters.items()]
    else:
        raise go.ExecutionError(f"`{go.type_name(value)}` has no form in JSON")
    budget.text(sum(len(name) for name, _ in members))
    encode = msgspec.json.encode
    # Not a dict: names that differ only in bytes that are not UTF-8 are written alike.
    written = (b"%b:%b" % (encode(runes(name)), encode(_plain(item, budget, depth + 1))) for name, item in members)
    return msgspec.Raw(b"{%b}" % b",".join(written))


def _write(budget: RenderBudget, value: go.Value, *, html: bool = True, pretty: bool = False) -> bytes:
    """Returns the JSON text of a value; raises `ExecutionError` if JSON cannot represent it."""
    written = msgspec.json.encode(_plain(value, budget))
    written = msgspec.json.format(written) if pretty else written
    # These characters occur only in strings.
    special = _BEYOND_HTML if html else _BEYOND_JSON
    written = special.sub(lambda match: f"\\u{ord(match[0]):04x}", written.decode()).encode()
    budget.check_size(len(written))
    return written


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
    return go.from_python(decoded, budget)


def _number_in_range(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"the number {text} is out of range")
    return number


_write_pretty = partial(_write, pretty=True)
_write_raw = partial(_write, html=False)
_read = forgiving(
    lambda budget, text: _decoded(budget, text, lambda each: 0.0 if math.isinf(number := float(each)) else number),
    lambda _text: None,
)

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
