"""The scripts in packaging/completions: the shells read them and complete command lines."""

import argparse
import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tornado_proxy.cli.inputs import file_path
from tornado_proxy.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
SHELLS = ["bash", "zsh", "fish"]

_SPEC = importlib.util.spec_from_file_location("complete", ROOT / "packaging" / "complete.py")
maker = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(maker)


def script(shell: str) -> Path:
    """The script for a shell."""
    return ROOT / "packaging" / "completions" / maker.FILES[shell]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_fit_the_command_line(shell):
    """`make completions` writes them anew."""
    assert script(shell).read_text() == maker.script(shell)


@pytest.fixture(name="complete")
def _complete(tmp_path, monkeypatch):
    """Returns a function that lists what bash offers for the last of the given words."""
    path = script("bash")
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    Path("read me.txt").write_text("")

    def run(*words):
        command_line = " ".join(f"'{word}'" for word in ("tornado-proxy", *words))
        completion_script = f'source "$1"; COMP_WORDS=({command_line}); COMP_CWORD={len(words)}; _tornado_proxy 2>/dev/null; printf "%s\\n" "${{COMPREPLY[@]}}"'
        result = subprocess.run(
            ["bash", "-c", completion_script, "bash", str(path)], capture_output=True, text=True, check=True
        )
        assert result.stderr == ""
        return result.stdout.split("\n")[:-1]

    return run


def test_commands_are_completed(complete):
    assert complete("") == list(COMMANDS)
    assert complete("ex") == ["explain"]
    assert complete("--v") == ["--version"]


def test_options_of_a_command_are_completed(complete):
    assert complete("diff", "old", "new", "--re") == ["--requests"]
    assert complete("fmt", "--d") == ["--diff"]


def test_values_of_an_option_with_choices_are_completed(complete):
    assert complete("diff", "--format", "") == ["text", "json", "markdown"]
    assert complete("diff", "--format", "=", "m") == ["markdown"]
    assert complete("diff", "--format", "=") == ["text", "json", "markdown"]
    assert complete("lint", "--fail-level", "w") == ["warning"]


def test_files_are_completed_where_an_option_or_argument_takes_a_file(complete):
    assert sorted(complete("explain", "--config", "r")) == ["read me.txt", "rules"]
    assert complete("explain", "--config", "=", "ru") == ["rules"]
    assert complete("lint", "--fix", "ru") == ["rules"]
    assert complete("diff", "old", "ru") == ["rules"]


def test_no_file_is_offered_for_a_name_or_a_request_path(complete):
    """The user's name and the path of a request are free text, so files would be wrong."""
    assert complete("explain", "--user", "r") == [""]
    assert complete("explain", "r") == [""]


def test_bash_completes_the_program_with_our_function():
    """Bash calls our function, which handles `=`, instead of the one that shtab generates."""
    result = subprocess.run(
        ["bash", "-c", f"source {script('bash')}; complete -p tornado-proxy"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "complete -F _tornado_proxy tornado-proxy\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_parse_its_script(shell):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n", str(script(shell))], check=True)


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
def test_fish_completes_words(words, offered, tmp_path):
    """Fish offers files only where a command takes a file."""
    path = script("fish")
    (tmp_path / "rules").mkdir()
    environment = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    completion_script = f"source {path}; complete -C 'tornado-proxy {words}'"
    result = subprocess.run(
        ["fish", "-c", completion_script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert sorted(line.partition("\t")[0] for line in result.stdout.splitlines()) == offered


def _annotated_action(*words, **options):
    action = argparse.ArgumentParser(add_help=False).add_argument(*words, **options)
    maker.describe(action)
    return action


@pytest.mark.parametrize(
    ("words", "options", "is_file"),
    [
        (["--flag"], {"action": "store_true"}, False),
        (["--file"], {"type": file_path}, True),
        (["paths"], {"nargs": "*", "metavar": "PATH"}, True),
        (["old"], {"metavar": "OLD"}, True),
        (["path"], {"nargs": "?", "metavar": "PATH"}, False),
        (["--name"], {}, False),
    ],
)
def test_arguments_are_completed_with_files_by_their_declaration(words, options, is_file):
    """An argument takes files if its type is a path, or if its placeholder is OLD, NEW or several PATHs."""
    assert hasattr(_annotated_action(*words, **options), "complete") is is_file
