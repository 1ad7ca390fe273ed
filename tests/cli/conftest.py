import pytest
from command_lines import CommandLine


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
