"""All functions of sprig in one table."""

from __future__ import annotations

from collections.abc import Mapping

from tornado_proxy.templates.golang.calling import Function
from tornado_proxy.templates.golang.specials import INCLUDE
from tornado_proxy.templates.golang.sprig import (
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
    regexes,
    texts,
    versions,
    words,
)


def functions() -> Mapping[str, Function]:
    """The functions by name; `include` among them, which Helm adds."""
    table: dict[str, Function] = {"include": INCLUDE}
    for topic in _TOPICS:
        table.update(topic.FUNCTIONS)
    return table
