import pytest
from command_lines import CommandLine


@pytest.fixture
def command(tmp_path, monkeypatch, capsys) -> CommandLine:
    """Runs command lines in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return CommandLine(capsys)


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """What the environment says of a terminal is the test's own."""
    for name in ("TERM", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
