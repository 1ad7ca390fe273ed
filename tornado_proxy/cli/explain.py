"""Show which rewrite takes a path, and why; or what a log's requests make of the rules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tornado_proxy.cli.inputs import (
    CommandError,
    add_log_arguments,
    add_request_arguments,
    bare_site,
    chosen_target,
    configured_sites,
    count,
    load_rules,
    load_settings,
    request_defaults,
    requests_of,
    signed_in_user,
)
from tornado_proxy.cli.output import ExitStatus, progress
from tornado_proxy.config import values
from tornado_proxy.routing.mounts import Mounts, Site
from tornado_proxy.rules.model import METHODS
from tornado_proxy.tools import explain, usage
from tornado_proxy.tools.simulator import Simulator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="the percent-encoded path of a request, with its query if any"
    )
    where = parser.add_argument_group("input")
    add_log_arguments(where, required=False)
    where.add_argument(
        "--rules", type=Path, action="append", metavar="PLACE", help="a rule file or a directory of them"
    )
    where.add_argument("--target", metavar="NAME", help="the target whose rules apply (default: the only one)")
    where.add_argument("--config", type=Path, metavar="FILE", help="a configuration whose mounts and access apply")
    where.add_argument("--prefix", type=_prefix, help="the bucket's prefix, without `--config`")
    add_request_arguments(parser, methods=METHODS)
    parser.add_argument("--file-name", metavar="NAME", help="the file's name in the form of an upload")
    parser.add_argument(
        "--top", type=count, default=10, metavar="N", help="with `--requests`, how many paths to list (default: 10)"
    )
    parser.add_argument("--format", "--output-format", dest="format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Explain; 0 whatever the answer would be, 1 if the files have errors, 2 if there is nothing to explain."""
    try:
        found = _found(arguments)
        text = _explained(found, arguments) if arguments.path is not None else _counted(found, arguments)
    except CommandError as error:
        return error.report("explain")
    print(text, end="")
    return ExitStatus.CLEAN


def _explained(found: Sequence[Site], arguments: argparse.Namespace) -> str:
    user = signed_in_user(arguments)
    headers = tuple(arguments.header)
    asked = explain.ExplainedRequest(
        arguments.path, arguments.method, arguments.host, user, headers, arguments.file_name
    )
    shown = explain.explain(Mounts(found), asked)
    if arguments.format == "json":
        return f"{json.dumps(explain.to_json(shown), indent=2)}\n"
    return explain.to_text(shown, configured=arguments.config is not None, given=user)


def _counted(found: Sequence[Site], arguments: argparse.Namespace) -> str:
    log = requests_of(arguments.requests, [each.rules for each in found])
    with progress("simulating") as show:
        counts = usage.count_usage(Simulator(found, request_defaults(arguments)), log, show)
    report = usage.UsageReport(found, log, counts, arguments.top)
    if arguments.format == "json":
        return f"{json.dumps(usage.to_json(report), indent=2)}\n"
    return usage.to_text(report)


def _found(arguments: argparse.Namespace) -> Sequence[Site]:
    """Returns the sites that apply."""
    if (arguments.path is None) == (arguments.requests is None):
        raise CommandError(ExitStatus.FAILED, "give either a PATH or `--requests`")
    return _configured(arguments) if arguments.config else _bare(arguments)


def _bare(arguments: argparse.Namespace) -> Sequence[Site]:
    """Returns the target as rule files alone know it."""
    if not arguments.rules:
        raise CommandError(ExitStatus.FAILED, "give `--rules` or `--config`")
    rule_sets = load_rules(arguments.rules).rule_sets
    name = chosen_target(arguments.target, list(rule_sets))
    return [bare_site(name, rule_sets[name], arguments.user, arguments.prefix or "")]


def _configured(arguments: argparse.Namespace) -> Sequence[Site]:
    """Returns the configuration's targets, or the chosen one."""
    if arguments.prefix is not None:
        raise CommandError(ExitStatus.FAILED, "`--prefix` cannot be used with `--config`")
    settings = load_settings(arguments.config)
    loaded = load_rules(arguments.rules or settings.rules, settings)
    return configured_sites(settings, loaded, arguments.target)


def _prefix(text: str) -> str:
    try:
        return values.prefix(text)
    except values.InvalidValue as misfit:
        raise argparse.ArgumentTypeError(f"`{text}` {misfit.message}") from None
