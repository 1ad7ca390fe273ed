from __future__ import annotations

import pytest

from tornado_proxy.config.options import option_at, option_names, options, section_at
from tornado_proxy.config.sections import ConfigurationSection
from tornado_proxy.config.target_sections import BasicUserSection, MountSection, SecretSection, TargetSection


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
    assert dotted in [option.dotted for option in options()]


def test_no_option_is_found_twice():
    """Each path is one option."""
    paths = [option.path for option in options()]
    assert len(paths) == len(set(paths))


def test_names_are_those_of_all_options():
    """The last parts of all paths are the words that a configuration may use."""
    assert option_names() == {option.name for option in options()}


@pytest.mark.parametrize(
    ("location", "section"),
    [
        ((), ConfigurationSection),
        (("targets", "site"), TargetSection),
        (("targets", "targets"), TargetSection),
        (("targets", "site", "mount"), MountSection),
        (("targets", "site", "resources", 3, "basic", "credentials", 0), BasicUserSection),
        (("targets", "site", "resources", 3, "basic", "credentials", 0, "password"), SecretSection),
        (("targets",), None),
        (("targets", "site", "mount", "path"), None),
        (("nothing", "site"), None),
    ],
)
def test_location_leads_to_a_section(location, section):
    """A place in a file is found among the sections, whatever the target is called."""
    assert section_at(location) is section


@pytest.mark.parametrize(
    ("location", "dotted"),
    [
        (("server", "port"), "server.port"),
        (("targets", "site", "mount", "path"), "targets.*.mount.path"),
        (("targets", "site", "resources", 3, "methods"), "targets.*.resources.*.methods"),
        (("targets", "site"), None),
        (("nothing",), None),
        ((), None),
    ],
)
def test_location_leads_to_an_option(location, dotted):
    """The option at a place is known, whatever the target is called."""
    option = option_at(location)
    assert (option.dotted if option else None) == dotted
