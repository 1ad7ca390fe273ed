from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.actions import SystemMetadata, Webhook
from tornado_proxy.config.model import Mount, Settings
from tornado_proxy.config.options import (
    DAY,
    GIB,
    KIB,
    MIB,
    Bounds,
    Duration,
    OptionGroup,
    Size,
    all_options,
    option,
    options_of,
    place_of,
)
from tornado_proxy.config.secrets import Secret, holds_secrets
from tornado_proxy.config.server import Log
from tornado_proxy.config.values import InvalidValue


@pytest.mark.parametrize(
    "dotted",
    [
        "server.port",
        "authProviders.basic.*.realm",
        "targets.*.mount.path",
        "targets.*.bucket.disableSSL",
        "targets.*.bucket.credentials.secretKey.env",
        "targets.*.actions.GET.config.indexDocument",
        "targets.*.resources.*.basic.credentials.*.password.value",
        "log.format",
    ],
)
def test_walk_reaches_every_depth(dotted):
    """Options are found through mappings by name, lists, and sections that may be left out."""
    assert dotted in [option.dotted for option in all_options(Settings)]


def test_no_option_is_found_twice():
    """Each path is one option."""
    paths = [option.path for option in all_options(Settings)]
    assert len(paths) == len(set(paths))


@dataclass(frozen=True, slots=True)
class _Lock:
    """A section of the tests' own."""

    key: Secret = option("What opens it.")


_FRAME = OptionGroup("frame", "What holds it.")


@dataclass(frozen=True, slots=True)
class _Door:
    """Another one."""

    has_lock: bool = option("Whether it can be locked.", default=False)
    max_width: Annotated[int, Bounds(1, 9)] | None = option("How wide it may be.", default=None, name="width")
    wood: str = option("The wood of the frame.", default="oak", group=_FRAME)
    nails: int = option("The nails in the frame.", default=4, group=_FRAME)
    locks: tuple[_Lock, ...] = option("What keeps it shut.", default=())
    made: int = field(default=1)  # not an option
    place: object = place_of("width")  # the same


def test_options_are_the_fields_made_by_option():
    """Each has its name in camelCase or its own; other fields are not read from the file."""
    assert [each.name for each in options_of(_Door)] == ["hasLock", "width", "wood", "nails", "locks"]
    assert [each.attribute for each in options_of(_Door)][1] == "max_width"


def test_option_without_a_default_is_required():
    """What has no default must be in the file."""
    assert [each.is_required for each in options_of(_Lock)] == [True]
    assert not any(each.is_required for each in options_of(_Door))


def test_type_is_recognised_by_its_marks():
    """`| None` is left out, marks are kept, and a list knows its item."""
    _, width, *_, locks = (each.type for each in options_of(_Door))
    assert (width.base, width.bounds, locks.bounds) == (int, Bounds(1, 9), None)
    assert locks.is_list
    assert locks.item.section is _Lock


def test_group_stands_between_its_options_and_the_section():
    """The path of an option leads through its group, which is named once."""
    dotted = [each.dotted for each in all_options(_Door)]
    assert dotted == [
        "hasLock",
        "width",
        "frame",
        "frame.wood",
        "frame.nails",
        "locks",
        "locks.*.key",
        "locks.*.key.env",
        "locks.*.key.path",
        "locks.*.key.credential",
        "locks.*.key.value",
    ]


@pytest.mark.parametrize(("section", "holds"), [(_Lock, True), (_Door, True), (Log, False), (Mount, False)])
def test_secrets_are_found_below(section, holds):
    """A section holds secrets if an option of it does, at any depth."""
    assert holds_secrets(section) is holds


def test_secrets_by_name_count_as_secrets():
    """A mapping of secrets makes its section one that may hold some."""
    assert holds_secrets(Webhook)
    assert not holds_secrets(SystemMetadata)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        (0, 0),
        (1234, 1234),
        ("512B", 512),
        ("1KB", 1000),
        ("1KiB", KIB),
        ("100MB", 100_000_000),
        ("64 MiB", 64 * MIB),
        ("1.5GiB", 3 * GIB // 2),
        ("2TB", 2 * 10**12),
        ("1TiB", 1024 * GIB),
    ],
)
def test_size_is_read_as_bytes(written, size):
    """A number is bytes; units are decimal, or binary with an `i`."""
    assert Size(0).read(written) == size


@pytest.mark.parametrize("written", ["5", "5G", "5gib", "GiB", "-1KB", "1e3B", "", True, 1.5, None, [], "9" * 16 + "B"])
def test_what_is_no_size_is_refused(written):
    """Any other notation is refused, with examples of the right one."""
    with pytest.raises(InvalidValue, match="is not a size"):
        Size(0).read(written)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [(30, 30.0), (0.5, 0.5), ("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)  # fmt: skip
def test_duration_is_read_as_seconds(written, seconds):
    """A number is seconds; units follow one another, as Go's durations are written."""
    assert Duration(0).read(written) == seconds


@pytest.mark.parametrize("written", ["30", "soon", "5 m", "-5s", "1w", "", True, None, {}])
def test_what_is_no_duration_is_refused(written):
    """Any other notation is refused, with examples of the right one."""
    with pytest.raises(InvalidValue, match="is not a duration"):
        Duration(0).read(written)


@pytest.mark.parametrize(
    ("bounds", "written", "message"),
    [
        (Size(5 * MIB, 5 * GIB), "1MB", "is less than 5MiB"),
        (Size(5 * MIB, 5 * GIB), 6 * GIB, "is more than 5GiB"),
        (Size(0), -1, "is less than 0"),
        (Size(1500), 1, "is less than 1500B"),
        (Duration(1, 7 * DAY), 0, "is less than 1s"),
        (Duration(0.1, DAY), "1ms", "is less than 100ms"),
        (Duration(1, 7 * DAY), "8d", "is more than 7d"),
        (Duration(1, 90), 91, "is more than 90s"),
    ],
)
def test_bounds_are_reported_in_units(bounds, written, message):
    """A quantity out of bounds is refused with the bound as people write it."""
    with pytest.raises(InvalidValue) as caught:
        bounds.read(written)
    assert caught.value.message == message


@pytest.mark.parametrize("written", [5 * MIB, "5MiB", 5 * GIB, "5GiB"])
def test_bounds_belong_to_what_is_allowed(written):
    """The bounds themselves are within."""
    assert Size(5 * MIB, 5 * GIB).read(written) in (5 * MIB, 5 * GIB)


def test_large_durations_keep_their_fraction():
    """Decimal arithmetic adds no error of its own."""
    assert float(Duration(0).read("100d0.1s")) == 8640000.1


@given(st.text(max_size=12))
def test_no_string_makes_it_raise_anything_else(text):
    """Whatever a string says, it is a quantity or a misfit."""
    for kind in (Size(0), Duration(0)):
        with suppress(InvalidValue):
            assert kind.read(text) >= 0


def test_json_schema_has_bounds_and_units():
    """An editor knows the bounds of a plain number, and how units are written."""
    assert Size(1, 2).json_schema()["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert Size(1).json_schema()["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert Duration(0.5, 2).json_schema()["anyOf"][0] == {"type": "number", "minimum": 0.5, "maximum": 2}
    assert re.search(Size(1).json_schema()["anyOf"][1]["pattern"], "5GiB")
