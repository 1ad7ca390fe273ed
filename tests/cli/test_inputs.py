import argparse
from pathlib import Path

import pytest

from tornado_proxy.cli.inputs import configured_sites, load_rules, load_settings, number, require_target
from tornado_proxy.cli.main import main
from tornado_proxy.cli.output import CommandError
from tornado_proxy.rules.loading import read_rule_files

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
    """Writes a configuration and its rules to the current directory."""
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    Path("rules/site.rules").write_text('target site { rewrite `^/a$` -> "/b" }\n')
    Path("proxy.yaml").write_text(CONFIGURATION)


def test_configured_sites_are_the_targets_in_order(files):
    """Targets without rules are included, unless one target is selected."""
    settings, loaded = load_settings(Path("proxy.yaml")), load_rules(read_rule_files([Path("rules")]))
    assert [site.target.name for site in configured_sites(settings, loaded)] == ["site", "other"]
    assert [site.target.name for site in configured_sites(settings, loaded, "other")] == ["other"]


def test_the_error_about_an_unknown_target_suggests_a_similar_one():
    """Without a similar one it lists the targets, if they are few."""
    with pytest.raises(CommandError, match=r"unknown target `sit`; did you mean `site`\?"):
        require_target("sit", ["site"])
    for names, end in (
        (["site"], "; there is `site`"),
        (["a", "b"], "; there are `a` and `b`"),
        (["a"] * 11, ""),
        ([], ""),
    ):
        with pytest.raises(CommandError, match=rf"unknown target `zzz`{end}$"):
            require_target("zzz", names)


@pytest.mark.parametrize("command", [["fmt"], ["lint"], ["test"], ["explain", "/a", "--rules"]])
def test_an_empty_path_is_a_usage_error(command, tmp_path, monkeypatch, capsys):
    """An unset variable of a shell does not stand for the current directory, whose files would be read or formatted."""
    (tmp_path / "site.rules").write_text("target site{}")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as caught:
        main([*command, ""])
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith("a path cannot be empty\n")
    assert (tmp_path / "site.rules").read_text() == "target site{}"


@pytest.mark.parametrize(
    ("kind", "bounds", "text", "expected"),
    [
        (int, (1,), "3", 3),
        (float, (0, 100), "99.5", 99.5),
        (int, (1,), "0", "`0` is not a whole number of at least 1"),
        (int, (0, 65535), "x", "`x` is not a whole number from 0 to 65535"),
        (float, (0, 100), "nan", "`nan` is not a number from 0 to 100"),
    ],
)
def test_a_number_outside_its_bounds_is_a_usage_error(kind, bounds, text, expected):
    try:
        result = number(kind, *bounds)(text)
    except argparse.ArgumentTypeError as error:
        result = str(error)
    assert result == expected
