from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import pytest

from tornado_proxy.config.actions import SystemMetadata
from tornado_proxy.config.model import Log, Mount, Settings
from tornado_proxy.config.options import Bounds, OptionGroup, all_options, holds_secrets, option, options_of, place_of
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.webhooks import Webhook


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


def test_type_is_told_from_its_marks():
    """`| None` is left out, marks are kept, and a list knows its item."""
    _, width, *_, locks = (each.type for each in options_of(_Door))
    assert (width.base, width.mark(Bounds), width.mark(OptionGroup)) == (int, Bounds(1, 9), None)
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
