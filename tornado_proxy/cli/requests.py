"""The command `explain`, and what it shares with `diff`: requests, logs, and targets without a configuration."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tornado_proxy.cli import inputs
from tornado_proxy.cli.inputs import add_count, add_file, add_format, file_path, valid
from tornado_proxy.cli.output import CommandError, ExitStatus, activity
from tornado_proxy.config import values
from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.mounts import Mounts, Site, sites
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.rules.model import RuleSet, host_objection, segment_objection
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS, User, groups_of
from tornado_proxy.tools import explain
from tornado_proxy.tools.simulator import RequestDefaults, RequestLog, Simulator, UnreadableLog, read_log

_EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    parser.add_argument(
        "path", metavar="PATH", nargs="?", help="the percent-encoded path of a request, with its query if any"
    )
    where = parser.add_argument_group("input")
    add_log_arguments(where, required=False)
    where.add_argument(
        "--rules", type=file_path, action="append", metavar="PLACE", help="a rule file or a directory of them"
    )
    where.add_argument("--target", metavar="NAME", help="the target whose rules apply (default: the only one)")
    add_file(where, "--config", "a configuration whose mounts and access apply")
    where.add_argument("--prefix", type=valid(values.prefix), help="the bucket's prefix, without `--config`")
    add_request_arguments(parser, methods=METHODS)
    parser.add_argument("--file-name", metavar="NAME", help="the file's name in the form of an upload")
    add_count(parser, "--top", 10, "with `--requests`, how many paths to list")
    add_format(parser, "text", "json")


def run_explain(arguments: argparse.Namespace) -> int:
    """Explains; returns 0 for any answer."""
    if (arguments.path is None) == (arguments.requests is None):
        raise CommandError("give either a PATH or `--requests`")
    mounts = _mounts(arguments)
    client, is_json = request_defaults(arguments), arguments.format == "json"
    if arguments.path is not None:
        shown = explain.explain(mounts, arguments.path, arguments.method, client, arguments.file_name)
        text = explain.to_text(shown, configured=arguments.config is not None, user=client.user)
        print(f"{json.dumps(explain.to_json(shown), indent=2)}\n" if is_json else text, end="")
        return ExitStatus.CLEAN
    log = requests_of(arguments.requests, [each.rules for each in mounts.sites])
    with activity("simulating"):
        counts = explain.count_usage(Simulator(mounts, client), log)
    report = explain.UsageReport(mounts.sites, log, counts, arguments.top)
    print(f"{json.dumps(explain.usage_json(report), indent=2)}\n" if is_json else explain.usage_text(report), end="")
    return ExitStatus.CLEAN


def _mounts(arguments: argparse.Namespace) -> Mounts:
    """Returns the configuration's targets and pages of its own, or only the chosen target."""
    if not arguments.config:
        if not arguments.rules:
            raise CommandError("give `--rules` or `--config`")
        rule_sets = inputs.load_rules(arguments.rules).rule_sets
        name = chosen_target(arguments.target, list(rule_sets))
        return Mounts([bare_site(name, rule_sets[name], arguments.user, arguments.prefix or "")])
    if arguments.prefix is not None:
        raise CommandError("`--prefix` cannot be used with `--config`")
    settings = inputs.load_settings(arguments.config)
    loaded = inputs.load_rules(arguments.rules or settings.rules, settings)
    sites = inputs.configured_sites(settings, loaded, arguments.target)
    return Mounts(sites) if arguments.target else Mounts(sites, settings.oidc_providers, settings.list_targets)


def bare_site(name: str, rules: RuleSet, user: str | None = None, prefix: str = "") -> Site:
    """Returns a target without a configuration: mounted at `/`, with all methods, and `user` signed in."""
    users = (BasicUser(user, Secret("the command line", "")),) if user else ()
    resources = (Resource("/**", METHODS, provider="--user", users=users),) if users else ()
    target = Target(name, Mount(), Bucket("", prefix), _EVERYTHING, resources)
    return sites([target], {name: rules})[0]


def chosen_target(name: str | None, names: Sequence[str]) -> str:
    """Returns the chosen target's name, or the only one's; raises `CommandError`."""
    if name is not None:
        inputs.require_target(name, names)
        return name
    if len(names) != 1:
        listed = f"the targets are {', '.join(f'`{each}`' for each in names)}" if names else "the files have no target"
        raise CommandError(f"give `--target` or `--config`: {listed}")
    return names[0]


def add_request_arguments(parser: argparse.ArgumentParser, *, methods: tuple[str, ...] = ()) -> None:
    """Declares the arguments of a request and its user, with `--method` if it has choices."""
    request = parser.add_argument_group("request")
    if methods:
        request.add_argument("--method", choices=methods, default="GET", help="default: GET")
    request.add_argument("--host", type=_valid("host", host_objection), default="", help="the request's host")
    request.add_argument(
        "--header", type=_header, action="append", default=[], metavar="NAME:VALUE", help="may be repeated"
    )
    user = parser.add_argument_group("user")
    user.add_argument(
        "--user",
        type=_valid("user name", segment_objection),
        metavar="NAME",
        help="the name of the user who is signed in; passwords are not checked",
    )
    user.add_argument("--user-groups", type=groups_of, default=(), metavar="A,B", help="the user's groups")
    user.add_argument("--email", default="", metavar="ADDRESS", help="the user's address")


def add_log_arguments(parser: argparse._ArgumentGroup, *, required: bool) -> None:
    """Declares the argument of a log of requests."""
    add_file(
        parser,
        "--requests",
        "an access log (common, combined or our own) or a list of percent-encoded paths, also compressed with "
        "gzip; `-` reads standard input",
        required=required,
    )


def request_defaults(arguments: argparse.Namespace) -> RequestDefaults:
    """Returns what the arguments say of the requests: the user who is signed in, the host and headers."""
    # As in a test: only a header's user has groups or an address.
    kind = "HEADER" if arguments.user_groups or arguments.email else "BASIC"
    user = User(arguments.user, kind, arguments.email, arguments.user_groups) if arguments.user is not None else None
    return RequestDefaults(user, arguments.host, tuple(arguments.header))


def requests_of(path: Path, rule_sets: Iterable[RuleSet]) -> RequestLog:
    """Reads the requests of a log, and counts together what is equal for the rules. Raises `CommandError`."""
    # A template may read the query in Go also through its data as a whole, in Jinja by name only.
    queries = any(
        each.dialect is Dialect.GO or (each.dialect is Dialect.JINJA and "request" in each.template.text)
        for rule_set in rule_sets
        for each in rule_set.rewrites
    )
    try:
        with activity("reading"):
            log = read_log(path, queries=queries)
    except UnreadableLog as error:
        raise CommandError(f"`{path}` cannot be read: {error}") from error
    if log.strange and not log.requests:
        advice = "it is neither an access log nor a list of paths"
        raise CommandError(f"`{path}` has no request in {counted(log.strange, 'line')}: {advice}")
    return log


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise argparse.ArgumentTypeError(f"`{text}` is not `NAME:VALUE`")
    return name.strip(), value.strip()


def _valid(kind: str, objection: Callable[[str], str | None]) -> Callable[[str], str]:
    """Returns the type of an argument that must be valid for the service."""

    def converted(text: str) -> str:
        if (reason := objection(text)) is not None:
            raise argparse.ArgumentTypeError(f"invalid {kind} `{text}`: it {reason}")
        return text

    return converted
