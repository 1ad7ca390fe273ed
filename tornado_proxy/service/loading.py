"""From files to everything that a generation is made of, but for what is live; never raises for what a file says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tornado_proxy.auth.passwords import UnreadableHash, doubt
from tornado_proxy.config.model import BasicUser, Settings
from tornado_proxy.lang.diagnostic import Diagnostic, Severity, errors
from tornado_proxy.rules.loading import LoadedRules, compile_rule_files
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.rules.targets import unknown_targets
from tornado_proxy.service.sources import Sources, read_sources


@dataclass(frozen=True, slots=True)
class Loaded:
    """What configuration and rule files say together, and everything to be said about them.

    `settings` is None where the configuration is wrong. `digest` is that of the files, `places` where they are. `rules`
    is what the rule files came to, for the next time.
    """

    settings: Settings | None
    rule_sets: Mapping[str, RuleSet] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    digest: str = ""
    places: tuple[Path, ...] = ()
    files: tuple[str, ...] = ()
    rules: LoadedRules | None = field(default=None, repr=False, compare=False)

    @property
    def usable(self) -> bool:
        """Whether a generation can be made of it: no diagnostic is an error."""
        return self.settings is not None and not errors(self.diagnostics)


def load(config: Path, environment: Mapping[str, str]) -> Loaded:
    """Load a configuration and the rule files that it names."""
    return compile_sources(read_sources(config, environment))


def compile_sources(sources: Sources, before: Loaded | None = None) -> Loaded:
    """Compile what was read; what has not changed since a time before is taken over from there."""
    said = sources.configuration
    where = (sources.digest, sources.places, tuple(file.name for file in sources.rules.files))
    if said.settings is None:
        return Loaded(None, {}, said.diagnostics, *where)
    rules = compile_rule_files(sources.rules.files, before.rules if before else None)
    unknown = unknown_targets(rules.documents, [target.name for target in said.settings.targets])
    passwords = doubtful_passwords(said.settings)
    diagnostics = (*said.diagnostics, *passwords, *sources.rules.diagnostics, *rules.diagnostics, *unknown)
    return Loaded(said.settings, rules.rule_sets, diagnostics, *where, rules)


def doubtful_passwords(settings: Settings) -> Iterator[Diagnostic]:
    """What is odd about configured passwords; none is shown."""
    resources = (resource for target in settings.targets for resource in target.resources)
    for listed in dict.fromkeys(user for resource in resources for user in resource.users):
        if said := _doubt(listed):
            yield said


def _doubt(listed: BasicUser) -> Diagnostic | None:
    whose = f"the password of `{listed.user}` in {listed.password.origin}"
    try:
        odd = doubt(listed.password.reveal())
    except UnreadableHash as error:
        cure = "give a bcrypt or argon2 hash, or the password itself"
        return Diagnostic("unreadable-hash", f"{whose}: {error}", listed.span, cure)
    if odd is None:
        return None
    cure = "give a bcrypt hash of cost 12, such as `htpasswd -nBC 12 NAME` writes, or argon2 at its usual cost"
    return Diagnostic("doubtful-password", f"{whose}: {odd}", listed.span, cure, (), Severity.WARNING)
