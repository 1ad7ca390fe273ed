"""The values of s3-proxy's configuration, each with its place: what its files say once they are merged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tornado_proxy.config.nodes import Kind
from tornado_proxy.lang.source import Span


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value as written; its text may be a secret and stays out of the `repr`."""

    text: str = field(repr=False)
    kind: Kind
    span: Span = field(repr=False)


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    items: tuple[Value, ...]
    span: Span = field(repr=False)


class Option(NamedTuple):
    """An entry of a mapping: its name as written, the place of that name, and the value."""

    name: str
    place: Span
    value: Value


@dataclass(frozen=True, slots=True)
class Options:
    """A mapping, by names in lower case: s3-proxy's reader of files (viper) tells no cases apart."""

    entries: Mapping[str, Option]
    span: Span = field(repr=False)


Value = Scalar | Items | Options


def merged(first: Options, second: Options) -> Options:
    """Two mappings as one: mappings within are merged, of anything else the second counts, whole."""
    entries = dict(first.entries)
    for name, option in second.entries.items():
        known = entries.get(name)
        if known and isinstance(known.value, Options) and isinstance(option.value, Options):
            entries[name] = known._replace(value=merged(known.value, option.value))
        else:
            entries[name] = option
    return Options(entries, first.span)


def without_nothing(options: Options) -> Options:
    """A mapping as viper hands it on: an option that says nothing, or holds no option that does, was never given.

    Lists are kept as they are.
    """
    kept = {}
    for name, option in options.entries.items():
        value = option.value
        if isinstance(value, Options):
            value = without_nothing(value)
            if not value.entries:
                continue
        if not (isinstance(value, Scalar) and value.kind is Kind.NOTHING):
            kept[name] = option._replace(value=value)
    return Options(kept, options.span)
