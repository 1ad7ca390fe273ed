"""Show what several running services have in force, and which of them differ."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tornado_proxy.cli.admin import AdminListener, add_tls_arguments, admin_url
from tornado_proxy.cli.inputs import CommandError, add_timeout, raise_errors
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.lang.excerpt import visible

_SHOWN = 12  # digits of a digest
_AT_ONCE = 32
_FEWEST = 8  # digits that name a digest
_DIGITS = re.compile(rf"[0-9a-f]{{{_FEWEST},64}}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("urls", nargs="+", type=admin_url, metavar="URL", help="the admin listener of a service")
    parser.add_argument(
        "--expect",
        metavar="DIGEST|FILE",
        help="what must be in force: the first digits of a digest, or a configuration (default: what most have)",
    )
    add_timeout(parser, 5, "each service may take to answer")
    parser.add_argument("--format", "--output-format", dest="format", choices=("text", "json"), default="text")
    add_tls_arguments(parser)


@dataclass(frozen=True, slots=True)
class Member:
    """What a service says of itself; `trouble` is empty where it is as expected."""

    url: str
    version: str = ""
    digest: str = ""
    generation: int = 0
    loaded_at: str = ""
    trouble: str = ""


def run(arguments: argparse.Namespace) -> int:
    """Ask all; 1 if one has other files in force, is not ready, refuses its files or does not answer."""
    try:
        expected = _digest(arguments.expect) if arguments.expect else ""
        listeners = [AdminListener.of(url, arguments) for url in arguments.urls]
    except CommandError as error:
        return error.report("fleet")
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        asked = list(threads.map(lambda listener: _member(listener, arguments.timeout), listeners))
    members = compared(asked, expected or most_common(asked))
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


def _digest(expected: str) -> str:
    """The digest that is expected, or its first digits; raises `CommandError`."""
    if Path(expected).is_file():
        return _digest_of(Path(expected))
    if not _DIGITS.fullmatch(expected):
        raise CommandError(
            ExitStatus.FAILED, f"`{expected}` is neither a file nor {_FEWEST} digits or more of a digest"
        )
    return expected


def _digest_of(configuration: Path) -> str:
    """The digest of a configuration and the files that it names, which covers no secret; raises `CommandError`."""
    from tornado_proxy.config.loading import Loaded, read  # noqa: PLC0415 - the whole service, for a file only
    from tornado_proxy.config.secrets import unresolved  # noqa: PLC0415
    from tornado_proxy.service.sources import compile_text  # noqa: PLC0415

    text = read(configuration)
    if isinstance(text, Loaded):
        raise CommandError(ExitStatus.FAILED, diagnostics=text.diagnostics)
    sources = compile_text(text, {}, resolve=unresolved)
    raise_errors((*sources.configuration.diagnostics, *sources.rules.diagnostics, *sources.templates.diagnostics))
    return sources.digest


def most_common(members: Sequence[Member]) -> str:
    """The digest that most members have in force; of equally common ones, the one that was loaded last."""
    counts = Counter(each.digest for each in members if each.digest)
    return max(members, key=lambda each: (counts[each.digest], each.loaded_at)).digest


def compared(members: Sequence[Member], expected: str) -> list[Member]:
    """The members, with a trouble for each that has another digest than the expected one."""
    return [
        replace(each, trouble=f"differs from {expected[:_SHOWN]}")
        if each.digest and not each.trouble and not each.digest.startswith(expected)
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
    return "".join([*lines, f"\n{len(members) - troubled} of {len(members)} as expected\n"])


def _json(members: Sequence[Member]) -> str:
    shown = [{**asdict(each), "trouble": each.trouble or None} for each in members]
    for each in shown:
        each["loadedAt"] = each.pop("loaded_at")
    return f"{json.dumps({'version': 1, 'services': shown}, indent=2)}\n"
