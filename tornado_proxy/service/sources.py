"""The whole set of files that a generation is made from, read at one moment, and its digest.

The set is the unit: an edit may touch several files, and what is compiled is what was digested, not what a second
look at the disk would find.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tornado_proxy.config import loading as configuration
from tornado_proxy.config.secrets import Reference, Secret, Source, resolver
from tornado_proxy.rules.loading import Read, read_rule_files

SETTLED_AFTER = 0.02  # seconds between two looks that must agree
LOOKS = 25


@dataclass(frozen=True, slots=True)
class Sources:
    """What was read: the configuration compiled (it names the rest), the rule files' bytes, and a digest of all.

    `places` are where a change would show: the configuration file, the places of rules, the files of secrets.
    """

    configuration: configuration.Loaded
    rules: Read
    digest: str
    places: tuple[Path, ...] = field(repr=False)


def read_sources(config: Path, environment: Mapping[str, str]) -> Sources:
    """Read the set once; never raises for what it finds."""
    asked = _Asked(environment, config.parent)
    said = configuration.load(config, environment, asked)
    places = said.settings.rules if said.settings else ()
    rules = read_rule_files(places) if places else Read(())
    digest = _digest(said, rules, asked.found)
    return Sources(said, rules, digest, (config, *places, *asked.files))


def read_settled(config: Path, environment: Mapping[str, str], pause: Callable[[float], None] = time.sleep) -> Sources:
    """Read the set until two looks agree, so that an edit of several files is not taken half done."""
    sources = read_sources(config, environment)
    for _ in range(LOOKS):
        pause(SETTLED_AFTER)
        again = read_sources(config, environment)
        if again.digest == sources.digest:
            break
        sources = again
    return sources


class _Asked:
    """A resolver of secrets that remembers what it was asked for: a changed secret is a changed set."""

    def __init__(self, environment: Mapping[str, str], directory: Path) -> None:
        self._resolve = resolver(environment, directory)
        self._directory = directory
        self.found: list[tuple[str, str]] = []
        self.files: list[Path] = []

    def __call__(self, reference: Reference) -> Secret:
        if reference.source is Source.PATH:
            self.files.append(self._directory / reference.text)
        secret = self._resolve(reference)
        self.found.append((secret.origin, secret.reveal()))
        return secret


def _digest(said: configuration.Loaded, rules: Read, secrets: list[tuple[str, str]]) -> str:
    """SHA-256 over everything that was read or could not be, each with its role, name and length."""
    digest = hashlib.sha256()

    def add(role: str, name: str, content: bytes) -> None:
        digest.update(f"{role} {len(name)} {len(content)} {name}".encode(errors="surrogateescape"))
        digest.update(content)

    # The settings stand for the configuration's text: a comment changes nothing, a secret is digested by itself.
    add("settings", "", repr(said.settings).encode())
    for diagnostic in (*said.diagnostics, *rules.diagnostics):
        add("diagnostic", diagnostic.place, diagnostic.message.encode())
    for file in rules.files:
        add("rules", file.name, file.data)
    for origin, value in secrets:
        add("secret", origin, value.encode())
    return digest.hexdigest()
