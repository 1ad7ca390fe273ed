from __future__ import annotations

import argparse
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tornado_proxy.cli.completion import SHELLS, CommandArgument, Takes, all_options, bash, options
from tornado_proxy.cli.main import COMMANDS
from tornado_proxy.lang.diagnostic import Severity


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
    """As values and as arguments; a space in a name is not an end of it."""
    assert sorted(complete("explain", "--config", "r")) == ["read me.txt", "rules"]
    assert complete("lint", "ru") == ["rules"]
    assert complete("diff", "ru") == ["rules"]


def test_nothing_is_offered_where_nothing_is_known(complete):
    """A name that anybody may choose; a request's path, which is not a file's; an unknown command's options."""
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


def _only(*words, **settings):
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(*words, **settings)
    return options(parser)[0]


@pytest.mark.parametrize(
    ("words", "settings", "takes"),
    [
        (["--flag"], {"action": "store_true"}, Takes.NOTHING),
        (["--file"], {"type": Path}, Takes.FILE),
        (["paths"], {"nargs": "*", "metavar": "PATH"}, Takes.FILE),
        (["old"], {"metavar": "OLD"}, Takes.FILE),
        (["path"], {"nargs": "?", "metavar": "PATH"}, Takes.TEXT),
        (["--name"], {}, Takes.TEXT),
        (["--format"], {"choices": ("a", "b")}, Takes.CHOICE),
    ],
)
def test_what_an_argument_takes_is_seen_from_how_it_is_declared(words, settings, takes):
    """A type, choices, or that it takes nothing."""
    assert _only(*words, **settings).takes is takes


def test_choices_are_words():
    """Those of an enumeration are its values."""
    choices = _only("--level", type=Severity, choices=tuple(Severity)).choices
    assert choices == ("error", "warning", "info")


def test_an_option_keeps_all_its_names_and_its_help():
    """A positional argument has none."""
    assert _only("-x", "--extra", help="more") == CommandArgument(("-x", "--extra"), Takes.TEXT, (), "more")
    assert _only("place").names == ()


def test_every_command_is_in_the_table():
    """With `--help` first."""
    table = all_options()
    assert list(table) == list(COMMANDS)
    assert all(found[0].names == ("-h", "--help") for found in table.values())


TABLE = {
    "cook": (
        CommandArgument(("-h", "--help"), Takes.NOTHING, (), "show [this]: `help`"),
        CommandArgument(("--style",), Takes.CHOICE, ("raw", "done"), "it's a style"),
        CommandArgument(("--recipe",), Takes.FILE, (), ""),
        CommandArgument(("--name",), Takes.TEXT, (), "a name"),
        CommandArgument((), Takes.FILE, (), "what is cooked"),
    ),
    "eat": (),
}
MEALS = {"cook": "make a meal, for one", "eat": "eat it"}


def _script(shell):
    return "\n".join(SHELLS[shell](MEALS, TABLE)) + "\n"


def test_bash_knows_options_values_and_files():
    """A case for each command; options without a value need none."""
    script = _script("bash")
    assert (
        """
    cook)
        case $before in
        --style) mapfile -t COMPREPLY < <(compgen -W 'raw done' -- "$current"); return ;;
        --recipe) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
        --name) :; return ;;
        esac
        if [[ $current == -?* ]]; then
            mapfile -t COMPREPLY < <(compgen -W '-h --help --style --recipe --name' -- "$current")
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
        fi
        ;;
"""
        in script
    )


def test_zsh_is_told_what_everything_does():
    """Brackets and colons of a help text are escaped, quotes too."""
    script = _script("zsh")
    assert r"'*--help[show \[this\]\: `help`]'" in script
    assert r"""'*--style[it'"'"'s a style]:one of a few words:(raw done)'""" in script
    assert "'*--recipe[]:a file or a directory:_files'" in script
    assert "'*:what is cooked:_files'" in script
    assert "'cook:make a meal, for one'" in script


def test_fish_is_told_what_everything_does():
    """A value that is not a file keeps files from being offered (`-x`)."""
    script = _script("fish")
    start = "complete -c tornado-proxy -n '__fish_seen_subcommand_from cook'"
    assert f"{start} -s h -l help -d 'show [this]: `help`'\n" in script
    assert f"{start} -l style -x -a 'raw done' -d 'it\\'s a style'\n" in script
    assert f"{start} -l recipe -r -F\n" in script
    assert f"{start} -l name -x -d 'a name'\n" in script
    assert f"{start} -F -d 'what is cooked'\n" in script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_can_read_its_script(shell, tmp_path):
    """The shell's own parser finds nothing wrong."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(_script(shell))
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("words", "offered"), [("ea", "eat"), ("cook --st", "--style"), ("cook --style d", "done")])
def test_bash_completes(words, offered, tmp_path):
    """The shell itself is asked what it offers."""
    (tmp_path / "script").write_text(_script("bash"))
    asked = f"""source ./script; COMP_WORDS=(tornado-proxy {words}); COMP_CWORD=$(({len(words.split())}))
        _tornado_proxy; echo "${{COMPREPLY[@]}}" """
    done = subprocess.run(["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{offered}\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ea", ["eat"]), ("cook --st", ["--style"]), ("cook --style ", ["done", "raw"]), ("cook --name ", []),
        ("cook --recipe sc", ["script"]),
    ],
)  # fmt: skip
def test_fish_completes(words, offered, tmp_path):
    """The shell itself is asked what it offers, and files are among it only where one belongs."""
    (tmp_path / "script").write_text(_script("fish"))
    asked = f"source ./script; complete -C 'tornado-proxy {words}'"
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        ["fish", "-c", asked], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == offered
