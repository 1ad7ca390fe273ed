"""The command itself: help, version, unknown subcommands, and the contract of exit statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tornado_proxy.cli import main as command
from tornado_proxy.cli.main import COMMANDS, main
from tornado_proxy.cli.status import ExitStatus


def test_without_a_subcommand_it_lists_them_all(capsys):
    """The bare command prints its help and is content."""
    assert main([]) == ExitStatus.CLEAN
    printed = capsys.readouterr().out
    assert [name for name in COMMANDS if name not in printed] == []


def test_a_misspelt_subcommand_is_answered_with_the_right_one(capsys):
    """An unknown subcommand is a usage error that names the one that was meant."""
    with pytest.raises(SystemExit) as ended:
        main(["explian"])
    assert ended.value.code == ExitStatus.FAILED
    assert "did you mean `explain`?" in capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_every_subcommand_explains_itself(name, capsys):
    """Each subcommand has a help page."""
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == ExitStatus.CLEAN
    assert f"tornado-proxy {name}" in capsys.readouterr().out


def test_the_version_is_the_installed_one(capsys):
    """`--version` prints the name and a version."""
    assert main(["--version"]) == ExitStatus.CLEAN
    assert capsys.readouterr().out.startswith("tornado-proxy 0.")


def test_a_defect_never_looks_like_findings():
    """Whatever goes wrong in the tool ends with status 2, never with Python's 1."""
    script = (
        "import sys, types; from tornado_proxy.cli import main\n"
        "broken = types.ModuleType('tornado_proxy.cli.explain', 'x')\n"
        "broken.add_arguments = lambda parser: None\n"
        "broken.run = lambda arguments: 1 / 0\n"
        "sys.modules['tornado_proxy.cli.explain'] = broken\n"
        "sys.exit(main.main(['explain']))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == ExitStatus.FAILED
    assert "ZeroDivisionError" in result.stderr


def test_the_statuses_are_a_contract():
    """0 is clean, 1 means findings, 2 means that the tool could not do its work."""
    assert [(status.name, status.value) for status in command.ExitStatus] == [
        ("CLEAN", 0),
        ("FINDINGS", 1),
        ("FAILED", 2),
    ]


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_daemon_that_starts_is_not_ended_by_a_wish_to_reload(command):
    """SIGHUP, which would end a process by default, is nothing to one that is about to read its files."""
    code = f"""import signal
from tornado_proxy.cli.main import main
try:
    main([{command!r}, "--help"])
finally:
    print(signal.getsignal(signal.SIGHUP).name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "SIG_IGN"
