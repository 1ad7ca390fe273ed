"""Real editors and their parts, which `tests/integration/install editors` installs; without one, a test is skipped."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

_PARTS = Path(os.environ.get("TORNADO_PROXY_PARTS", "/var/cache/tornado-proxy"))
_CURE = "`tests/integration/install editors` installs it"


def program(name: str) -> str:
    """The path of a program."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"there is no `{name}`; {_CURE}")
    return found


def packing_modules() -> Path:
    """What the extension for VS Code is packed with."""
    modules = _PARTS / "editors" / "vscode" / "node_modules"
    if not (modules / ".bin" / "vsce").exists():
        pytest.skip(f"there is no vsce in {modules}; {_CURE}")
    return modules


def node_modules() -> Path:
    """VS Code's tokeniser, and what it reads expressions with."""
    modules = _PARTS / "editors" / "node_modules"
    if not (modules / "vscode-textmate").is_dir():
        pytest.skip(f"there is no vscode-textmate in {modules}; {_CURE}")
    return modules
