"""A snapshot of all files that a generation is made from: read at one moment, digested, compiled.

The snapshot is the unit: an edit may touch several files, and what is compiled is exactly what was digested.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tornado_proxy.auth.basic import UnreadableHash, doubt
from tornado_proxy.config import loading as configuration
from tornado_proxy.config.loading import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Reference, Resolver, Secret, SecretMissing, file_of, resolver
from tornado_proxy.config.show import canonical
from tornado_proxy.config.values import Unshown
from tornado_proxy.pages.loading import LoadedPages, compile_pages, read_templates, template_places
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, errors
from tornado_proxy.rules.expectations import FAILING_TEST
from tornado_proxy.rules.loading import (
    Read,
    RuleFile,
    compile_rule_files,
    overruled_files,
    read_rule_files,
    unknown_targets,
)
from tornado_proxy.rules.model import LoadedRules, RuleSet
from tornado_proxy.service.certificates import (
    INVALID_DATES,
    FetchedDocuments,
    doubtful_certificates,
    find_certificates,
    unusable_certificates,
    validities,
)
from tornado_proxy.service.limits import MOST_READINGS, READINGS_IF_HALFWAY, SETTLED_AFTER

_OF_MISSING_FILES = ("unreadable-file", "no-rule-files", "missing-secret", "missing-certificate")

Answers = Mapping[Reference, Secret | None]  # the secret of each reference; None if it was not found


class Snapshot(Unshown, frozen=True):
    """All files that were read: the settings, the bytes of rule files and templates, and a digest of all.

    The digest may be shown: it covers no secret, so nobody can test guesses on it. The text may have secrets.
    """

    shown = ("digest",)

    settings: Settings | None  # None after a mistake in them
    diagnostics: tuple[Diagnostic, ...]  # of the configuration file
    rules: Read
    digest: str
    places: tuple[Path, ...]  # of the configuration, the rules, the templates, the secrets
    text: SourceFile | None = None  # of the configuration; None if it cannot be read
    secrets: Answers = msgspec.field(default_factory=dict)
    fetched: FetchedDocuments = FetchedDocuments()
    settled: bool = True  # false if the files changed from reading to reading
    templates: Read = Read(())
    remarks: tuple[Diagnostic, ...] = ()  # about secrets, so not in the digest
    settings_read: Settings | None = None  # some only a restart may put in force
    options: str = ""  # the canonical form of these

    def is_as(self, other: Snapshot | None) -> bool:
        """Whether another snapshot has the same files and secrets."""
        if other is None or (self.digest, self.secrets) != (other.digest, other.secrets):
            return False
        # The digest leaves out what is secret within an option, such as the password in a URL.
        return (self.fetched.documents, self.settings_read) == (other.fetched.documents, other.settings_read)

    @property
    def files(self) -> tuple[RuleFile, ...]:
        """All files except the configuration."""
        return (*self.rules.files, *self.rules.list_files, *self.templates.files)

    @property
    def watched(self) -> tuple[Path, ...]:
        """The places, and the files that were found there."""
        return (*self.places, *(Path(file.name) for file in self.files), *map(Path, self.rules.lists))


def _read_named(settings: Settings | None) -> tuple[Read, Read]:
    """Reads the rule files and the templates that settings name; none without settings."""
    rules = read_rule_files(settings.rules, settings.rule_spans, again=True) if settings else Read(())
    return rules, read_templates(settings)


def read_snapshot(config: Path, environment: Mapping[str, str], last: Snapshot | None = None) -> Snapshot:
    """Reads the snapshot once; mistakes in the files become diagnostics.

    The settings of the last snapshot are reused if text and secrets are unchanged.
    """
    text = configuration.read(config, again=True)
    fetched = last.fetched if last else FetchedDocuments()
    if isinstance(text, configuration.Loaded):
        return _digested(Snapshot(None, text.diagnostics, Read(()), "", (config,), fetched=fetched), config.parent)
    if last is not None and text == last.text and _has_secrets_of_now(last, resolver(environment, config.parent)):
        rules, templates = _read_named(last.settings)
        return _digested(replace(last, rules=rules, templates=templates), config.parent)
    return compile_text(text, environment, fetched=fetched)


def read_to_check(config: Path, environment: Mapping[str, str]) -> Snapshot:
    """Reads the snapshot once, without the systemd credentials, which only the service has; a note names each."""
    text = configuration.read(config, again=True)
    if isinstance(text, configuration.Loaded) or "CREDENTIALS_DIRECTORY" in environment:
        return read_snapshot(config, environment)
    resolve, left_out = resolver(environment, config.parent), dict[Reference, Diagnostic]()

    def without_credentials(reference: Reference) -> Secret:
        if reference.kind != "credential":
            return resolve(reference)
        note = f"not checked: {reference.origin}, which only the service has"
        left_out[reference] = Diagnostic("unchecked-secret", note, severity=Severity.INFO)
        return Secret(reference.origin, "")

    snapshot = compile_text(text, environment, without_credentials)
    return replace(snapshot, diagnostics=(*snapshot.diagnostics, *left_out.values()))


def compile_text(
    text: SourceFile,
    environment: Mapping[str, str],
    resolve: Resolver | None = None,
    fetched: FetchedDocuments | None = None,
    files: tuple[Read, Read] | None = None,
) -> Snapshot:
    """Compiles a configuration's text, and reads the files that it names, unless they are given.

    Fetches the secrets. `fetched` has the certificates of an earlier snapshot, which stay in use where they cannot be
    fetched again.
    """
    config = Path(text.name)
    find, answers = resolve or resolver(environment, config.parent), dict[Reference, Secret | None]()
    missing: dict[Reference, SecretMissing] = {}

    def asked(reference: Reference) -> Secret:
        # Once, or one that appears meanwhile would be among the answers, and missing in the diagnostics for ever.
        if reference in missing:
            raise missing[reference]
        if (secret := answers.get(reference)) is None:
            try:
                answers[reference] = secret = find(reference)
            except SecretMissing as error:
                answers[reference], missing[reference] = None, error
                raise
        return secret

    loaded = compile_configuration(text, config.parent, asked)
    settings, diagnostics, fetched = loaded.settings, loaded.diagnostics, fetched or FetchedDocuments()
    if settings is not None:
        settings, problems, fetched = find_certificates(settings, asked, fetched)
        diagnostics += problems
        settings = None if errors(diagnostics) else settings
    rules, templates = files or _read_named(settings)
    secrets = filter(None, (file_of(reference, environment, config.parent) for reference in answers))
    snapshot = Snapshot(None, diagnostics, rules, "", (config, *secrets), text, answers, fetched, templates=templates)
    return _digested(_with_settings(snapshot, settings) if settings else snapshot, config.parent)


def _with_settings(snapshot: Snapshot, settings: Settings) -> Snapshot:
    config, *secrets = snapshot.places
    places = (config, *settings.rules, *template_places(settings), *secrets)
    certificates = (*unusable_certificates(settings), *doubtful_certificates(settings, time.time()))
    remarks = (*_doubtful_passwords(settings), *certificates)
    # Without what differs from machine to machine: paths, and where the listeners listen.
    server = replace(settings.server, address="", port=0)
    internal = replace(settings.internal_server, address="", port=0)
    options = canonical(replace(settings, rules=(), server=server, internal_server=internal))
    return replace(snapshot, settings=settings, settings_read=settings, options=options, places=places, remarks=remarks)


class SnapshotReader:
    """Reads the snapshot until two readings agree, so that an edit of several files is never taken half done.

    One reading is enough if nothing changed since the last call. If readings never agree, the last one is not settled.
    """

    def __init__(
        self, config: Path, environment: Mapping[str, str], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._config = config
        self._environment = environment
        self._pause = pause
        self._last: Snapshot | None = None

    def renewed(self, snapshot: Snapshot) -> Snapshot:
        """Returns a snapshot with the secrets and certificates that there are now, once two readings of them agree."""
        before, text, files = snapshot, snapshot.text, (snapshot.rules, snapshot.templates)
        assert text is not None, "what is in force could be read"
        for _ in range(MOST_READINGS):
            if _has_secrets_of_now(before, resolver(self._environment, Path(text.name).parent)):
                return before
            renewed = compile_text(text, self._environment, fetched=before.fetched, files=files)
            if renewed.is_as(before):
                return renewed
            before = renewed
            self._pause(SETTLED_AFTER)
        return snapshot

    def __call__(self) -> Snapshot:
        """Reads the snapshot; blocks; mistakes in the files become diagnostics."""
        settled = last = self._last
        agreed = 0
        for number in range(MOST_READINGS):
            if number:
                self._pause(SETTLED_AFTER)
            snapshot = read_snapshot(self._config, self._environment, last)
            agreed = agreed + 1 if snapshot.is_as(last) else 0
            needed = READINGS_IF_HALFWAY if _may_be_halfway(settled, snapshot) else 1
            if snapshot.is_as(settled) or agreed >= needed:
                break
            last = snapshot
        else:
            snapshot = replace(snapshot, settled=False)
        self._last = snapshot
        return snapshot


def _may_be_halfway(settled: Snapshot | None, snapshot: Snapshot) -> bool:
    """Whether a file has become empty or unreadable, so that an edit may still go on."""
    if settled is None:
        return False
    held = {file.name for file in settled.files if file.data}
    emptied = any(not file.data and file.name in held for file in snapshot.files)
    return emptied or (_is_incomplete(snapshot) and not _is_incomplete(settled))


def _is_incomplete(snapshot: Snapshot) -> bool:
    diagnostics = (*snapshot.diagnostics, *snapshot.rules.diagnostics, *snapshot.templates.diagnostics)
    lists = snapshot.rules.lists.values()
    return any(each.code in _OF_MISSING_FILES for each in diagnostics) or any(isinstance(each, str) for each in lists)


def _has_secrets_of_now(snapshot: Snapshot, resolve: Resolver) -> bool:
    """Whether every secret is still the same, and no certificate is due; a missing secret counts as changed."""
    if time.monotonic() >= snapshot.fetched.due:
        return False
    try:
        return all(resolve(reference) == answer for reference, answer in snapshot.secrets.items())
    except SecretMissing:
        return False


def _digested(snapshot: Snapshot, directory: Path) -> Snapshot:
    """Returns the snapshot with its digest: a SHA-256 of options, files and diagnostics, with role, name and length.

    Names are relative to the configuration's directory: the same files have the same digest wherever they stand.
    """
    digest, here = hashlib.sha256(), f"{directory}{os.sep}"

    def add(role: str, name: str, content: bytes) -> None:
        name = name.removeprefix(here)
        digest.update(f"{role} {len(name)} {len(content)} {name}".encode(errors="surrogateescape"))
        digest.update(content)

    rules, templates = snapshot.rules, snapshot.templates
    for place in snapshot.settings.rules if snapshot.settings else ():
        add("place", str(place), b"")
    # Not the text: a comment changes nothing.
    add("settings", "", snapshot.options.encode())
    for diagnostic in (*snapshot.diagnostics, *rules.diagnostics, *templates.diagnostics):
        add("diagnostic", diagnostic.place, diagnostic.message.encode(errors="surrogateescape"))
    for file in rules.files:
        add("rules", file.name, file.data)
    for name, content in rules.lists.items():
        add("list", name, content.encode() if isinstance(content, str) else content)
    for file in templates.files:
        add("templates", file.name, file.data)
    return replace(snapshot, digest=digest.hexdigest())


class Configuration(msgspec.Struct, frozen=True):
    """A compiled snapshot with all its diagnostics; the next compilation reuses `rules` and `pages`."""

    snapshot: Snapshot
    rule_sets: Mapping[str, RuleSet] = {}
    diagnostics: tuple[Diagnostic, ...] = ()
    rules: LoadedRules | None = None
    pages: LoadedPages | None = None
    kept_back: tuple[str, ...] = ()  # names of settings that wait for a restart

    @property
    def settings(self) -> Settings:
        """The settings; a usable snapshot has them."""
        settings = self.snapshot.settings
        assert settings is not None, "the configuration has errors"
        return settings

    @property
    def usable(self) -> bool:
        """Whether no diagnostic is an error."""
        return not errors(self.diagnostics)

    def tolerating(self, code: str) -> Configuration:
        """Returns the configuration with its errors of a code as warnings."""
        milder = (replace(each, severity=Severity.WARNING) if each.code == code else each for each in self.diagnostics)
        return replace(self, diagnostics=tuple(milder))

    @property
    def failing_tests(self) -> tuple[Diagnostic, ...]:
        """The diagnostics of rule tests that fail."""
        return tuple(each for each in self.diagnostics if each.code == FAILING_TEST)

    @property
    def rewrite_count(self) -> int:
        """The number of rules, over all targets; a list is one."""
        return sum(len(rules.counted) for rules in self.rule_sets.values())

    def pieces(self) -> Iterator[object]:
        """Yields all of it that is many or large, to be freed one by one."""
        return self.rules.pieces() if self.rules else iter(())


def compile_snapshot(snapshot: Snapshot, in_force: Configuration | None = None) -> Configuration:
    """Compiles a snapshot; rule files and custom pages that are as in force are reused."""
    if snapshot.settings is None:
        return Configuration(snapshot, {}, snapshot.diagnostics)
    pages = None
    if in_force and (in_force.snapshot.text, in_force.snapshot.templates) == (snapshot.text, snapshot.templates):
        pages = in_force.pages
    pages = pages or compile_pages(snapshot.settings, snapshot.templates)
    rules = compile_rule_files(
        snapshot.rules.files, in_force.rules if in_force else None, pages.helpers, snapshot.rules.list_file
    )
    unknown = unknown_targets(rules.documents, [target.name for target in snapshot.settings.targets])
    overruled = overruled_files(rules.rule_sets.values())
    of_rules = (*snapshot.rules.diagnostics, *rules.diagnostics, *unknown, *overruled)
    diagnostics = (*snapshot.diagnostics, *snapshot.remarks, *pages.diagnostics, *of_rules)
    return Configuration(snapshot, rules.rule_sets, diagnostics, rules, pages)


def tolerant_of_dates(configuration: Configuration, in_force: Settings | None, now: float) -> Configuration:
    """Returns a configuration where invalid certificates are warnings, unless they would replace valid ones."""
    if in_force is not None and not any(each.objection(now) for each in validities(in_force)):
        return configuration
    return configuration.tolerating(INVALID_DATES)


def _doubtful_passwords(settings: Settings) -> Iterator[Diagnostic]:
    """Yields unreadable hashes and weak passwords; shows no password."""
    for listed in dict.fromkeys(user for resource in settings.resources for user in resource.users):
        whose = f"the password of `{listed.user}` in {listed.password.origin}"
        try:
            # It is empty if only the service can read it.
            odd = doubt(listed.password.reveal()) if listed.password.reveal() else None
        except UnreadableHash as error:
            advice = "give a bcrypt or argon2 hash, or the password itself"
            yield Diagnostic("unreadable-hash", f"{whose}: {error}", listed.place.key("password"), advice)
            continue
        if odd is not None:
            advice = (
                "give a bcrypt hash of cost 12, such as `htpasswd -nBC 12 NAME` writes, or argon2 at its usual cost"
            )
            yield Diagnostic(
                "doubtful-password", f"{whose}: {odd}", listed.place.key("password"), advice, (), Severity.WARNING
            )
