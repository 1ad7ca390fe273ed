from typing import Annotated

import pytest
from msgspec import field

from tornado_proxy.config.actions import SystemMetadata, Webhook
from tornado_proxy.config.model import Mount, Settings
from tornado_proxy.config.options import NoOption, OptionGroup, SettingsSection, all_options, options_of
from tornado_proxy.config.secrets import Secret, holds_secrets
from tornado_proxy.config.server import Log
from tornado_proxy.config.values import Bounds


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
    assert dotted in [option.dotted for option in all_options(Settings)]


def test_no_option_is_found_twice():
    paths = [option.path for option in all_options(Settings)]
    assert len(paths) == len(set(paths))


class _Lock(SettingsSection, frozen=True):
    """A section of a key."""

    key: Secret


class _Door(SettingsSection, frozen=True):
    """A section with a group, a list and fields that are not options."""

    groups = (OptionGroup("frame", "What holds it."),)

    has_lock: bool = False
    max_width: Annotated[int, Bounds(1, 9)] | None = field(name="width", default=None)
    wood: str = field(name="frame.wood", default="oak")
    nails: int = field(name="frame.nails", default=4)
    locks: tuple[_Lock, ...] = ()
    made: NoOption[int] = 1


def test_options_are_the_fields_of_a_section():
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
    dotted = [path.dotted for path in all_options(_Door)]
    assert dotted == [
        "hasLock", "width", "frame", "frame.wood", "frame.nails", "locks", "locks.*.key", "locks.*.key.env",
        "locks.*.key.path", "locks.*.key.credential", "locks.*.key.value",
    ]  # fmt: skip


@pytest.mark.parametrize(("section", "holds"), [(_Lock, True), (_Door, True), (Log, False), (Mount, False)])
def test_secrets_are_found_at_any_depth(section, holds):
    assert holds_secrets(section) is holds


def test_a_mapping_of_secrets_is_found():
    assert holds_secrets(Webhook)
    assert not holds_secrets(SystemMetadata)
