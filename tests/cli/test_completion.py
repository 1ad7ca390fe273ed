import subprocess
from pathlib import Path

import pytest

from tornado_proxy.cli.main import COMMANDS
from tornado_proxy.cli.options import all_options
from tornado_proxy.cli.shells import bash


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script for bash, as a file."""
    path = tmp_path_factory.mktemp("completion") / "completion.bash"
    path.write_text("\n".join(bash(COMMANDS, all_options())))
    return path


@pytest.fixture
def complete(script, command):
    """What bash offers for a command line, split into words as bash does, the last of which is being typed."""
    Path("rules").mkdir()
    Path("read me.txt").write_text("")

    def run(*words):
        typed = " ".join(f"'{word}'" for word in ("tornado-proxy", *words))
        ask = f'source "$1"; COMP_WORDS=({typed}); COMP_CWORD={len(words)}; _tornado_proxy; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", ask, "bash", str(script)], capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split("\n")[:-1]

    return run


def test_commands_are_completed(complete):
    """All of them, and what the bare command takes."""
    assert complete("") == [*COMMANDS, "--help", "--version"]
    assert complete("ex") == ["explain"]


def test_options_of_a_command_are_completed(complete):
    """Those that begin as what was typed."""
    assert complete("diff", "old", "new", "--re") == ["--requests"]
    assert complete("fmt", "--d") == ["--diff"]


def test_values_that_are_one_of_a_few_are_completed(complete):
    """With the option in front, whether `=` or a space stands between."""
    assert complete("diff", "--format", "") == ["text", "json", "markdown"]
    assert complete("diff", "--format", "=", "m") == ["markdown"]
    assert complete("diff", "--format", "=") == ["text", "json", "markdown"]
    assert complete("lint", "--fail-level", "w") == ["warning"]


def test_files_are_completed_where_files_are_meant(complete):
    """As values and as arguments; a space in a name is no end of it."""
    assert sorted(complete("explain", "--config", "r")) == ["read me.txt", "rules"]
    assert complete("lint", "ru") == ["rules"]
    assert complete("diff", "ru") == ["rules"]


def test_nothing_is_offered_where_nothing_is_known(complete):
    """A name that anybody may choose; a request's path, which is no file's; an unknown command's options."""
    assert complete("explain", "--user", "r") == [""]
    assert complete("explain", "r") == [""]
    assert complete("nothing", "--") == [""]


def test_one_of_a_few_arguments_is_completed(complete):
    """An argument may be a choice as well."""
    assert complete("completion", "f") == ["fish"]


def test_bash_takes_the_script_for_the_program(script):
    """Bash itself asks the function for words, and treats them as names of files."""
    ask = f"source {script}; complete -p tornado-proxy"
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout == "complete -o filenames -F _tornado_proxy tornado-proxy\n"


def test_each_shell_has_its_script(command):
    """Printed whole."""
    assert command("completion", "bash").out.startswith("# Completes `tornado-proxy` in bash")
    assert command("completion", "zsh").out.startswith("#compdef tornado-proxy\n")
    assert command("completion", "fish").out.startswith("# Completes `tornado-proxy` in fish")
