from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from config_schema import bounds_schema
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
def test_all_options_are_found_at_every_depth(dotted):
    """Options are found inside mappings by name, lists and optional sections."""
    assert dotted in [option.dotted for option in all_options(Settings)]


def test_no_option_is_found_twice():
    """Each path is found once."""
    paths = [option.path for option in all_options(Settings)]
    assert len(paths) == len(set(paths))


@dataclass(frozen=True, slots=True)
class _Lock:
    """A section of a key."""

    key: Secret = option("What opens it.")


_FRAME = OptionGroup("frame", "What holds it.")


@dataclass(frozen=True, slots=True)
class _Door:
    """A section with a group, a list and fields that are not options."""

    has_lock: bool = option("Whether it can be locked.", default=False)
    max_width: Annotated[int, Bounds(1, 9)] | None = option("How wide it may be.", default=None, name="width")
    wood: str = option("The wood of the frame.", default="oak", group=_FRAME)
    nails: int = option("The nails in the frame.", default=4, group=_FRAME)
    locks: tuple[_Lock, ...] = option("What keeps it shut.", default=())
    made: int = field(default=1)  # not an option
    place: object = place_of("width")  # not an option


def test_options_are_the_fields_made_by_option():
    """An option has the name of its field in camelCase, or a name of its own."""
    assert [opt.name for opt in options_of(_Door)] == ["hasLock", "width", "wood", "nails", "locks"]
    assert [opt.attribute for opt in options_of(_Door)][1] == "max_width"


def test_an_option_without_a_default_is_required():
    assert [opt.is_required for opt in options_of(_Lock)] == [True]
    assert not any(opt.is_required for opt in options_of(_Door))


def test_the_type_of_an_option_is_recognised():
    """A type is read without `| None` and with its bounds, and the type of a list has that of its items."""
    _, width, *_, locks = (opt.type for opt in options_of(_Door))
    assert (width.base, width.bounds, locks.bounds) == (int, Bounds(1, 9), None)
    assert locks.is_list
    assert locks.item.section is _Lock


def test_a_group_is_part_of_the_path():
    """The path of an option contains its group, and the group is listed once."""
    dotted = [path.dotted for path in all_options(_Door)]
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
def test_secrets_are_found_at_any_depth(section, holds):
    """A section holds secrets if an option at any depth below it does."""
    assert holds_secrets(section) is holds


def test_a_mapping_of_secrets_is_found():
    """A section with a mapping of secrets holds secrets."""
    assert holds_secrets(Webhook)
    assert not holds_secrets(SystemMetadata)


@pytest.mark.parametrize(
    ("value", "size"),
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
def test_a_size_is_read_as_bytes(value, size):
    """A number is bytes; units are decimal, or binary with an `i`."""
    assert Size(0).read(value) == size


@pytest.mark.parametrize("value", ["5", "5G", "5gib", "GiB", "-1KB", "1e3B", "", True, 1.5, None, [], "9" * 16 + "B"])
def test_an_invalid_size_is_refused(value):
    """Any other notation is refused."""
    with pytest.raises(InvalidValue, match="is not a size"):
        Size(0).read(value)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(30, 30.0), (0.5, 0.5), ("30s", 30.0), ("500ms", 0.5), ("5m", 300.0), ("1h30m", 5400.0), ("1.5h", 5400.0), ("7d", 604800.0)],
)  # fmt: skip
def test_a_duration_is_read_as_seconds(value, seconds):
    """A number is seconds; several units may follow each other, as in Go."""
    assert Duration(0).read(value) == seconds


@pytest.mark.parametrize("value", ["30", "soon", "5 m", "-5s", "1w", "", True, None, {}])
def test_an_invalid_duration_is_refused(value):
    """Any other notation is refused."""
    with pytest.raises(InvalidValue, match="is not a duration"):
        Duration(0).read(value)


@pytest.mark.parametrize(
    ("bounds", "value", "message"),
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
def test_bounds_are_reported_with_units(bounds, value, message):
    """A value out of bounds is refused with the bound in its usual unit."""
    with pytest.raises(InvalidValue) as caught:
        bounds.read(value)
    assert caught.value.message == message


@pytest.mark.parametrize("value", [5 * MIB, "5MiB", 5 * GIB, "5GiB"])
def test_the_bounds_themselves_are_allowed(value):
    """A value that equals a bound is accepted."""
    assert Size(5 * MIB, 5 * GIB).read(value) in (5 * MIB, 5 * GIB)


def test_large_durations_keep_their_fraction():
    """Reading a duration is exact, because it uses decimal arithmetic."""
    assert float(Duration(0).read("100d0.1s")) == 8640000.1


@given(st.text(max_size=12))
def test_any_text_is_a_quantity_or_an_invalid_value(text):
    """Any text is read as a quantity, or raises InvalidValue."""
    for quantity in (Size(0), Duration(0)):
        with suppress(InvalidValue):
            assert quantity.read(text) >= 0


def test_the_json_schema_has_bounds_and_units():
    """The schema of a quantity has the bounds of a number and the pattern of a text with units."""
    assert bounds_schema(Size(1, 2))["anyOf"][0] == {"type": "integer", "minimum": 1, "maximum": 2}
    assert bounds_schema(Size(1))["anyOf"][0] == {"type": "integer", "minimum": 1}
    assert bounds_schema(Duration(0.5, 2))["anyOf"][0] == {"type": "number", "minimum": 0.5, "maximum": 2}
    assert re.search(bounds_schema(Size(1))["anyOf"][1]["pattern"], "5GiB")
