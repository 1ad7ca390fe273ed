"""All functions of sprig in one table."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.templating.golang.calling import ANY, STRING, Function, function
from tornado_proxy.templating.golang.regex import CompileRegex
from tornado_proxy.templating.golang.sprig import (
    casting,
    constraints,
    dates,
    defaults,
    dicts,
    documents,
    encoding,
    hashing,
    links,
    lists,
    maths,
    paths,
    reflection,
    regexes,
    texts,
    versions,
    words,
)
from tornado_proxy.templating.golang.values import Value

_TOPICS = (
    casting,
    constraints,
    dates,
    defaults,
    dicts,
    documents,
    encoding,
    hashing,
    links,
    lists,
    maths,
    paths,
    reflection,
    texts,
    versions,
    words,
)


def _performed_elsewhere(*_arguments: Value) -> Value:
    """What stands for a function that the evaluator performs, for it needs the run."""
    raise AssertionError


INCLUDE = function(_performed_elsewhere, STRING, ANY)
"""What Helm adds to sprig, as `tpl` has the same form."""


def functions(compile_regex: CompileRegex) -> Mapping[str, Function]:
    """The functions by name; `include` among them, which Helm adds."""
    table: dict[str, Function] = {"include": INCLUDE, **regexes.functions(compile_regex)}
    for topic in _TOPICS:
        table.update(topic.FUNCTIONS)
    return table
