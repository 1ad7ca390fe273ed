"""The entry of the command: finds the subcommand and imports no other, so that each starts fast."""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, cast

from tornado_proxy.cli import output
from tornado_proxy.cli.output import CommandError, ExitStatus
from tornado_proxy.lang.diagnostic import did_you_mean

COMMANDS = {
    "serve": "serve the buckets that a configuration names",
    "probe": "ask each bucket whether it can be used, and say what to grant where it cannot",
    "reload": "ask the running service to reload, and fail where it refuses the files",
    "fleet": "show what several running services have in force, and which differ",
    "config": "show a configuration with its defaults and without its secrets",
    "demo": "run everything on an S3 in the process, with sample objects",
    "explain": "show which rewrite takes a path, and why",
    "lint": "look for what is wrong, or probably not meant, in rule files",
    "fmt": "write rule files in their one canonical layout",
    "test": "run the tests that stand beside the rules",
    "diff": "show which requests change their key between two sets of rules",
    "convert": "turn s3-proxy's configuration into this one's, with a report",
    "lsp": "show an editor what is wrong, what it means, and what may come next",
    "completion": "print a script that completes command lines in a shell",
}
"""The commands, and what each does."""

_DAEMONS = {"serve", "demo"}
_UNKNOWN_OPTION = re.compile(r"unrecognized arguments: (--[\w-]+)")


_MODULES = {
    **dict.fromkeys(("reload", "fleet"), "admin"),
    **dict.fromkeys(("fmt", "test", "lsp"), "rules"),
    **dict.fromkeys(("explain", "diff"), "requests"),
    **dict.fromkeys(("config", "convert"), "configuration"),
}
"""The modules of the commands; the others are in modules of their names."""

Run = Callable[[argparse.Namespace], int]
"""Does the work of a command; the result is an exit status."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: the process's own) and return its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    name = " ".join(["tornado-proxy", *(word for word in words[:1] if word in COMMANDS)])
    if words and words[0] in _DAEMONS:
        _ready_a_daemon()
    obstacle = output.prepare_streams()
    if obstacle is not None:
        print(f"{name}: {obstacle}", file=sys.stderr)
        return ExitStatus.FAILED
    try:
        return _done(words)
    except BrokenPipeError:
        # The reader has gone (`| head`).
        output.give_up_output()
    except KeyboardInterrupt:
        pass
    except Exception as error:  # noqa: BLE001 - status 1 means findings: a defect of the tool must not look like one
        if isinstance(error, OSError) and output.is_stream_error(error):
            output.give_up_output()
            print(f"{name}: {error.strerror}", file=sys.stderr)
        else:
            import traceback  # noqa: PLC0415 - for defects only

            traceback.print_exc()
    return ExitStatus.FAILED


def _ready_a_daemon() -> None:
    """Have nothing end a service that starts: neither a closed stream nor SIGHUP, which it heeds once it serves.

    What it reads at its start is looked at again before it is ready, so that no wish to reload is missed.
    """
    import gc  # noqa: PLC0415 - the tools need neither
    import signal  # noqa: PLC0415

    # Nearly all that a start makes stays; the collector runs from when everything is there.
    gc.disable()
    output.fill_streams()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _done(words: Sequence[str]) -> int:
    """Do what a command line asks for, up to the last byte of its output."""
    try:
        return _dispatched(words)
    finally:
        if not sys.stdout.closed:
            sys.stdout.flush()


def _dispatched(words: Sequence[str]) -> int:
    if words and words[0] in COMMANDS:
        run, parser = load_command(words[0])
        try:
            return run(parser.parse_args(words[1:]))
        except CommandError as error:
            return error.report(words[0])
    parser = _top_parser()
    parsed = parser.parse_args(words[:1])
    if parsed.version:
        print(f"tornado-proxy {_version()}")
        return ExitStatus.CLEAN
    if parsed.command is not None:
        parser.error(_unknown(parsed.command))
    parser.print_help()
    return ExitStatus.CLEAN


def load_command(name: str) -> tuple[Run, argparse.ArgumentParser]:
    """Returns the function `run_NAME` of a command, and the parser that `NAME_arguments` fills."""
    module = importlib.import_module(f"tornado_proxy.cli.{_MODULES.get(name, name)}")
    summary = COMMANDS[name]
    parser = _SuggestingParser(f"tornado-proxy {name}", description=f"{summary[0].upper()}{summary[1:]}.")
    getattr(module, f"{name}_arguments")(parser)
    return cast("Run", getattr(module, f"run_{name}")), parser


class _SuggestingParser(argparse.ArgumentParser):
    """Argparse's, which also says what an unknown option was probably meant to be."""

    def error(self, message: str) -> NoReturn:
        """End with status 2, and say why."""
        unknown = _UNKNOWN_OPTION.match(message)
        meant = did_you_mean(unknown[1], self._option_string_actions) if unknown else None
        super().error(f"{message}; did you mean `{meant}`?" if meant else message)


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    parser = argparse.ArgumentParser(
        "tornado-proxy",
        usage="tornado-proxy COMMAND …",
        description="An HTTP front for S3 buckets whose rules are files.",
        epilog=f"commands:\n{listing}\n\n`tornado-proxy COMMAND --help` says more of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="show the version")
    parser.add_argument("command", nargs="?", help=argparse.SUPPRESS)
    return parser


def _version() -> str:
    from importlib.metadata import version  # noqa: PLC0415 - 30 ms that no subcommand needs

    return version("tornado-proxy")


def _unknown(name: str) -> str:
    meant = did_you_mean(name, COMMANDS)
    return f"unknown command `{name}`" + (f"; did you mean `{meant}`?" if meant else "")
