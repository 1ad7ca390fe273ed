"""The command that prints a script which completes command lines in a shell, made by shtab from the parsers.

The scripts know the commands and their arguments, so completing starts no program.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import shtab

from tornado_proxy.cli.main import COMMANDS, load_command
from tornado_proxy.cli.output import ExitStatus

_PROGRAM = "tornado-proxy"
_FUNCTION = "_shtab_tornado_proxy"  # what shtab calls its function
_PLACES = {"OLD", "NEW"}

# Bash splits `--format=json` into three words, and shtab expects two.
_BASH_WORDS = f"""
_tornado_proxy() {{
    local word index words=() current=0
    for index in "${{!COMP_WORDS[@]}}"; do
        word=${{COMP_WORDS[index]}}
        if [[ $word != = ]]; then
            words+=("$word")
        elif (( index == COMP_CWORD )); then
            words+=("")
        fi
        (( index > COMP_CWORD )) || current=$(( ${{#words[@]}} - 1 ))
    done
    local COMP_WORDS=("${{words[@]}}") COMP_CWORD=$current
    {_FUNCTION}
}}
complete -F _tornado_proxy {_PROGRAM}"""

_SHELLS: Mapping[str, str] = {"bash": _BASH_WORDS, "zsh": "", "fish": ""}


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell that is to read the script")


def run_completion(arguments: argparse.Namespace) -> int:
    """Prints the script for this version of the command."""
    print(shtab.complete(_parser(), arguments.shell) + _SHELLS[arguments.shell])
    return ExitStatus.CLEAN


def _parser() -> argparse.ArgumentParser:
    """Returns one parser for the whole command line; it imports every command."""
    parser = argparse.ArgumentParser(_PROGRAM)
    parser.add_argument("--version", action="store_true", help="show the version")
    commands = parser.add_subparsers()
    for name, summary in COMMANDS.items():
        _, arguments = load_command(name)
        for action in arguments._actions:  # noqa: SLF001 - argparse has no other way to be asked
            _describe(action)
        commands.add_parser(name, help=summary, parents=[arguments], add_help=False)
    return parser


def _describe(action: argparse.Action) -> None:
    """Tells shtab which arguments are files, and the words of choices."""
    # Places that may be something else as well (`-`, a revision) are texts; `explain`'s one PATH is a request's.
    is_place = action.metavar in _PLACES or (action.metavar == "PATH" and action.nargs == "*")
    if action.choices:
        action.choices = [str(each.value if isinstance(each, Enum) else each) for each in action.choices]
    elif action.type is Path or is_place:
        action.complete = shtab.FILE  # type: ignore[attr-defined] # shtab's way
