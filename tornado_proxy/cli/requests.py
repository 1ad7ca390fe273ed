"""The commands `explain` and `diff`, which decide requests, those of a log too, with a configuration or without."""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tornado_proxy.cli import inputs
from tornado_proxy.cli.inputs import directory_of, in_revision, read_content, read_rules
from tornado_proxy.cli.limits import HEAD_WITHIN, LIVE_WITHIN
from tornado_proxy.cli.output import CommandError, ExitStatus, activity, print_diff
from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, Settings, Target
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Reference, Resolver, Secret, SecretMissing, resolver, unresolved
from tornado_proxy.config.show import changed_options
from tornado_proxy.routing.compare import KeptRequest, Kind
from tornado_proxy.routing.mounts import Mounts, Site, sites
from tornado_proxy.rules.diagnostic import counted
from tornado_proxy.rules.loading import Read, read_rule_files
from tornado_proxy.rules.model import Key, LoadedRules, RuleSet
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.semantics.request import METHODS, RequestPath, User
from tornado_proxy.tools import explain
from tornado_proxy.tools.diff import Comparison, KeyAnswers, to_json, to_markdown, to_text
from tornado_proxy.tools.simulator import RequestDefaults, RequestLog, Simulator, UnreadableLog, logged, read_log

_EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


def run_explain(arguments: argparse.Namespace) -> int:
    """Explains; returns 0 for any answer."""
    if (arguments.path is None) == (arguments.requests is None):
        raise CommandError("give either a PATH or `--requests`")
    mounts, public_path = _mounts(arguments)
    client = msgspec.structs.replace(request_defaults(arguments), public_path=public_path)
    is_json = arguments.format == "json"
    if arguments.path is not None:
        shown = explain.explain(mounts, arguments.path, arguments.method, client, arguments.file_name)
        text = explain.to_text(shown, configured=arguments.config is not None, user=client.user)
        print(f"{json.dumps(explain.to_json(shown), indent=2)}\n" if is_json else text, end="")
        return ExitStatus.CLEAN
    log = requests_of(arguments.requests, [each.rules for each in mounts.sites])
    with activity("simulating"):
        usage = explain.count_usage(Simulator(mounts, client), log, arguments.top)
    print(f"{json.dumps(explain.usage_json(usage), indent=2)}\n" if is_json else explain.usage_text(usage), end="")
    return ExitStatus.CLEAN


def _mounts(arguments: argparse.Namespace) -> tuple[Mounts, str]:
    """Returns the configuration's targets and pages of its own with its public path, or only the chosen target."""
    if not arguments.config:
        if not arguments.rules:
            raise CommandError("give `--rules` or `--config`")
        rule_sets = inputs.load_rules(read_rule_files(arguments.rules)).rule_sets
        name = chosen_target(arguments.target, list(rule_sets))
        return Mounts([bare_site(name, rule_sets[name], arguments.user, arguments.prefix or "")]), ""
    if arguments.prefix is not None:
        raise CommandError("`--prefix` cannot be used with `--config`")
    read = read_rule_files(arguments.rules) if arguments.rules else None
    side = _configured(arguments.config, read, target=arguments.target)
    assert side.settings is not None, "they were loaded"
    return side.mounts, side.settings.server.public_path


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


def request_defaults(arguments: argparse.Namespace) -> RequestDefaults:
    """Returns what the arguments say of the requests: the user who is signed in, the host and headers."""
    # As in a test: only a header's user has groups or an address.
    kind = "HEADER" if arguments.user_groups or arguments.email else "BASIC"
    groups = tuple(arguments.user_groups)
    user = User(arguments.user, kind, arguments.email, groups) if arguments.user is not None else None
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


def run_diff(arguments: argparse.Namespace) -> int:
    """Compares; returns 1 if a request is decided otherwise, and 2 if one may be, or S3 does not tell of a key."""
    old, new = _sides(arguments)
    report = _compared(old, new, arguments)
    if arguments.probe:
        report.answers = _asked(report, new, arguments)
    if arguments.format == "text":
        print_diff(to_text(report))
    elif arguments.format == "json":
        print(json.dumps(to_json(report), indent=2))
    else:
        print(*to_markdown(report), sep="\n")
    if report.answers is not None and report.answers.unknown:
        return ExitStatus.FAILED
    is_bad = bool(report.changes)
    if arguments.fail_on == "failures":
        is_bad = report.refused > 0 or (report.answers is not None and bool(report.answers.missing))
    elif not is_bad and report.kinds.get(Kind.UNKNOWN):
        return ExitStatus.FAILED
    return ExitStatus.FINDINGS if is_bad else ExitStatus.CLEAN


class _Side(NamedTuple):
    """One of the two servers that are compared; `missing` has why secrets of its configuration were not found."""

    mounts: Mounts
    rules: LoadedRules
    settings: Settings | None = None
    missing: Mapping[str, SecretMissing] = {}  # by origin


