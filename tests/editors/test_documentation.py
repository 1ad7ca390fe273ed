"""Holds `docs/editors.md` true: its paths, settings and examples exist."""

import json
import re
import tomllib

import pytest
from fenced import blocks
from programs import ROOT

PAGE = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
PACKAGE = json.loads((ROOT / "editors/vscode/package.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", sorted(set(re.findall(r"(?<![\w/-])editors/[\w./-]*\w", PAGE))))
def test_every_path_of_the_page_exists(path):
    """Each path below `editors/` on the page is a file or directory of the repository."""
    assert (ROOT / path).exists()


@pytest.mark.parametrize("name", PACKAGE["contributes"]["configuration"]["properties"])
def test_every_setting_of_the_extension_is_on_the_page(name):
    assert f"`{name}`" in PAGE


def test_the_page_installs_the_current_package():
    """The page has the name and version of the packed extension."""
    assert f"{PACKAGE['name']}-{PACKAGE['version']}.vsix" in PAGE


def test_settings_for_other_editors_are_well_formed():
    """The TOML example can be parsed, and the settings name the language."""
    (helix,) = map(tomllib.loads, blocks(PAGE, "toml"))
    (language,) = PACKAGE["contributes"]["languages"]
    assert f'`"[{language["id"]}]": ' in PAGE
    assert helix["language"][0]["name"] == language["id"]
