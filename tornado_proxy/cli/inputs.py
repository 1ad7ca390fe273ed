"""What commands read: rules, a configuration, the sites that both make, a log, and a request from the command line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tornado_proxy.cli.output import ExitStatus, progress, show
from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import BasicUser, Bucket, Mount, Resource, Settings, Target
from tornado_proxy.config.secrets import Secret, unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, did_you_mean, errors
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.routing.request import host_name
from tornado_proxy.rules.compile import HelperTexts, no_helpers, unknown_targets
from tornado_proxy.rules.loading import LoadedRules, Read, compile_rule_files, read_rule_files
from tornado_proxy.rules.model import METHODS, Rewrite, RuleSet, host_objection, segment_objection
from tornado_proxy.templates.template import User
from tornado_proxy.tools.simulator import RequestDefaults, RequestLog, UnreadableLog, open_log, read_log

_EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


class CommandError(Exception):
    """A command cannot do its work: the exit status, a message, and the diagnostics of files."""

    def __init__(self, status: ExitStatus, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.diagnostics = diagnostics

    def report(self, command: str) -> ExitStatus:
        """Prints the reason to standard error; returns the exit status."""
        show(self.diagnostics)
        if str(self):
            print(f"tornado-proxy {command}: {self}", file=sys.stderr)
        return self.status


def load_settings(path: Path) -> Settings:
    """Returns the settings of a configuration, its secrets unresolved; raises `CommandError`."""
    from tornado_proxy.config.loading import load  # noqa: PLC0415 - YAML, for a configuration only

    loaded = load(path, os.environ, unresolved)
    if loaded.settings is None:
        status = ExitStatus.FAILED if loaded.source is None else ExitStatus.FINDINGS
        raise CommandError(status, diagnostics=errors(loaded.diagnostics))
    return loaded.settings


def default_places() -> list[Path]:
    """Returns where rules are looked for by default."""
    usual = Path("rules")
    return [usual if usual.is_dir() else Path()]


def load_rules(places: Sequence[Path], settings: Settings | None = None) -> LoadedRules:
    """The rules of files and directories; raises `Ended` where one cannot be read or has a mistake."""
    named = settings.rule_spans if settings else None
    return compiled(read_rule_files(places, named), configured_helpers(settings) if settings else no_helpers)


def configured_helpers(settings: Settings) -> HelperTexts:
    """The helper templates that a configuration names for rules."""
    from tornado_proxy.pages.loading import compile_pages, read_templates  # noqa: PLC0415 - with a configuration only

    return compile_pages(settings, read_templates(settings)).helpers


def compiled(read: Read, helpers: HelperTexts = no_helpers) -> LoadedRules:
    """Compiles files that were read; raises `CommandError` where one could not be read or has an error."""
    if read.diagnostics:
        raise CommandError(ExitStatus.FAILED, diagnostics=read.diagnostics)
    loaded = compile_rule_files(read.files, None, helpers)
    raise_errors(loaded.diagnostics)
    return loaded


def raise_errors(diagnostics: Iterable[Diagnostic]) -> None:
    """Raises `CommandError` if a diagnostic is an error."""
    found = errors(diagnostics)
    if found:
        raise CommandError(ExitStatus.FINDINGS, diagnostics=found)


def configured_sites(settings: Settings, loaded: LoadedRules, only: str | None = None) -> tuple[Site, ...]:
    """Returns a configuration's targets with their rules, or the chosen one; raises `CommandError`."""
    names = [each.name for each in settings.targets]
    raise_errors(unknown_targets(loaded.documents, names))
    if only is not None:
        require_target(only, names)
    return sites((each for each in settings.targets if only in (None, each.name)), loaded.rule_sets)


def bare_site(name: str, rules: RuleSet, user: str | None = None, prefix: str = "") -> Site:
    """Returns a target without a configuration: mounted at `/`, with all methods, and `user` signed in."""
    users = (BasicUser(user, Secret("the command line", "")),) if user else ()
    resources = (Resource("/**", METHODS, provider="--user", users=users),) if users else ()
    target = Target(name, Mount(), Bucket("", prefix), _EVERYTHING, resources)
    return sites([target], {name: rules})[0]


