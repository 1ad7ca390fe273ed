import os
from collections.abc import Callable

import pytest
from command_lines import CommandLine
from programs import output_of


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> CommandLine:
    """Runs command lines in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return CommandLine(capsys)


@pytest.fixture(autouse=True)
def no_terminal_variables(monkeypatch):
    """Removes the variables of the environment that describe a terminal, so that each test sets its own."""
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def commit(command, tmp_path, monkeypatch) -> Callable[[], None]:
    """Commits all files of the directory to a Git repository of its own."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    output_of("git", "init", "-q", "-b", "main")

    def run() -> None:
        output_of("git", "add", "-A")
        output_of("git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-qm", "Rules")

    return run
