"""`tornado-proxy completion`: what the shells offer once they have read its scripts."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tornado_proxy.cli.main import COMMANDS, _describe

ROOT = Path(__file__).parents[2]
SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture
def script(command, tmp_path):
    """Writes the script for a shell to a file, which it returns."""

    def write(shell):
        path = tmp_path / f"script.{shell}"
        path.write_text(command("completion", shell).out)
        return path

    return write


@pytest.fixture
def complete(script):
    """What bash offers for a command line, split into words as bash does, the last of which is being typed."""
    path = script("bash")
    Path("rules").mkdir()
    Path("read me.txt").write_text("")

    def run(*words):
        typed = " ".join(f"'{word}'" for word in ("tornado-proxy", *words))
        ask = f'source "$1"; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _tornado_proxy 2>/dev/null; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", ask, "bash", str(path)], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return run


def test_commands_are_completed(complete):
    """All of them, and the options of the bare command."""
    assert complete("") == list(COMMANDS)
    assert complete("ex") == ["explain"]
    assert complete("--v") == ["--version"]


def test_options_of_a_command_are_completed(complete):
    """Those that begin as what was typed."""
    assert complete("diff", "old", "new", "--re") == ["--requests"]
    assert complete("fmt", "--d") == ["--diff"]


def test_values_that_are_one_of_a_few_are_completed(complete):
    """After an option, with `=` or a space in between."""
    assert complete("diff", "--format", "") == ["text", "json", "markdown"]
    assert complete("diff", "--format", "=", "m") == ["markdown"]
    assert complete("diff", "--format", "=") == ["text", "json", "markdown"]
    assert complete("lint", "--fail-level", "w") == ["warning"]
    assert complete("completion", "f") == ["fish"]


def test_files_are_completed_where_files_are_meant(complete):
    """As values and as arguments; a space in a name does not end it."""
    assert sorted(complete("explain", "--config", "r")) == ["read me.txt", "rules"]
    assert complete("explain", "--config", "=", "ru") == ["rules"]
    assert complete("lint", "--fix", "ru") == ["rules"]
    assert complete("diff", "old", "ru") == ["rules"]


def test_nothing_is_offered_where_nothing_is_known(complete):
    """A name that anybody may choose; a request's path, which is not a file's."""
    assert complete("explain", "--user", "r") == [""]
    assert complete("explain", "r") == [""]


def test_bash_takes_the_script_for_the_program(script):
    """Bash asks our function, which knows `=`, and not shtab's."""
    done = subprocess.run(
        ["bash", "-c", f"source {script('bash')}; complete -p tornado-proxy"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "complete -F _tornado_proxy tornado-proxy\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_read_its_script(shell, script):
    """The shell's own parser finds nothing wrong."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(script(shell))], check=True)


def test_zsh_finds_the_function_that_the_installed_file_calls(script):
    """The file in the wheel asks the program for the script, and calls the function that it defines."""
    installed = (ROOT / "packaging" / "completions" / "_tornado-proxy").read_text()
    assert installed.splitlines()[-1] == '_shtab_tornado_proxy "$@"'
    assert "\n_shtab_tornado_proxy() {\n" in script("zsh").read_text()


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ex", ["explain"]),
        ("lint --fo", ["--format"]),
        ("diff --format ", ["json", "markdown", "text"]),
        ("explain --user r", []),
        ("explain --config r", ["rules/"]),
        ("lint r", ["rules/"]),
    ],
)
def test_fish_completes(words, offered, script, tmp_path):
    """The shell itself is asked what it offers, and files are among it only where one belongs."""
    path = script("fish")
    (tmp_path / "rules").mkdir()
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    asked = f"source {path}; complete -C 'tornado-proxy {words}'"
    done = subprocess.run(
        ["fish", "-c", asked], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert sorted(line.partition("\t")[0] for line in done.stdout.splitlines()) == offered


def _described(*words, **settings):
    action = argparse.ArgumentParser(add_help=False).add_argument(*words, **settings)
    _describe(action)
    return action


@pytest.mark.parametrize(
    ("words", "settings", "is_file"),
    [
        (["--flag"], {"action": "store_true"}, False),
        (["--file"], {"type": Path}, True),
        (["paths"], {"nargs": "*", "metavar": "PATH"}, True),
        (["old"], {"metavar": "OLD"}, True),
        (["path"], {"nargs": "?", "metavar": "PATH"}, False),
        (["--name"], {}, False),
    ],
)
def test_which_arguments_are_files_is_seen_from_how_they_are_declared(words, settings, is_file):
    """By type, or as the places of commands that also take something else."""
    assert hasattr(_described(*words, **settings), "complete") is is_file
