"""The arguments that several commands share: the request, its user, and the log that requests are read from."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from tornado_proxy.cli.loading import Ended
from tornado_proxy.cli.progress import progress
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.routing.request import host_name
from tornado_proxy.rules.keys import host_objection, segment_objection
from tornado_proxy.rules.model import Rewrite, RuleSet
from tornado_proxy.templates.data import User
from tornado_proxy.tools.request_log import RequestLog, UnreadableLog, open_log, read_log
from tornado_proxy.tools.simulator import RequestDefaults


def add_request_arguments(parser: argparse.ArgumentParser, *, methods: tuple[str, ...] = ()) -> None:
    """Declare the arguments of a request and its user; `methods` are the choices of `--method`, if it is wanted."""
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
    """Declare the argument of the log that requests are read from."""
    parser.add_argument(
        "--requests",
        type=Path,
        required=required,
        metavar="FILE",
        help="an access log (common, combined or our own) or a list of percent-encoded paths, also compressed with "
        "gzip; `-` reads standard input",
    )


def given_user(arguments: argparse.Namespace) -> User | None:
    """Returns the user who is signed in; None if nobody is."""
    if arguments.user is None:
        return None
    # As in a test: only a header's user has groups or an address.
    kind = "HEADER" if arguments.user_groups or arguments.email else "BASIC"
    return User(arguments.user, kind, arguments.email, arguments.user_groups)


def request_defaults(arguments: argparse.Namespace) -> RequestDefaults:
    """Returns what holds for all requests of a log."""
    return RequestDefaults(given_user(arguments), arguments.host, tuple(arguments.header))


def requests_of(path: Path, rule_sets: Iterable[RuleSet]) -> RequestLog:
    """Reads the requests of a log; those that the rules cannot tell apart count as one. Raises `Ended`."""
    queries = any(_may_read_query(each) for rule_set in rule_sets for each in rule_set.rewrites)
    try:
        with open_log(path) as file, progress("reading") as show:
            return read_log(file, show, queries=queries)
    except UnreadableLog as error:
        raise Ended(ExitStatus.FAILED, f"`{path}` cannot be read: {error}") from error


def _may_read_query(rewrite: Rewrite) -> bool:
    """Returns whether a template may read the query: in Go also through its data as a whole, in Jinja by name only."""
    return rewrite.dialect is Dialect.GO or (rewrite.dialect is Dialect.JINJA and "request" in rewrite.template.text)


def count(text: str) -> int:
    """Converts an argument that is a number; raises what argparse shows."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"`{text}` is not a whole number")
    return int(text)


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
