"""Show which requests change their key between two sets of rules."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from tornado_proxy.cli.inputs import (
    CommandError,
    add_log_arguments,
    add_request_arguments,
    bare_site,
    chosen_target,
    compiled,
    configured_sites,
    count,
    load_settings,
    request_defaults,
    requests_of,
)
from tornado_proxy.cli.output import ExitStatus, colored_diff, progress, wants_color
from tornado_proxy.config.model import Settings
from tornado_proxy.routing.mounts import Site
from tornado_proxy.rules.loading import LoadedRules
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.tools.diff import Comparer, DiffReport, to_json, to_markdown, to_text
from tornado_proxy.tools.revisions import read_rules
from tornado_proxy.tools.simulator import Simulator


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    place = "a rule file, a directory, or a place in a Git revision, such as `main:rules/`"
    parser.add_argument("old", metavar="OLD", help=f"the rules before: {place}")
    parser.add_argument("new", metavar="NEW", help="the rules now: the same")
    where = parser.add_argument_group("input")
    add_log_arguments(where, required=True)
    whose = where.add_mutually_exclusive_group()
    whose.add_argument("--target", metavar="NAME", help="the target whose rules apply (default: the only one)")
    whose.add_argument("--config", type=Path, metavar="FILE", help="a configuration whose mounts and access apply")
    add_request_arguments(parser)
    parser.add_argument(
        "--examples", type=count, default=5, metavar="N", help="how many requests to show for each group (default: 5)"
    )
    parser.add_argument("--format", "--output-format", dest="format", choices=tuple(_FORMATS), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Compare; 1 if a key changes or the files have mistakes, 2 if nothing can be compared."""
    try:
        report = _report(arguments)
    except CommandError as error:
        return error.report("diff")
    for line in _FORMATS[arguments.format](report):
        print(line)
    return ExitStatus.FINDINGS if report.comparison.groups else ExitStatus.CLEAN


def _report(arguments: argparse.Namespace) -> DiffReport:
    old = compiled(read_rules(arguments.old, arguments.new))
    new = compiled(read_rules(arguments.new, arguments.old))
    sites_of = _configured(load_settings(arguments.config)) if arguments.config else _bare(old, new, arguments)
    defaults = request_defaults(arguments)
    comparer = Comparer(Simulator(sites_of(old), defaults), Simulator(sites_of(new), defaults), arguments.examples)
    log = requests_of(arguments.requests, [*old.rule_sets.values(), *new.rule_sets.values()])
    with progress("comparing") as show:
        comparison = comparer.compare(log, show)
    return DiffReport(old.rule_sets, new.rule_sets, log, comparison)


_SitesOf = Callable[[LoadedRules], Sequence[Site]]


def _configured(settings: Settings) -> _SitesOf:
    return lambda loaded: configured_sites(settings, loaded)


def _bare(old: LoadedRules, new: LoadedRules, arguments: argparse.Namespace) -> _SitesOf:
    """Returns the chosen target as rule files alone know it; it has no rules on a side that lacks it."""
    name = chosen_target(arguments.target, list({**old.rule_sets, **new.rule_sets}))
    return lambda loaded: [bare_site(name, loaded.rule_sets.get(name, RuleSet(name)), arguments.user)]


def _text(report: DiffReport) -> Iterable[str]:
    lines = to_text(report)
    return colored_diff(lines) if wants_color(sys.stdout) else lines


def _json(report: DiffReport) -> Iterable[str]:
    return [json.dumps(to_json(report), indent=2)]


_FORMATS: Mapping[str, Callable[[DiffReport], Iterable[str]]] = {"text": _text, "json": _json, "markdown": to_markdown}
