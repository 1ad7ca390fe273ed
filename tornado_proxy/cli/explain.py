"""Show which rewrite takes a path, and why."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tornado_proxy.cli.diagnostics import show
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.config import values
from tornado_proxy.config.model import (
    Actions,
    BasicUser,
    Bucket,
    DeleteAction,
    Mount,
    PutAction,
    Resource,
    Settings,
    Target,
)
from tornado_proxy.config.secrets import Secret, unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, errors
from tornado_proxy.lang.suggestion import did_you_mean
from tornado_proxy.routing.address import read_address
from tornado_proxy.routing.errors import RequestError
from tornado_proxy.routing.explain import Course, explain_request
from tornado_proxy.routing.keys import RequestPath, parse_request_path, segment_objection
from tornado_proxy.routing.mounts import Mounts, Site, host_name, sites
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Facts, query_pairs
from tornado_proxy.rules.loading import LoadedRules, compile_rule_files, read_rule_files
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.targets import unknown_targets
from tornado_proxy.templating.data import User
from tornado_proxy.tools.course import to_json, to_text

_METHODS = ("GET", "HEAD", "PUT", "DELETE")

_EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


class _Ended(Exception):
    """The command ends before it can explain anything: with a status, and what is to be said about the files."""

    def __init__(self, status: ExitStatus, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.diagnostics = diagnostics


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", metavar="PATH", help="the percent-encoded path of a request, with its query if any")
    where = parser.add_argument_group("what is asked")
    where.add_argument(
        "--rules", type=Path, action="append", metavar="PLACE", help="a rule file or a directory of them"
    )
    where.add_argument("--target", metavar="NAME", help="the target whose rules are asked")
    where.add_argument("--config", type=Path, metavar="FILE", help="a configuration, whose mounts and access apply")
    where.add_argument("--prefix", type=_prefix, help="the bucket's, where there is no configuration")
    request = parser.add_argument_group("what the request says")
    request.add_argument("--method", choices=_METHODS, default="GET")
    request.add_argument("--host", type=host_name, default="")
    request.add_argument("--header", type=_header, action="append", metavar="NAME:VALUE", help="may be repeated")
    request.add_argument("--file-name", metavar="NAME", help="what the form of an upload calls its file")
    user = parser.add_argument_group("who signs in")
    user.add_argument("--user", type=_user_name, metavar="NAME")
    user.add_argument("--user-groups", type=_names, default=(), metavar="A,B")
    user.add_argument("--email", default="", metavar="ADDRESS")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Explain; 0 whatever the request's answer would be, 1 where the files have errors, 2 where nothing can be told."""
    try:
        mounts = Mounts(_configured(arguments) if arguments.config else _bare(arguments))
    except _Ended as ended:
        show(ended.diagnostics)
        if str(ended):
            print(f"tornado-proxy explain: {ended}", file=sys.stderr)
        return ended.status
    course = _course(mounts, arguments)
    if arguments.format == "json":
        print(json.dumps(to_json(course), indent=2))
    else:
        print(to_text(course, configured=arguments.config is not None), end="")
    return ExitStatus.CLEAN


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
        tuple(arguments.header or ()),
    )
    return explain_request(mounts, facts, _user(arguments), arguments.file_name)


def _user(arguments: argparse.Namespace) -> User | None:
    if arguments.user is None:
        return None
    # As in a test: only a header's user has groups or an address.
    kind = "HEADER" if arguments.user_groups or arguments.email else "BASIC"
    return User(arguments.user, kind, arguments.email, arguments.user_groups)


def _bare(arguments: argparse.Namespace) -> Sequence[Site]:
    """The target as rule files alone know it: mounted at `/`, with all methods; whoever is named is signed in."""
    if not arguments.rules or not arguments.target:
        raise _Ended(ExitStatus.FAILED, "give `--rules` and `--target`, or `--config`")
    rule_sets = _loaded(arguments.rules).rule_sets
    _known(arguments.target, rule_sets)
    user = arguments.user and BasicUser(arguments.user, Secret("the command line", ""))
    resources = (Resource("/**", _METHODS, provider="--user", users=(user,)),) if user else ()
    bucket = Bucket("", arguments.prefix or "")
    return sites([Target(arguments.target, Mount(), bucket, _EVERYTHING, resources)], rule_sets)


def _configured(arguments: argparse.Namespace) -> Sequence[Site]:
    """The configuration's targets, or the one that is asked for."""
    if arguments.prefix is not None:
        raise _Ended(ExitStatus.FAILED, "`--prefix` is the configuration's where there is one")
    settings = _settings(arguments.config)
    loaded = _loaded(arguments.rules or settings.rules)
    names = [each.name for each in settings.targets]
    _unless_mistaken(unknown_targets(loaded.documents, names))
    if arguments.target:
        _known(arguments.target, names)
    targets = (each for each in settings.targets if arguments.target in (None, each.name))
    return sites(targets, loaded.rule_sets)


def _settings(path: Path) -> Settings:
    from tornado_proxy.config.loading import load  # noqa: PLC0415 - pydantic and YAML, for a configuration only

    loaded = load(path, os.environ, unresolved)
    if loaded.settings is None:
        unreadable = loaded.source is None
        raise _Ended(ExitStatus.FAILED if unreadable else ExitStatus.FINDINGS, diagnostics=errors(loaded.diagnostics))
    return loaded.settings


def _loaded(places: Sequence[Path]) -> LoadedRules:
    read = read_rule_files(places)
    if read.diagnostics:
        raise _Ended(ExitStatus.FAILED, diagnostics=read.diagnostics)
    loaded = compile_rule_files(read.files)
    _unless_mistaken(loaded.diagnostics)
    return loaded


def _unless_mistaken(diagnostics: Iterable[Diagnostic]) -> None:
    mistakes = errors(diagnostics)
    if mistakes:
        raise _Ended(ExitStatus.FINDINGS, diagnostics=mistakes)


def _known(name: str, names: Mapping[str, RuleSet] | Sequence[str]) -> None:
    if name not in names:
        meant = did_you_mean(name, names)
        raise _Ended(
            ExitStatus.FAILED, f"there is no target `{name}`" + (f"; did you mean `{meant}`?" if meant else "")
        )


def _prefix(text: str) -> str:
    try:
        return values.prefix(text)
    except values.Misfit as misfit:
        raise argparse.ArgumentTypeError(f"`{text}` {misfit.message}") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise argparse.ArgumentTypeError(f"`{text}` is no `NAME:VALUE`")
    return name.strip(), value.strip()


def _user_name(text: str) -> str:
    objection = segment_objection(text)
    if objection is not None:
        raise argparse.ArgumentTypeError(f"`{text}` cannot sign in: the name {objection}")
    return text


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for each in text.split(",") if (name := each.strip()))
