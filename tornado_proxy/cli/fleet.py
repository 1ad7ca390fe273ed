"""Show what several running services have in force, and which of them lag behind."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from tornado_proxy.cli.admin import AdminListener, add_tls_arguments, admin_url
from tornado_proxy.cli.inputs import CommandError, add_timeout
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lang.excerpt import visible

_SHOWN = 12  # digits of a digest
_AT_ONCE = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urls", nargs="+", type=admin_url, metavar="URL", help="the admin listener of a service")
    add_timeout(parser, 5, "each service may take to answer")
    parser.add_argument("--format", "--output-format", dest="format", choices=("text", "json"), default="text")
    add_tls_arguments(parser)


@dataclass(frozen=True, slots=True)
class Member:
    """What a service says of itself; `trouble` is why it does not count as up to date, or empty."""

    url: str
    version: str = ""
    digest: str = ""
    generation: int = 0
    loaded_at: str = ""
    trouble: str = ""


def run(arguments: argparse.Namespace) -> int:
    """Ask all; 1 if they differ, or one is not ready, refuses its files or does not answer."""
    try:
        listeners = [AdminListener.of(url, arguments) for url in arguments.urls]
    except CommandError as error:
        return error.report("fleet")
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        asked = list(threads.map(lambda listener: _member(listener, arguments.timeout), listeners))
    members = compared(asked)
    print(_json(members) if arguments.format == "json" else _text(members), end="")
    return ExitStatus.FINDINGS if any(each.trouble for each in members) else ExitStatus.CLEAN


def _member(listener: AdminListener, within: float) -> Member:
    url = listener.url.geturl()
    try:
        status, said = listener.ask("GET", "/-/status", within)
        if status != 200:
            return Member(url, trouble=f"answered {status}: {said}")
        known = Member(url, said["version"], said["digest"], said["generation"], said["loadedAt"])
        return replace(known, trouble=_trouble(said))
    except CommandError as error:
        return Member(url, trouble=str(error).partition(" cannot be asked: ")[2])
    except (KeyError, TypeError):
        return Member(url, trouble="what answers is not a tornado-proxy")


def _trouble(said: dict[str, Any]) -> str:
    if not said["ready"]:
        return "not ready"
    if (failed := said["lastFailedAttempt"]) is None:
        return ""
    first = next((each for each in failed["diagnostics"] if each["severity"] == "error"), None)
    place = f"{first['file']}:{first['line']}: " if first and first["file"] else ""
    return f"refuses its files: {place}{first['message'] if first else failed['outcome']}"


def compared(members: Sequence[Member]) -> list[Member]:
    """The members, those that lag behind with that as their trouble.

    The set that was loaded last counts as the newest.
    """
    newest = max(members, key=lambda each: each.loaded_at)
    return [
        replace(each, trouble=f"lags behind {newest.digest[:_SHOWN]}")
        if each.digest and not each.trouble and each.digest != newest.digest
        else each
        for each in members
    ]


def _text(members: Sequence[Member]) -> str:
    width = max(len(each.url) for each in members)
    lines = [
        f"{each.url:<{width}}  {each.digest[:_SHOWN] or '-':<{_SHOWN}}  {each.loaded_at or '-':<24}  "
        f"{visible(each.trouble) or 'OK'}\n"
        for each in members
    ]
    troubled = sum(bool(each.trouble) for each in members)
    return "".join([*lines, f"\n{len(members) - troubled} of {len(members)} up to date\n"])


def _json(members: Sequence[Member]) -> str:
    shown = [{**asdict(each), "trouble": each.trouble or None} for each in members]
    for each in shown:
        each["loadedAt"] = each.pop("loaded_at")
    return f"{json.dumps({'version': 1, 'services': shown}, indent=2)}\n"
