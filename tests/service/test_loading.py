"""What configuration and rule files say together."""

from __future__ import annotations

import pytest
from files import ENVIRONMENT, Files

from tornado_proxy.service.loading import load


@pytest.fixture
def files(tmp_path):
    """A set with one rewrite."""
    return Files.create(tmp_path, site='rewrite a `^/a$` -> "/b"')


def test_a_good_set_is_usable(files):
    """Settings and rule sets come together."""
    loaded = load(files.configuration, ENVIRONMENT)
    assert loaded.usable
    assert loaded.rule_sets["site"].rewrite("/a").key == "/b"


def test_rules_of_an_unknown_target_are_an_error(files):
    """A block that no target of the configuration has is wrong, and the target that was meant is named."""
    files.path("other").write_text("target sight {}\n")
    (diagnostic,) = files.load().diagnostics
    assert (diagnostic.code, diagnostic.help) == ("unknown-target", "did you mean `site`?")


def test_a_target_that_resembles_none_is_to_be_named(files):
    """Where no target is meant, the cure is to name one."""
    files.path("other").write_text("target wholly-different {}\n")
    (diagnostic,) = files.load().diagnostics
    assert diagnostic.help == "name it in `targets` of the configuration"


def test_mistakes_of_all_files_are_said_in_one_run(files):
    """A mistake in one file does not hide that in another."""
    files.write('rewrite `^/(` -> "/b"')
    files.write("rewrit", "other")
    loaded = files.load()
    assert not loaded.usable
    assert {each.span.source.name.rpartition("/")[2] for each in loaded.diagnostics} == {"site.rules", "other.rules"}


def test_a_bad_configuration_hides_no_mistake_of_its_own(files):
    """Without settings there are no rules to ask for, and the configuration's mistakes are said."""
    files.configure(files.configuration.read_text().replace("mount", "mounts"))
    loaded = files.load()
    assert loaded.settings is None
    assert not loaded.usable
    assert loaded.diagnostics


RESOURCES = """    resources: [{path: /**, provider: staff, basic: {credentials: [{user: ann, password: {env: HASH}}]}}]
authProviders: {basic: {staff: {realm: Files}}}
"""


def test_a_hash_that_cannot_be_checked_is_an_error_that_does_not_show_it(files):
    """A password that looks like a hash and is none is found at load, where the configuration names it."""
    files.configure(files.configuration.read_text() + RESOURCES)
    loaded = load(files.configuration, {**ENVIRONMENT, "HASH": "$2b$nonsense"})
    (diagnostic,) = loaded.diagnostics
    assert (diagnostic.code, diagnostic.span.text) == ("unreadable-hash", "password")
    assert "nonsense" not in diagnostic.message


def test_a_hash_of_another_kind_is_a_warning(files):
    """It would be taken for the password, which is hardly meant, and can be."""
    files.configure(files.configuration.read_text() + RESOURCES)
    loaded = load(files.configuration, {**ENVIRONMENT, "HASH": "{SHA}nonsense="})
    (diagnostic,) = loaded.diagnostics
    assert (diagnostic.code, loaded.usable) == ("doubtful-password", True)
    assert "nonsense" not in diagnostic.message


def test_rules_that_are_not_there_are_an_error_where_they_are_named(files):
    """The place of the mistake is the configuration's."""
    files.configure(files.configuration.read_text().replace("[rules]", "[rules, nowhere]"))
    (diagnostic,) = files.load().diagnostics
    assert (diagnostic.code, diagnostic.span.text) == ("no-rule-files", "nowhere")


def test_a_configuration_without_rules_needs_no_rule_files(files):
    """`rules` may be left out."""
    files.configure(files.configuration.read_text().replace("rules: [rules]\n", ""))
    assert files.load().usable
