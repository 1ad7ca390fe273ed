"""`toYaml`: a value as YAML, in blocks, as gopkg.in/yaml.v3 lays it out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tornado_proxy.templates.golang.limits import ExecutionError, RenderBudget
from tornado_proxy.templates.golang.sprig.encoding import must_write
from tornado_proxy.templates.golang.values import Value

_INDENT = "    "
# Text that no reader of YAML takes for anything else; all other text is quoted.
_PLAIN = re.compile(r"[A-Za-z/][\w./@+-]*(?: [\w./@+-]+)*", re.ASCII)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})


def write_yaml(budget: RenderBudget, value: Value) -> bytes:
    """The YAML text of a value without its last line end; empty for what has no form in YAML."""
    try:
        written = must_write(budget, value, html=False)
    except ExecutionError:
        return b""
    lines = list(_lines(json.loads(written), ""))
    size = sum(len(line) + 1 for line in lines)
    budget.fit(size)
    budget.spend(len(lines))
    return "\n".join(lines).encode()


def _lines(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _entry(f"{indent}{_scalar(name)}:", item, indent + _INDENT)
    elif isinstance(value, list) and value:
        for item in value:
            first, *rest = _lines(item, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from rest
    else:
        yield f"{indent}{_scalar(value)}"


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, (dict, list)) and value:
        yield head
        yield from _lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)
