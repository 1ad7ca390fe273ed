"""Print a script that completes command lines in a shell.

The scripts know the subcommands and what each takes, so completing starts no program.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tornado_proxy.cli.main import COMMANDS, load_command
from tornado_proxy.cli.output import ExitStatus

_PROGRAM = "tornado-proxy"
_PLACES = {"OLD", "NEW"}


def completion_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell that is to read the script")


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the script; it is true for this version of the command."""
    for line in SHELLS[arguments.shell](COMMANDS, all_options()):
        print(line)
    return ExitStatus.CLEAN


class Takes(Enum):
    """What stands behind an option, or in a positional argument's place."""

    NOTHING = "nothing"
    CHOICE = "one of a few words"
    FILE = "a file or a directory"
    TEXT = "any text"


@dataclass(frozen=True, slots=True)
class CommandArgument:
    """An option, or a positional argument, which has no names."""

    names: tuple[str, ...]
    takes: Takes
    choices: tuple[str, ...]
    help: str


def all_options() -> Mapping[str, tuple[CommandArgument, ...]]:
    """The arguments of every subcommand; it imports them all."""
    return {name: options(load_command(name)[1]) for name in COMMANDS}


def options(parser: argparse.ArgumentParser) -> tuple[CommandArgument, ...]:
    """The arguments of a parser, in order."""
    return tuple(map(_option, parser._actions))  # noqa: SLF001 - argparse has no other way to be asked


def _option(action: argparse.Action) -> CommandArgument:
    choices = tuple(str(each.value if isinstance(each, Enum) else each) for each in action.choices or ())
    return CommandArgument(tuple(action.option_strings), _takes(action), choices, action.help or "")


def _takes(action: argparse.Action) -> Takes:
    if action.nargs == 0:
        return Takes.NOTHING
    if action.choices:
        return Takes.CHOICE
    # Places that may be something else as well (`-`, a revision) are texts; `explain`'s one PATH is a request's.
    is_place = action.metavar in _PLACES or (action.metavar == "PATH" and action.nargs == "*")
    return Takes.FILE if action.type is Path or is_place else Takes.TEXT


_Table = Mapping[str, tuple[CommandArgument, ...]]

_BASH_OPENING = """\
# Completes `tornado-proxy` in bash: source this file, or put it, under the name of the program, into
# ~/.local/share/bash-completion/completions/
_tornado_proxy() {
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    COMPREPLY=()
    # `--format=json` comes as three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $before == = ]]; then
        before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if (( COMP_CWORD == 1 )); then"""


def bash(commands: Mapping[str, str], table: _Table) -> Iterator[str]:
    """The lines of a script for bash, without the package bash-completion."""
    yield _BASH_OPENING
    yield f"        {_bash_list(' '.join((*commands, '--help', '--version')))}"
    yield "        return"
    yield "    fi"
    yield "    case ${COMP_WORDS[1]} in"
    for name, options in table.items():
        yield f"    {name})"
        yield from _bash_command(options)
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield f"complete -o filenames -F _tornado_proxy {_PROGRAM}"


def _bash_command(options: tuple[CommandArgument, ...]) -> Iterator[str]:
    valued = [each for each in options if each.names and each.takes is not Takes.NOTHING]
    if valued:
        yield "        case $before in"
        yield from (f"        {'|'.join(each.names)}) {_bash_words(each)}; return ;;" for each in valued)
        yield "        esac"
    yield "        if [[ $current == -?* ]]; then"
    yield f"            {_bash_list(' '.join(name for each in options for name in each.names))}"
    for each in options:
        if not each.names:
            yield "        else"
            yield f"            {_bash_words(each)}"
            break
    yield "        fi"


def _bash_words(option: CommandArgument) -> str:
    match option.takes:
        case Takes.CHOICE:
            return _bash_list(" ".join(option.choices))
        case Takes.FILE:
            return 'mapfile -t COMPREPLY < <(compgen -f -- "$current")'
        case _:
            return ":"


def _bash_list(words: str) -> str:
    return f'mapfile -t COMPREPLY < <(compgen -W {shlex.quote(words)} -- "$current")'


def zsh(commands: Mapping[str, str], table: _Table) -> Iterator[str]:
    """The lines of a script for zsh's completion system."""
    yield f"#compdef {_PROGRAM}"
    yield "# Completes `tornado-proxy` in zsh: put this file, as `_tornado-proxy`, into a directory of $fpath."
    yield "_tornado_proxy() {"
    yield "    local -a commands=("
    yield from (f"        {shlex.quote(f'{name}:{does}')}" for name, does in commands.items())
    yield "    )"
    yield "    if (( CURRENT == 2 )); then"
    yield "        _describe command commands"
    yield "        return"
    yield "    fi"
    yield "    local command=${words[2]}"
    yield "    shift words"
    yield "    (( CURRENT-- ))"
    yield "    case $command in"
    for name, options in table.items():
        yield f"    {name})"
        yield "        _arguments -s \\"
        yield " \\\n".join(f"            {shlex.quote(spec)}" for each in options for spec in _zsh_specs(each))
        yield "        ;;"
    yield "    esac"
    yield "}"
    yield '_tornado_proxy "$@"'


def _zsh_specs(option: CommandArgument) -> Iterator[str]:
    says = "".join(f"\\{each}" if each in "[]:\\" else each for each in option.help)
    action = _zsh_action(option)
    if not option.names:
        yield f"*:{says}:{action}"
    for name in option.names:
        yield f"*{name}[{says}]" + ("" if option.takes is Takes.NOTHING else f":{option.takes.value}:{action}")


def _zsh_action(option: CommandArgument) -> str:
    match option.takes:
        case Takes.CHOICE:
            return f"({' '.join(option.choices)})"
        case Takes.FILE:
            return "_files"
        case _:
            return " "


def fish(commands: Mapping[str, str], table: _Table) -> Iterator[str]:
    """The lines of a script for fish."""
    yield f"# Completes `tornado-proxy` in fish: put this file into ~/.config/fish/completions/{_PROGRAM}.fish"
    yield f"complete -c {_PROGRAM} -f"
    for name, does in commands.items():
        yield f"complete -c {_PROGRAM} -n __fish_use_subcommand -a {name} -d {_fish_text(does)}"
    for name, options in table.items():
        for option in options:
            words = [
                *_fish_names(option),
                *_fish_value(option),
                *(("-d", _fish_text(option.help)) if option.help else ()),
            ]
            yield f"complete -c {_PROGRAM} -n '__fish_seen_subcommand_from {name}' {' '.join(words)}"


def _fish_names(option: CommandArgument) -> Iterator[str]:
    for name in option.names:
        yield f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"


def _fish_value(option: CommandArgument) -> Iterator[str]:
    required = bool(option.names)
    match option.takes:
        case Takes.CHOICE:
            yield from (*(("-x",) if required else ()), "-a", _fish_text(" ".join(option.choices)))
        case Takes.FILE:
            yield from (*(("-r",) if required else ()), "-F")
        case Takes.TEXT:
            yield from ("-x",) if required else ()


def _fish_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SHELLS: Mapping[str, Callable[[Mapping[str, str], _Table], Iterator[str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""How each shell's script is written, from what the subcommands do and what they take."""
