"""What CONTRIBUTING.md and docs/architecture.md name exists: files, folders, modules, and the targets of make."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = sorted(path.parent.name for path in (ROOT / "tornado_proxy").glob("*/__init__.py"))


def _quoted(text: str, pattern: str) -> list[str]:
    return sorted(set(re.findall(rf"`({pattern})`", text)))


@pytest.mark.parametrize("name", _quoted(CONTRIBUTING, r"\.?[\w.]+/[\w./-]*"))
def test_a_path_that_contributors_are_sent_to_exists(name):
    """Each file and folder of the guide is there."""
    assert (ROOT / name).exists()


def test_every_make_command_exists():
    """What the guide tells to make can be made."""
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"make ([a-z]+)  ", CONTRIBUTING)) <= targets


@pytest.mark.parametrize("page", [CONTRIBUTING, ARCHITECTURE], ids=["CONTRIBUTING", "architecture"])
def test_every_package_is_named(page):
    """A package that the two maps leave out is nowhere explained."""
    assert [name for name in PACKAGES if not re.search(rf"\b{name}\b", page)] == []


@pytest.mark.parametrize("name", _quoted(ARCHITECTURE, rf"(?:{'|'.join(PACKAGES)})(?:\.\w+)+"))
def test_a_module_or_class_of_the_architecture_exists(name):
    """Each dotted name is a module, or something in one."""
    dotted = f"tornado_proxy.{name}"
    parent, _, last = dotted.rpartition(".")
    try:
        found = importlib.util.find_spec(dotted)
    except ModuleNotFoundError:
        found = None
    assert found or hasattr(importlib.import_module(parent), last)
