"""Commands run in the process of the tests, with their exit status and output."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from tornado_proxy.cli.main import main

HEAVY_MODULES = ["tornado", "asyncio", "boto3", "botocore", "jinja2", "pydantic", "watchdog"]


@dataclass(frozen=True)
class CompletedCommand:
    """The exit status and the output of a command that has ended."""

    status: int
    out: str
    err: str


class CommandLine:
    """A function that runs a command in the process of the tests."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> CompletedCommand:
        """Runs `tornado-proxy` with arguments."""
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as error:
            status = int(error.code or 0)
        printed = self._capsys.readouterr()
        return CompletedCommand(status, printed.out, printed.err)


def imported_by(*commands: Sequence[str], among: Sequence[str] = HEAVY_MODULES) -> set[str]:
    """The modules among some that commands import, run one after another in a new process."""
    script = (
        f"import sys; from tornado_proxy.cli.main import main; [main(words) for words in {[*commands]}];"
        f"print(*[name for name in {[*among]} if name in sys.modules], file=sys.stderr)"
    )
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(process.stderr.strip().splitlines()[-1].split()) if process.stderr.strip() else set()
