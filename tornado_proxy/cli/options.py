"""What the subcommands take, as a table: the material of shell completion, and of the test that holds the manual."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tornado_proxy.cli.main import COMMANDS, load_command

_PLACES = {"OLD", "NEW"}


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
