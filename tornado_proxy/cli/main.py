"""The entry of the command line, and its completion in shells.

Only the module of the command that runs is imported, so that each starts fast.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import re
import signal
import sys
import tomllib
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from itertools import takewhile
from typing import Any, NoReturn, cast

from tornado_proxy.cli import output
from tornado_proxy.cli.output import CommandError, ExitStatus

_SECTIONS = tomllib.loads((files(__package__) / "arguments.toml").read_text(encoding="utf-8"))

COMMANDS: Mapping[str, tuple[str, str]] = _SECTIONS.pop("commands")
"""The commands with the modules that they are in, and their descriptions."""

_DAEMONS = {"serve", "demo"}
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (--[\w-]+)")
_INVALID_CHOICE = re.compile(r"argument \S+: invalid choice: '(.*)' \(choose from (.*)\)")

Run = Callable[[argparse.Namespace], int]
"""Does the work of a command; the result is an exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line (default: the process's own); returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = " ".join(["tornado-proxy", *(word for word in words[:1] if word in COMMANDS)])
    if words and words[0] in _DAEMONS:
        gc.disable()  # nearly all objects of a start stay; a service turns it on when it serves
        output.fill_streams()
        # A reload requested while it starts is not lost: it reads its files again before it is ready. Scripts that
        # rotate logs send SIGUSR1 to have them opened again, as nginx does; a service does that by itself.
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
    if (obstacle := output.prepare_streams()) is not None:
        print(f"{name}: {obstacle}", file=sys.stderr)
        return ExitStatus.FAILED
    try:
        try:
            return _dispatched(words)
        finally:
            if not sys.stdout.closed:
                sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`).
        output.give_up_output()
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 - status 1 means findings: a defect of the tool must not look like one
        if isinstance(error, OSError) and output.is_stream_error(error):
            output.give_up_output()
            print(f"{name}: {error.strerror}", file=sys.stderr)
        else:
            traceback.print_exc()
    return ExitStatus.FAILED


def _dispatched(words: Sequence[str]) -> int:
    if words and words[0] in COMMANDS:
        run, parser = load_command(words[0])
        try:
            return run(parser.parsed(words[1:]))
        except CommandError as error:
            return error.report(words[0])
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {summary}" for name, (_, summary) in COMMANDS.items())
    top = _SuggestingParser(
        "tornado-proxy",
        usage="tornado-proxy COMMAND …",
        description="An HTTP front for S3 buckets whose rules are files.",
        epilog=f"commands:\n{listing}\n\n`tornado-proxy COMMAND --help` describes a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="show the version")
    top.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    parsed = top.parse_args(words[:1])
    if parsed.version:
        from importlib.metadata import version  # noqa: PLC0415 - 30 ms that no subcommand needs

        print(f"tornado-proxy {version('tornado-proxy')}")
        return ExitStatus.CLEAN
    if parsed.command is not None:
        advice = output.suggestion(parsed.command, COMMANDS) or "; `tornado-proxy --help` lists the commands"
        top.error(f"unknown command `{parsed.command}`{advice}")
    top.print_help()
    return ExitStatus.CLEAN


def load_command(name: str) -> tuple[Run, _SuggestingParser]:
    """Returns the function `run_NAME` of a command, and its parser."""
    place, summary = COMMANDS[name]
    module = importlib.import_module(f"tornado_proxy.cli.{place}")
    parser = _SuggestingParser(f"tornado-proxy {name}", description=f"{summary[0].upper()}{summary[1:]}.")
    groups: dict[str, argparse._ActionsContainer] = {"": parser}
    for section, rows in _SECTIONS.items():
        commands, _, title = section.partition(": ")
        if name in commands.split(", "):
            group = groups.get(title) or groups.setdefault(title, parser.add_argument_group(title))
            for written, row in rows.items():
                options: dict[str, Any] = {"help": row} if isinstance(row, str) else dict(row)
                either = options.pop("either", "")
                if either and either not in groups:
                    groups[either] = group.add_mutually_exclusive_group(required=options.pop("required", False))
                _declare(groups[either] if either else group, written, options)
    return cast("Run", getattr(module, f"run_{name}")), parser


def _declare(group: argparse._ActionsContainer, written: str, options: dict[str, Any]) -> None:
    """Declares an argument as the table has it."""
    from tornado_proxy.cli.inputs import TYPES, number  # noqa: PLC0415 - rules and configurations, for a command only

    *names, last = (each.rstrip(",") for each in written.split())
    metavar = last.rstrip("*+?")
    count, kind = last[len(metavar) :], options.pop("type", metavar)
    if last.startswith("--"):
        names, choices = [*names, last], options.get("choices")
        options = {"default": choices[0], **options} if choices else {"action": "store_true", **options}
    elif names:
        options["metavar"] = metavar
    else:
        names = [metavar.lower() + ("s" if count in ("*", "+") else "")]
        options = {"metavar": metavar, "nargs": count or None, **options}
    if kind in TYPES:
        bounds = options.pop("bounds", None)
        options["type"] = number(int, *bounds) if bounds else TYPES[kind]
    if kind in ("N", "SECONDS"):
        options["help"] += f" (default: {options['default']})"
    group.add_argument(*names, **options)


class _SuggestingParser(argparse.ArgumentParser):
    """A parser that suggests a known option or choice for an unknown one."""

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """Returns the arguments; ends with status 2 if they are invalid."""
        for word in takewhile("--".__ne__, words):
            # A misspelt option that is required would be reported as missing. Words with a space are values.
            name = word.partition("=")[0]
            is_option = name.startswith("--") and " " not in word
            if is_option and not any(known.startswith(name) for known in self._option_string_actions):
                self.error(f"unrecognized arguments: {word}")
        return self.parse_args(words)

    def error(self, message: str) -> NoReturn:
        if unknown := _UNKNOWN_OPTION.match(message):
            message += output.suggestion(unknown[1], self._option_string_actions)
        elif choice := _INVALID_CHOICE.match(message):
            message += output.suggestion(choice[1], re.findall(r"[\w-]+", choice[2]))
        super().error(message)
