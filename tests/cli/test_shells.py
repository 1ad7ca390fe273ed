import os
import shutil
import subprocess

import pytest

from tornado_proxy.cli.options import CommandArgument, Takes
from tornado_proxy.cli.shells import SHELLS

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
COMMANDS = {"cook": "make a meal, for one", "eat": "eat it"}


def _script(shell):
    return "\n".join(SHELLS[shell](COMMANDS, TABLE)) + "\n"


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
    """A value that is no file keeps files from being offered (`-x`)."""
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
