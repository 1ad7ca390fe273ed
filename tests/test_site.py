"""The manual as a site: its navigation, and the directory of published versions."""

import importlib.util
import json
import tomllib
from pathlib import Path

import pytest
from fenced import blocks
from programs import ROOT

_SPEC = importlib.util.spec_from_file_location("site_versions", ROOT / "packaging" / "site.py")
site = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(site)


def test_the_navigation_has_every_page():
    (home, *chapters) = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    listed = [*home.values(), *(page for chapter in chapters for pages in chapter.values() for page in pages)]
    assert sorted(listed) == sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.fixture
def published(tmp_path) -> Path:
    """A directory where the manuals of three versions were published, one after the other."""
    folder = tmp_path / "published"
    folder.mkdir()
    for version in ("0.9.0", "0.10.0", "0.9.1"):
        built = tmp_path / version
        built.mkdir()
        (built / "index.html").write_text(version)
        site.publish(built, folder, version)
    return folder


def test_a_minor_version_has_the_manual_of_its_last_release(published):
    """A release replaces the manual of its minor version, and leaves the others."""
    assert (published / "0.9" / "index.html").read_text() == "0.9.1"
    assert (published / "0.10" / "index.html").read_text() == "0.10.0"


def test_latest_is_the_newest_version(published):
    """A later release of an older minor version does not become the latest."""
    assert (published / "latest" / "index.html").read_text() == "0.10.0"


def test_versions_are_listed_from_the_newest(published):
    """The menu of versions has the newest first, as numbers and not as texts."""
    versions = json.loads((published / "versions.json").read_text())
    assert [(entry["version"], entry["aliases"]) for entry in versions] == [("0.10", ["latest"]), ("0.9", [])]


def test_the_example_from_python_runs(monkeypatch, capsys):
    """The example of docs/python.md rewrites a key with the rules of the gallery."""
    (example,) = blocks((ROOT / "docs" / "python.md").read_text(), "python")
    monkeypatch.chdir(ROOT)
    exec(example, {})
    assert capsys.readouterr().out == "/archive/press/spring.html press\n"
