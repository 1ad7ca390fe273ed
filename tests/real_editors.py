"""Paths of real editors and their packages, which `tests/integration/install editors` installs; skips a test if one is missing."""

import os
import shutil
from pathlib import Path

import pytest

_PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))
_HELP = "`tests/integration/install editors` installs it"


def program(name: str) -> str:
    """The path of a program."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no `{name}`; {_HELP}")
    return path


def packing_modules() -> Path:
    """The Node modules that pack the extension for VS Code."""
    modules = _PARTS / "editors" / "vscode" / "node_modules"
    if not (modules / ".bin" / "vsce").exists():
        pytest.skip(f"there is no vsce in {modules}; {_HELP}")
    return modules


def node_modules() -> Path:
    """The Node modules with VS Code's tokeniser and its regular expressions."""
    modules = _PARTS / "editors" / "node_modules"
    if not (modules / "vscode-textmate").is_dir():
        pytest.skip(f"there is no vscode-textmate in {modules}; {_HELP}")
    return modules
