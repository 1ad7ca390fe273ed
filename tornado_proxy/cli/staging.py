"""Commands about a staged edit: `staged` shows it, `promote` puts it in force, `discard` takes it away."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tornado_proxy.cli.admin import AdminListener, add_listener_arguments, listener_of
from tornado_proxy.cli.arguments import add_flag, add_format
from tornado_proxy.cli.output import ExitStatus
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.rules.excerpt import visible

_LOOK_EVERY = 1.0  # seconds
_WITHIN = 60  # seconds
_STATUSES = {"staged": ExitStatus.WAITING, "discarded": ExitStatus.FINDINGS}
_TITLES = {
    "key": ("request would change its key", "requests would change their key"),
    "answer": ("request would get another answer", "requests would get another answer"),
    "error": ("request would fail", "requests would fail"),
    "unknown": ("request could not be decided without asking", "requests could not be decided without asking"),
    "missing": ("new key does not exist", "new keys do not exist"),
}


def staged_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_listener_arguments(parser, _WITHIN, "each answer may take")
    add_flag(parser, "--wait", "wait until the edit is promoted or discarded")
    add_format(parser, "text", "json")


def run_staged(arguments: argparse.Namespace) -> int:
    """Shows the last edit that was staged; returns 1 if it was discarded, 3 if it is still staged."""
    listener = listener_of(arguments)
    stage = _stage(listener, arguments.timeout)
    while arguments.wait and stage["state"] == "staged":
        time.sleep(_LOOK_EVERY)
        stage = _stage(listener, arguments.timeout)
    if arguments.format == "json":
        print(json.dumps(stage, indent=2))
    else:
        print(*map(visible, _lines(stage)), sep="\n")
    return _STATUSES.get(stage["state"], ExitStatus.CLEAN)


def _ended(arguments: argparse.Namespace, command: str, fate: str) -> int:
    """Ends the stage of an edit; returns 1 if nothing is staged."""
    status, stage = listener_of(arguments).ask("POST", f"/-/{command}", arguments.timeout, 409)
    if status == 409:
        print("nothing is staged")
        return ExitStatus.FINDINGS
    print(f"generation {stage['generation']} {fate}")
    return ExitStatus.CLEAN


promote_arguments = partial(add_listener_arguments, within=80, meaning="the change of generations may take")
discard_arguments = partial(add_listener_arguments, within=_WITHIN, meaning="it may take")
run_promote = partial(_ended, command="promote", fate="is in force")
run_discard = partial(_ended, command="discard", fate="was discarded")


def _stage(listener: AdminListener, within: float) -> dict[str, Any]:
    return listener.ask("GET", "/-/staged", within)[1]


def _lines(stage: dict[str, Any]) -> Iterator[str]:
    if stage["state"] == "none":
        yield "nothing is staged"
        return
    until = f" until {stage['until']}" if stage["state"] == "staged" else ""
    yield f"generation {stage['generation']} ({stage['digest'][:12]}): {stage['state']}{until}"
    if stage["share"] and stage["state"] == "staged":
        yield f"it answers {100 * stage['share']:g} % of the clients"
    yield from stage["reasons"]
    yield from stage["changes"]
    kinds, keys = stage["kinds"], stage["newKeys"]
    yield f"{counted(stage['requests'], 'request')} compared, {kinds['same']:,} the same"
    if asked := sum(keys.values()):
        yield f"{counted(asked, 'new key')} asked for, {counted(keys['missing'], 'does not exist', 'do not exist')}"
    for side, name in (("inForce", "before"), ("staged", "with the edit")):
        if each := stage["answers"].get(side):
            errors = f"404: {each['missing']:,}, other 4xx: {each['clientErrors']:,}, 5xx: {each['serverErrors']:,}"
            mean = 1000 * each["seconds"] / each["requests"]
            yield f"{counted(each['requests'], 'answer')} {name}: {errors}; {mean:.1f} ms on average"
    for kind, title in _TITLES.items():
        if count := keys["missing"] if kind == "missing" else kinds[kind]:
            yield ""
            yield counted(count, *title)
            yield from _pairs(stage, kind)
            for each in stage["examples"]:
                if each["kind"] == kind:
                    method = "" if each["method"] == "GET" else f"{each['method']} "
                    yield from (f"  {method}{each['path']}", f"  - {each['old']}", f"  + {each['new'] or '?'}")


def _pairs(stage: dict[str, Any], kind: str) -> Iterator[str]:
    for each in stage["pairs"]:
        if each["kind"] == kind:
            old, new = each["old"] or "no rewrite", each["new"] or "no rewrite"
            yield f"  {each['target']}: {old} \N{RIGHTWARDS ARROW} {new}: {counted(each['requests'], 'request')}"
