"""What the commands read before they can work: rules, a configuration, and the sites that both make."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tornado_proxy.cli.diagnostics import show
from tornado_proxy.cli.status import ExitStatus
from tornado_proxy.config.actions import Actions, DeleteAction, PutAction
from tornado_proxy.config.model import BasicUser, Bucket, Mount, Resource, Settings, Target
from tornado_proxy.config.secrets import Secret, unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, did_you_mean, errors
from tornado_proxy.lang.source import Span
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.rules.compile import unknown_targets
from tornado_proxy.rules.loading import LoadedRules, Read, compile_rule_files, read_rule_files
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.testing import METHODS

_EVERYTHING = Actions(put=PutAction(enabled=True), delete=DeleteAction(enabled=True))


class Ended(Exception):
    """A command ends before it can do its work: with a status, and what is to be said about the files."""

    def __init__(self, status: ExitStatus, message: str = "", diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.diagnostics = diagnostics

    def tell(self, command: str) -> ExitStatus:
        """Say on standard error why, and what the command ends with."""
        show(self.diagnostics)
        if str(self):
            print(f"tornado-proxy {command}: {self}", file=sys.stderr)
        return self.status


def load_settings(path: Path) -> Settings:
    """The settings of a configuration, its secrets unresolved; raises `Ended`."""
    from tornado_proxy.config.loading import load  # noqa: PLC0415 - YAML, for a configuration only

    loaded = load(path, os.environ, unresolved)
    if loaded.settings is None:
        unreadable = loaded.source is None
        raise Ended(ExitStatus.FAILED if unreadable else ExitStatus.FINDINGS, diagnostics=errors(loaded.diagnostics))
    return loaded.settings


def default_places() -> list[Path]:
    """Where rules are looked for if nothing says where."""
    usual = Path("rules")
    return [usual if usual.is_dir() else Path()]


def load_rules(places: Sequence[Path], named: Mapping[Path, Span] | None = None) -> LoadedRules:
    """The rules of files and directories; raises `Ended` where one cannot be read or has a mistake."""
    return compiled(read_rule_files(places, named))


def compiled(read: Read) -> LoadedRules:
    """The rules of files that were read; raises `Ended` where one could not be or has a mistake."""
    if read.diagnostics:
        raise Ended(ExitStatus.FAILED, diagnostics=read.diagnostics)
    loaded = compile_rule_files(read.files)
    unless_mistaken(loaded.diagnostics)
    return loaded


def unless_mistaken(diagnostics: Iterable[Diagnostic]) -> None:
    """Raise `Ended` where a diagnostic is an error."""
    mistakes = errors(diagnostics)
    if mistakes:
        raise Ended(ExitStatus.FINDINGS, diagnostics=mistakes)


def configured_sites(settings: Settings, loaded: LoadedRules, only: str | None = None) -> tuple[Site, ...]:
    """A configuration's targets with their rules, or the one that is asked for; raises `Ended`."""
    names = [each.name for each in settings.targets]
    unless_mistaken(unknown_targets(loaded.documents, names))
    if only is not None:
        require_target(only, names)
    return sites((each for each in settings.targets if only in (None, each.name)), loaded.rule_sets)


def bare_site(name: str, rules: RuleSet, user: str | None = None, prefix: str = "") -> Site:
    """A target as rule files alone know it: mounted at `/`, with all methods; whoever is named is signed in."""
    someone = user and BasicUser(user, Secret("the command line", ""))
    resources = (Resource("/**", METHODS, provider="--user", users=(someone,)),) if someone else ()
    target = Target(name, Mount(), Bucket("", prefix), _EVERYTHING, resources)
    return sites([target], {name: rules})[0]


def chosen_target(name: str | None, names: Sequence[str]) -> str:
    """The target that is meant: the one named, or the only one there is; raises `Ended`."""
    if name is not None:
        require_target(name, names)
        return name
    if len(names) != 1:
        listed = ", ".join(f"`{each}`" for each in names) or "none"
        raise Ended(ExitStatus.FAILED, f"give `--target` or `--config`: the targets are {listed}")
    return names[0]


def require_target(name: str, names: Sequence[str]) -> None:
    """Raise `Ended` where there is no such target."""
    if name not in names:
        meant = did_you_mean(name, names)
        cure = f"; did you mean `{meant}`?" if meant else ""
        raise Ended(ExitStatus.FAILED, f"there is no target `{name}`{cure}")
