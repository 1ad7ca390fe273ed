"""Command lines run in the process: what they end with, and what they print."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tornado_proxy.cli.main import main

HEAVY = ["tornado", "asyncio", "boto3", "botocore", "jinja2", "pydantic", "yaml", "watchdog"]


@dataclass(frozen=True)
class Done:
    """What a command did."""

    status: int
    out: str
    err: str


class CommandLine:
    """Runs the command in the current directory."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str) -> Done:
        """Run one."""
        try:
            status = main([str(word) for word in words])
        except SystemExit as ended:
            status = int(ended.code or 0)
        printed = self._capsys.readouterr()
        return Done(status, printed.out, printed.err)


def imported_by(*words: str, among: Sequence[str] = HEAVY) -> set[str]:
    """The heavy modules that a command imports, or others of interest, in a process of its own."""
    script = (
        "import sys; from tornado_proxy.cli.main import main; main(sys.argv[1:]);"
        f"print(*[name for name in {[*among]} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
    return set(done.stderr.strip().splitlines()[-1].split()) if done.stderr.strip() else set()