def chosen_target(name: str | None, names: Sequence[str]) -> str:
    """Returns the name that was given, or that of the only target; raises `CommandError`."""
    if name is not None:
        require_target(name, names)
        return name
    if len(names) != 1:
        listed = ", ".join(f"`{each}`" for each in names) or "none"
        raise CommandError(ExitStatus.FAILED, f"give `--target` or `--config`: the targets are {listed}")
    return names[0]


def require_target(name: str, names: Sequence[str]) -> None:
    """Raises `CommandError` if there is no such target."""
    if name not in names:
        meant = did_you_mean(name, names)
        advice = f"; did you mean `{meant}`?" if meant else ""
        raise CommandError(ExitStatus.FAILED, f"there is no target `{name}`{advice}")


def add_request_arguments(parser: argparse.ArgumentParser, *, methods: tuple[str, ...] = ()) -> None:
    """Declares the arguments of a request and its user, with `--method` if it has choices."""
    request = parser.add_argument_group("request")
    if methods:
        request.add_argument("--method", choices=methods, default="GET", help="default: GET")
    request.add_argument("--host", type=_host, default="", help="the request's host")
    request.add_argument(
        "--header", type=_header, action="append", default=[], metavar="NAME:VALUE", help="may be repeated"
    )
    user = parser.add_argument_group("user")
    user.add_argument(
        "--user",
        type=_user_name,
        metavar="NAME",
        help="the name of the user who is signed in; passwords are not checked",
    )
    user.add_argument("--user-groups", type=_names, default=(), metavar="A,B", help="the user's groups")
    user.add_argument("--email", default="", metavar="ADDRESS", help="the user's address")


def add_log_arguments(parser: argparse._ArgumentGroup, *, required: bool) -> None:
    """Declares the argument of a log of requests."""
    parser.add_argument(
        "--requests",
        type=Path,
        required=required,
        metavar="FILE",
        help="an access log (common, combined or our own) or a list of percent-encoded paths, also compressed with "
        "gzip; `-` reads standard input",
    )


def signed_in_user(arguments: argparse.Namespace) -> User | None:
    """Returns the user who is signed in; None if nobody is."""
    if arguments.user is None:
        return None
    # As in a test: only a header's user has groups or an address.
    kind = "HEADER" if arguments.user_groups or arguments.email else "BASIC"
    return User(arguments.user, kind, arguments.email, arguments.user_groups)


def request_defaults(arguments: argparse.Namespace) -> RequestDefaults:
    """Returns what holds for all requests of a log."""
    return RequestDefaults(signed_in_user(arguments), arguments.host, tuple(arguments.header))


def requests_of(path: Path, rule_sets: Iterable[RuleSet]) -> RequestLog:
    """Reads the requests of a log; equal ones for the rules are counted together. Raises `CommandError`."""
    queries = any(_may_read_query(each) for rule_set in rule_sets for each in rule_set.rewrites)
    try:
        with open_log(path) as file, progress("reading") as show:
            return read_log(file, show, queries=queries)
    except UnreadableLog as error:
        raise CommandError(ExitStatus.FAILED, f"`{path}` cannot be read: {error}") from error


def _may_read_query(rewrite: Rewrite) -> bool:
    """Returns whether a template may read the query: in Go also through its data as a whole, in Jinja by name only."""
    return rewrite.dialect is Dialect.GO or (rewrite.dialect is Dialect.JINJA and "request" in rewrite.template.text)


def count(text: str) -> int:
    """Converts an argument that is a number; raises what argparse shows."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number")
    return int(text)


def add_timeout(parser: argparse.ArgumentParser, seconds: float, what: str) -> None:
    """Declares how long something may take."""
    told = f"how long {what} (default: {seconds:g})"
    parser.add_argument("--timeout", type=_seconds, default=seconds, metavar="SECONDS", help=told)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds <= 3600:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of seconds up to 3600")
    return seconds


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise argparse.ArgumentTypeError(f"`{text}` is not `NAME:VALUE`")
    return name.strip(), value.strip()


def _host(text: str) -> str:
    objection = host_objection(text)
    if objection is not None:
        raise argparse.ArgumentTypeError(f"invalid host `{text}`: it {objection}")
    return host_name(text)


def _user_name(text: str) -> str:
    objection = segment_objection(text)
    if objection is not None:
        raise argparse.ArgumentTypeError(f"invalid user name `{text}`: it {objection}")
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for each in text.split(",") if (name := each.strip()))
