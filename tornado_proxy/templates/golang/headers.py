"""Header fields and query values as Go has them: maps of lists with methods (http.Header, url.Values)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tornado_proxy.templates.golang.calling import STRING, budgeted, function
from tornado_proxy.templates.golang.limits import Budget
from tornado_proxy.templates.golang.urls import query_escape
from tornado_proxy.templates.golang.values import STRING_SLICE, Map, Slice, Type, string_slice

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def canonical(name: bytes) -> bytes:
    """The name with capitals at the start of its words, as Go keeps it (textproto.CanonicalMIMEHeaderKey)."""
    return b"-".join(word.capitalize() for word in name.split(b"-")) if _TOKEN.fullmatch(name) else name


def _values(header: Map, name: bytes) -> Slice:
    found: Slice = header.get(canonical(name)) or Slice((), STRING_SLICE, nil=True)
    return found


def _encode(budget: Budget, values: Map) -> bytes:
    budget.spend(len(values) + sum(len(each) for name in values for each in (name, *values[name])) >> 2)
    pairs = ((name, value) for name in sorted(values) for value in values[name])
    return b"&".join(query_escape(name) + b"=" + query_escape(value) for name, value in pairs)


CHANGES = "a template changes nothing of the request"

HEADER = Type(
    "http.Header",
    "map",
    STRING_SLICE,
    methods={
        b"Get": function(lambda header, name: next(iter(_values(header, name)), b""), STRING),
        b"Values": function(_values, STRING),
    },
    refused=dict.fromkeys((b"Add", b"Clone", b"Del", b"Set", b"Write", b"WriteSubset"), CHANGES),
)

VALUES = Type(
    "url.Values",
    "map",
    STRING_SLICE,
    methods={
        b"Encode": budgeted(_encode),
        b"Get": function(lambda values, name: next(iter(values.get(name, ())), b""), STRING),
        b"Has": function(lambda values, name: name in values, STRING),
    },
    refused=dict.fromkeys((b"Add", b"Clone", b"Del", b"Set"), CHANGES),
)


def collected(type: Type, pairs: Iterable[tuple[bytes, bytes]]) -> Map:
    """A map of the pairs' names to the lists of their values, in order."""
    collected = Map((), type)
    for name, value in pairs:
        collected.setdefault(name, string_slice(())).append(value)
    return collected


def header(pairs: Iterable[tuple[str, str]]) -> Map:
    """The header of a request; the host is no field of it, as in Go's servers."""
    encoded = ((canonical(name.encode()), value.encode()) for name, value in pairs)
    return collected(HEADER, ((name, value) for name, value in encoded if name != b"Host"))
