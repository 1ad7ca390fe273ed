"""The command itself: help, version, unknown subcommands, and the contract of exit statuses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tornado_proxy.cli import main as command
from tornado_proxy.cli.main import COMMANDS, main
from tornado_proxy.cli.output import ExitStatus


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
        "broken = types.ModuleType('tornado_proxy.cli.requests', 'x')\n"
        "broken.explain_arguments = lambda parser: None\n"
        "broken.run_explain = lambda arguments: 1 / 0\n"
        "sys.modules['tornado_proxy.cli.requests'] = broken\n"
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


@pytest.mark.parametrize("text", ["-1", "65536", "http"])
def test_the_port_of_the_demo_is_one(capfd, text):
    """An invalid port is a usage error, not a failure of the socket."""
    with pytest.raises(SystemExit, match="2"):
        main(["demo", f"--port={text}"])
    assert f"`{text}` is not a whole number from 0 to 65535" in capfd.readouterr().err


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


# A service needs no stream.
EVERY_OTHER = [*(name for name in COMMANDS if name not in {"serve", "demo"}), "--help", "--version"]


def _in_shell(redirected: str) -> subprocess.CompletedProcess[str]:
    """A command line with its redirections."""
    words = ["bash", "-c", f"{sys.executable} -m tornado_proxy {redirected}"]
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", EVERY_OTHER)
def test_without_standard_output_nothing_is_done(words):
    """One line gives the reason, and the status is 2."""
    done = _in_shell(f"{words} >&-")
    assert done.returncode == ExitStatus.FAILED
    assert done.stderr.splitlines() == [f"tornado-proxy{f' {words}' if words in COMMANDS else ''}: {CLOSED}"]


CLOSED = "standard output is closed"


@pytest.mark.parametrize("words", ["--version", "completion bash", "lint --list"])
def test_a_full_disk_is_reported_on_one_line(words):
    """It is not a defect of the tool: there is one line and no traceback."""
    done = _in_shell(f"{words} >/dev/full")
    name = words.partition(" ")[0]
    assert done.returncode == ExitStatus.FAILED
    assert done.stderr == f"tornado-proxy{f' {name}' if name in COMMANDS else ''}: No space left on device\n"


@pytest.mark.parametrize("words", ["lint -", "fmt -", "explain --requests - --rules site.rules", "lsp"])
def test_standard_input_that_is_closed_is_told_to_those_who_read_it(words, tmp_path):
    """One line, and status 2."""
    (tmp_path / "site.rules").write_text("target site {}\n", encoding="utf-8")
    done = _in_shell(f"{words} <&-".replace("site.rules", str(tmp_path / "site.rules")))
    assert done.returncode == ExitStatus.FAILED
    assert done.stderr == f"tornado-proxy {words.partition(' ')[0]}: standard input is closed\n"


def test_streams_that_are_not_needed_may_be_closed():
    """The command runs; errors are not printed to another stream."""
    done = _in_shell("lint --list <&- 2>&-")
    assert done.returncode == ExitStatus.CLEAN
    done = _in_shell("lint nowhere 2>&-")
    assert (done.returncode, done.stdout) == (ExitStatus.FAILED, "")


def test_a_misspelt_option_is_answered_with_the_right_one(capsys):
    """An option that resembles no other gets no suggestion."""
    for word, cure in (("--formt", "--formt; did you mean `--format`?\n"), ("--zzz", "--zzz\n")):
        with pytest.raises(SystemExit) as ended:
            main(["lint", word])
        assert ended.value.code == ExitStatus.FAILED
        assert capsys.readouterr().err.endswith(f"unrecognized arguments: {cure}")
