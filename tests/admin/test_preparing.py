"""What a start keeps is made by one command, for installations where the service may not write."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.integration  # it compiles all modules
def test_what_a_start_keeps_is_made(tmp_path):
    """A service that may not write finds the tables of the parser."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    subprocess.run([sys.executable, "-m", "tornado_proxy.admin.preparing"], env=environment, check=True)
    assert [each.suffix for each in tmp_path.rglob("*.lark")] == [".lark"]