def _sides(arguments: argparse.Namespace) -> Sequence[_Side]:
    old, new = arguments.old, arguments.new
    places = in_revision(old, new) or old, in_revision(new, old) or new
    kinds = [place.endswith(inputs.CONFIGURATIONS) for place in places]
    if all(kinds):
        if arguments.target or arguments.config:
            raise CommandError("`--target` and `--config` are for rules: a configuration has its own")
        return [_configured(Path(places[0])), _configured(Path(places[1]), probes=arguments.probe)]
    if any(kinds):
        for place in reversed(places):
            if ":" not in place and not os.path.lexists(place):
                raise CommandError(f"`{place}` does not exist")
        raise CommandError(f"only one of `{places[0]}` and `{places[1]}` is a configuration (.yaml or .yml)")
    if arguments.probe and not arguments.config:
        raise CommandError("`--probe` asks buckets: compare configurations, or give `--config`")
    reads = [read_rules(place) for place in places]
    if arguments.config:
        return [_configured(arguments.config, read, probes=arguments.probe) for read in reads]
    loaded = [inputs.load_rules(read) for read in reads]
    name = chosen_target(arguments.target, list(dict.fromkeys(name for each in loaded for name in each.rule_sets)))
    # The target has no rules on a side that lacks it.
    rule_sets = [each.rule_sets.get(name, RuleSet(name)) for each in loaded]
    bare = [Mounts([bare_site(name, rules, arguments.user)]) for rules in rule_sets]
    return [_Side(mounts, each) for mounts, each in zip(bare, loaded, strict=True)]


def _configured(path: Path, read: Read | None = None, *, probes: bool = False, target: str | None = None) -> _Side:
    """Loads a configuration with its rules, or with others; only probes need secrets, and only those of buckets."""
    missing: dict[str, SecretMissing] = {}
    settings = inputs.load_settings(path, _noting(directory_of(str(path)), missing) if probes else unresolved)
    loaded = inputs.load_rules(read or inputs.rules_of(settings), settings)
    sites = inputs.configured_sites(settings, loaded, target)
    pages = () if target else (settings.oidc_providers, settings.list_targets)
    return _Side(Mounts(sites, *pages), loaded, settings, missing)


def _noting(directory: Path, missing: dict[str, SecretMissing]) -> Resolver:
    """Returns the resolver of the service, for which a missing secret is empty and is noted."""
    resolve = resolver(os.environ, directory, read_content)

    def resolved(reference: Reference) -> Secret:
        try:
            return resolve(reference)
        except SecretMissing as error:
            missing[reference.origin] = error
            return unresolved(reference)

    return resolved


def _compared(old: _Side, new: _Side, arguments: argparse.Namespace) -> Comparison:
    options = None
    if arguments.config is None and old.settings is not None and new.settings is not None:
        options = changed_options(old.settings, new.settings)
    before, after = (Simulator(each.mounts, request_defaults(arguments)) for each in (old, new))
    if arguments.live:
        from tornado_proxy.cli.admin import listener_at  # noqa: PLC0415 - HTTP and TLS, for this only

        _, report = listener_at(arguments, old.settings).ask("GET", "/-/requests", LIVE_WITHIN)
        log = RequestLog()
        for each in report["requests"]:
            fields = {**each, "at": 0.0, "path": RequestPath(each["path"]), "key": Key(each["key"])}
            log.requests[logged(KeptRequest(**fields))] += 1
    else:
        log = requests_of(arguments.requests, [rules for each in (old, new) for rules in each.rules.rule_sets.values()])
    with activity("comparing"):
        return Comparison(before, after, arguments.examples, options).compare(log)


def _asked(report: Comparison, new: _Side, arguments: argparse.Namespace) -> KeyAnswers:
    """Asks the buckets for the new keys, the most requested first; raises `CommandError` if a credential is missing."""
    import asyncio  # noqa: PLC0415 - for S3 only

    from tornado_proxy.service.trials import find_objects  # noqa: PLC0415 - the same

    assert new.settings is not None, "the command line was checked"
    keys = sorted(report.keys.items(), key=lambda item: -item[1].times)
    chosen = keys[: arguments.most_keys]
    needed = {key.target for key, _ in chosen}
    targets = [target for target in new.settings.targets if target.name in needed]
    for target in targets:
        pair = target.bucket.credentials
        for secret in (pair.access_key, pair.secret_key, pair.session_token) if pair else ():
            if secret is not None and secret.origin in new.missing:
                reason = new.missing[secret.origin]
                raise CommandError(f"`--probe` needs the credentials of target `{target.name}`: {reason}")
    with activity("asking S3"):
        answers = asyncio.run(find_objects(targets, [key for key, _ in chosen], HEAD_WITHIN))
    answered = list(zip(chosen, answers, strict=True))
    missing = tuple(each for each, answer in answered if answer is False)
    unknown = Counter((key.target, answer.message) for (key, _), answer in answered if not isinstance(answer, bool))
    return KeyAnswers(len(keys), len(chosen), missing, unknown, arguments.examples)
