"""Makes the scripts that complete command lines: `python packaging/complete.py DIRECTORY`.

shtab makes them from the parsers, so that completing starts no program. They are kept in packaging/completions, since a
wheel is built without what the commands import.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import shtab

from tornado_proxy.cli.inputs import file_path
from tornado_proxy.cli.main import COMMANDS, load_command

FILES = {"bash": "tornado-proxy", "zsh": "_tornado-proxy", "fish": "tornado-proxy.fish"}

# Bash splits `--format=json` into three words, and shtab expects two.
_BASH_WORDS = """
_tornado_proxy() {
    local word index words=() current=0
    for index in "${!COMP_WORDS[@]}"; do
        word=${COMP_WORDS[index]}
        if [[ $word != = ]]; then
            words+=("$word")
        elif (( index == COMP_CWORD )); then
            words+=("")
        fi
        (( index > COMP_CWORD )) || current=$(( ${#words[@]} - 1 ))
    done
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$current
    _shtab_tornado_proxy
}
complete -F _tornado_proxy tornado-proxy"""


def script(shell: str) -> str:
    """Returns the script for a shell."""
    return shtab.complete(_whole_parser(), shell) + (_BASH_WORDS if shell == "bash" else "") + "\n"


def _whole_parser() -> argparse.ArgumentParser:
    """Returns one parser for the whole command line."""
    parser = argparse.ArgumentParser("tornado-proxy")
    parser.add_argument("--version", action="store_true", help="show the version")
    commands = parser.add_subparsers()
    for name, (_, summary) in COMMANDS.items():
        _, arguments = load_command(name)
        for action in arguments._actions:  # noqa: SLF001 - argparse offers nothing public
            describe(action)
        commands.add_parser(name, help=summary, parents=[arguments], add_help=False)
    return parser


def describe(action: argparse.Action) -> None:
    """Marks an argument that is a file for shtab."""
    # Places that may be something else as well (`-`, a revision) are texts; `explain`'s one PATH is a request's.
    is_place = action.metavar in ("OLD", "NEW") or (action.metavar == "PATH" and action.nargs == "*")
    if action.type is file_path or is_place:
        action.complete = shtab.FILE  # type: ignore[attr-defined] # where shtab looks


if __name__ == "__main__":
    for shell, name in FILES.items():
        Path(sys.argv[1], name).write_text(script(shell), encoding="utf-8")
