"""The files, folders, packages and make targets that CONTRIBUTING.md and docs/architecture.md name exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = sorted(path.parent.name for path in (ROOT / "tornado_proxy").glob("*/__init__.py"))


@pytest.mark.parametrize("name", sorted({*re.findall(r"`(\.?[\w.]+/[\w./-]*)`", CONTRIBUTING)}))
def test_a_path_of_the_guide_exists(name):
    """Each file and folder that CONTRIBUTING.md names exists."""
    assert (ROOT / name).exists()


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md"])
def test_every_make_command_exists(name):
    targets = set(re.findall(r"^([a-z -]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"[$`] ?make ([a-z-]+)", (ROOT / name).read_text()))
    assert named <= {word for line in targets for word in line.split()}


@pytest.mark.parametrize("page", [CONTRIBUTING, ARCHITECTURE], ids=["CONTRIBUTING", "architecture"])
def test_every_package_is_named(page):
    assert [name for name in PACKAGES if not re.search(rf"\b{name}\b", page)] == []
