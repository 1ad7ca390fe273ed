from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from tornado_proxy.cli.inputs import configured_sites, default_places, load_rules, load_settings, number, require_target
from tornado_proxy.cli.output import CommandError, ExitStatus

CONFIGURATION = """
rules: [rules/]
targets:
  site:
    mount: {path: [/]}
    bucket: {name: files, region: eu-west-1, credentials: {accessKey: {env: NOT_SET}, secretKey: {env: NOT_SET}}}
  other:
    mount: {path: [/other]}
    bucket: {name: files, region: eu-west-1}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A configuration and its rules."""
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    Path("rules/site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    Path("proxy.yaml").write_text(CONFIGURATION)


def test_rules_are_looked_for_where_they_usually_are(files, monkeypatch):
    """In `rules/`, or else in the current directory."""
    assert default_places() == [Path("rules")]
    monkeypatch.chdir("rules")
    assert default_places() == [Path()]


def test_a_configuration_is_read_without_its_secrets(files):
    """None of the commands needs a secret."""
    assert [each.name for each in load_settings(Path("proxy.yaml")).targets] == ["site", "other"]


@pytest.mark.parametrize(
    ("text", "status"), [(None, ExitStatus.FAILED), ("targets: 1\n", ExitStatus.FINDINGS)], ids=["missing", "wrong"]
)
def test_a_configuration_that_cannot_be_used_ends_the_command(files, text, status):
    """A mistake in it is a finding; a file that is not there keeps the tool from its work."""
    Path("proxy.yaml").unlink()
    if text is not None:
        Path("proxy.yaml").write_text(text)
    with pytest.raises(CommandError) as ended:
        load_settings(Path("proxy.yaml"))
    assert ended.value.status is status
    assert ended.value.diagnostics


@pytest.mark.parametrize(
    ("place", "status"), [("nowhere", ExitStatus.FAILED), ("rules/broken.rules", ExitStatus.FINDINGS)]
)
def test_rules_that_cannot_be_used_end_the_command(files, place, status):
    """The same holds for them."""
    Path("rules/broken.rules").write_text("target {")
    with pytest.raises(CommandError) as ended:
        load_rules([Path(place)])
    assert ended.value.status is status


def test_configured_sites_are_the_targets_in_order(files):
    """Those without rules too; or the one that is asked for."""
    settings, loaded = load_settings(Path("proxy.yaml")), load_rules([Path("rules")])
    assert [each.target.name for each in configured_sites(settings, loaded)] == ["site", "other"]
    assert [each.target.name for each in configured_sites(settings, loaded, "other")] == ["other"]


def test_a_target_that_is_not_there_is_answered_with_the_one_that_was_meant():
    """Where one looks like it."""
    with pytest.raises(CommandError, match=r"unknown target `sit`; did you mean `site`\?"):
        require_target("sit", ["site"])
    with pytest.raises(CommandError, match=r"unknown target `zzz`$"):
        require_target("zzz", ["site"])


@pytest.mark.parametrize(
    ("kind", "bounds", "text", "found"),
    [
        (int, (1,), "3", 3),
        (float, (0, 100), "99.5", 99.5),
        (int, (1,), "0", "`0` is not a whole number of at least 1"),
        (int, (0, 65535), "x", "`x` is not a whole number from 0 to 65535"),
        (float, (0, 100), "nan", "`nan` is not a number from 0 to 100"),
    ],
)
def test_a_number_has_bounds(kind, bounds, text, found):
    """Another text is a usage error, which names the bounds."""
    try:
        given = number(kind, *bounds)(text)
    except argparse.ArgumentTypeError as error:
        given = str(error)
    assert given == found
