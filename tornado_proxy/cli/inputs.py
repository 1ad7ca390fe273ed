"""Inputs that several commands share: a configuration, rules, and the sites that consist of both."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tornado_proxy.cli.output import CommandError, ExitStatus, suggestion
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.config.values import enumeration
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.rules.compile import HelperTexts, no_helpers, unknown_targets
from tornado_proxy.rules.diagnostic import Diagnostic, errors
from tornado_proxy.rules.loading import Read, compile_rule_files, read_rule_files
from tornado_proxy.rules.model import LoadedRules

_FEW = 10  # names of targets that a message lists


def load_settings(path: Path) -> Settings:
    """Returns the settings of a configuration, its secrets unresolved; raises `CommandError`."""
    from tornado_proxy.config.loading import load  # noqa: PLC0415 - YAML, for a configuration only

    loaded = load(path, os.environ, unresolved)
    if loaded.settings is None:
        status = ExitStatus.FAILED if loaded.source is None else ExitStatus.FINDINGS
        raise CommandError(status=status, diagnostics=errors(loaded.diagnostics))
    return loaded.settings


def load_rules(places: Sequence[Path], settings: Settings | None = None) -> LoadedRules:
    """Returns the rules of files and directories; raises `CommandError`."""
    if settings is None:
        return compiled(read_rule_files(places))
    from tornado_proxy.pages.loading import compile_pages, read_templates  # noqa: PLC0415 - with a configuration only

    helpers = compile_pages(settings, read_templates(settings)).helpers
    return compiled(read_rule_files(places, settings.rule_spans), helpers)


def compiled(read: Read, helpers: HelperTexts = no_helpers) -> LoadedRules:
    """Compiles files; raises `CommandError` if one could not be read or has an error."""
    if read.diagnostics:
        raise CommandError(diagnostics=read.diagnostics)
    loaded = compile_rule_files(read.files, None, helpers)
    raise_errors(loaded.diagnostics)
    return loaded


def raise_errors(diagnostics: Iterable[Diagnostic]) -> None:
    """Raises `CommandError` if a diagnostic is an error."""
    if mistakes := errors(diagnostics):
        raise CommandError(status=ExitStatus.FINDINGS, diagnostics=mistakes)


def configured_sites(settings: Settings, loaded: LoadedRules, only: str | None = None) -> tuple[Site, ...]:
    """Returns a configuration's targets with their rules, or the chosen one; raises `CommandError`."""
    names = [each.name for each in settings.targets]
    raise_errors(unknown_targets(loaded.documents, names))
    if only is not None:
        require_target(only, names)
    return sites((each for each in settings.targets if only in (None, each.name)), loaded.rule_sets)


def require_target(name: str, names: Sequence[str]) -> None:
    """Raises `CommandError` if a target does not exist."""
    if name not in names:
        verb = "is" if len(names) == 1 else "are"
        others = f"; there {verb} {enumeration(names)}" if 0 < len(names) <= _FEW else ""
        raise CommandError(f"unknown target `{name}`{suggestion(name, names) or others}")
