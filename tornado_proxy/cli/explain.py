"""Show which rewrite takes a path, and why; or what a log's requests make of the rules."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from tornado_proxy.cli.given import (
    add_log_arguments,
    add_request_arguments,
    count,
    given_for_all,
    given_user,
    requests_of,
)
from tornado_proxy.cli.loading import Ended, bare_site, chosen_target, configured_sites, load_rules, load_settings
from tornado_proxy.cli.progress import progress
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.config import values
from tornado_proxy.routing.address import read_address
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.routing.explain import Course, explain_request
from tornado_proxy.routing.keys import RequestPath, parse_request_path
from tornado_proxy.routing.mounts import Mounts, Site, host_name
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Facts, query_pairs
from tornado_proxy.rules.testing import METHODS
from tornado_proxy.tools import course, usage_report
from tornado_proxy.tools.asking import Asker
from tornado_proxy.tools.usage import count_usage


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="the percent-encoded path of a request, with its query if any"
    )
    where = parser.add_argument_group("what is asked")
    add_log_arguments(where, required=False)
    where.add_argument(
        "--rules", type=Path, action="append", metavar="PLACE", help="a rule file or a directory of them"
    )
    where.add_argument("--target", metavar="NAME", help="the target whose rules are asked, (default: the only one)")
    where.add_argument("--config", type=Path, metavar="FILE", help="a configuration, whose mounts and access apply")
    where.add_argument("--prefix", type=_prefix, help="the bucket's, where there is no configuration")
    add_request_arguments(parser, methods=METHODS)
    parser.add_argument("--file-name", metavar="NAME", help="what the form of an upload calls its file")
    parser.add_argument(
        "--top", type=count, default=10, metavar="N", help="of a log: how many paths are listed (default: 10)"
    )
    parser.add_argument("--format", "--output-format", dest="format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Explain; 0 whatever the request's answer would be, 1 where the files have errors, 2 where nothing can be told."""
    try:
        found = _found(arguments)
        text = _explained(found, arguments) if arguments.path is not None else _counted(found, arguments)
    except Ended as ended:
        return ended.tell("explain")
    print(text, end="")
    return ExitStatus.CLEAN


def _explained(found: Sequence[Site], arguments: argparse.Namespace) -> str:
    said = _course(Mounts(found), arguments)
    if arguments.format == "json":
        return f"{json.dumps(course.to_json(said), indent=2)}\n"
    return course.to_text(said, configured=arguments.config is not None)


def _counted(found: Sequence[Site], arguments: argparse.Namespace) -> str:
    traffic = requests_of(arguments.requests, [each.rules for each in found])
    with progress("asking") as show:
        usage = count_usage(Asker(found, given_for_all(arguments)), traffic, show)
    report = usage_report.Report(found, traffic, usage, arguments.top)
    if arguments.format == "json":
        return f"{json.dumps(usage_report.to_json(report), indent=2)}\n"
    return usage_report.to_text(report)


def _course(mounts: Mounts, arguments: argparse.Namespace) -> Course:
    # Like a request line: bytes, each a character.
    typed = os.fsencode(arguments.path).decode("latin-1")
    try:
        address = read_address(typed)
        path = parse_request_path(address.path)
    except RequestError as error:
        # It leads nowhere as it was typed, which is what there is to show.
        return Course((Refuse(error.status, str(error)),), Facts(arguments.method, RequestPath(arguments.path)))
    facts = Facts(
        arguments.method,
        path,
        host_name(address.authority) if address.authority else arguments.host,
        address.query,
        query_pairs(address.query),
        tuple(arguments.header),
    )
    return explain_request(mounts, facts, given_user(arguments), arguments.file_name)


def _found(arguments: argparse.Namespace) -> Sequence[Site]:
    """The sites that are asked."""
    if (arguments.path is None) == (arguments.requests is None):
        raise Ended(ExitStatus.FAILED, "give either a PATH or `--requests`")
    return _configured(arguments) if arguments.config else _bare(arguments)


def _bare(arguments: argparse.Namespace) -> Sequence[Site]:
    """The target as rule files alone know it."""
    if not arguments.rules:
        raise Ended(ExitStatus.FAILED, "give `--rules`, or `--config`")
    rule_sets = load_rules(arguments.rules).rule_sets
    name = chosen_target(arguments.target, list(rule_sets))
    return [bare_site(name, rule_sets[name], arguments.user, arguments.prefix or "")]


def _configured(arguments: argparse.Namespace) -> Sequence[Site]:
    """The configuration's targets, or the one that is asked for."""
    if arguments.prefix is not None:
        raise Ended(ExitStatus.FAILED, "`--prefix` is the configuration's where there is one")
    settings = load_settings(arguments.config)
    loaded = load_rules(arguments.rules or settings.rules, settings.rule_spans)
    return configured_sites(settings, loaded, arguments.target)


def _prefix(text: str) -> str:
    try:
        return values.prefix(text)
    except values.Misfit as misfit:
        raise argparse.ArgumentTypeError(f"`{text}` {misfit.message}") from None
