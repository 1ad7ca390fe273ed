"""The whole set of files that a generation is made from, read at one moment, and its digest.

The set is the unit: an edit may touch several files, and what is compiled is what was digested, not what a second
look at the disk would find.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tornado_proxy.config import loading as configuration
from tornado_proxy.config.compilation import compile_configuration
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Reference, Resolver, Secret, SecretMissing, file_of, resolver
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.rules.loading import Read, read_rule_files

SETTLED_AFTER = 0.02  # seconds between two looks that must agree
EMPTIED_AFTER = 50  # looks that must agree where a file has lost all that it held: an editor may be about to write it
LOOKS = 75

Answers = Mapping[Reference, Secret | None]
"""What was found for each reference to a secret; None where nothing was."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What was read: the configuration compiled (it names the rest), the rule files' bytes, and a digest of both.

    The digest may be shown: no secret is in it, so that nobody can try guesses on it. `places` are where a change would
    show: the configuration file, the places of rules, the files of secrets. `text` is the configuration as it stands in
    its file, with what secrets it may hold; None where it cannot be read. `settled` is false for the last look at files
    that changed from look to look.
    """

    configuration: configuration.Loaded
    rules: Read
    digest: str
    places: tuple[Path, ...] = field(repr=False)
    text: SourceFile | None = field(default=None, repr=False)
    secrets: Answers = field(default_factory=dict, repr=False)
    settled: bool = True

    def is_as(self, other: Sources | None) -> bool:
        """Whether a generation made of it would be that of another set: files and secrets are the same."""
        return other is not None and self.digest == other.digest and self.secrets == other.secrets

    def with_settings(self, settings: Settings) -> Sources:
        """The same set, from which other settings are to follow."""
        return replace(self, configuration=replace(self.configuration, settings=settings))


def read_sources(config: Path, environment: Mapping[str, str], known: Sources | None = None) -> Sources:
    """Read the set once; never raises for what it finds.

    What is compiled of the configuration is taken over from a set that is known, where that was read from the same.
    """
    text = configuration.read(config, again=True)
    if isinstance(text, configuration.Loaded):
        return _assembled(text, config, read_rule_files(()))
    if known is not None and text == known.text and _answers_are(known.secrets, resolver(environment, config.parent)):
        rules = _read_rules(known.configuration)
        return replace(known, rules=rules, digest=_digest(known.configuration, rules))
    return compile_text(text, environment, None)


def compile_text(text: SourceFile, environment: Mapping[str, str], rules: Read | None) -> Sources:
    """The set of a configuration's text, and of the rule files given, or those that it names; secrets are fetched."""
    config = Path(text.name)
    asked = _Asked(resolver(environment, config.parent))
    said = compile_configuration(text, config.parent, asked)
    if rules is None:
        rules = _read_rules(said)
    files = (file_of(reference, environment, config.parent) for reference in asked.answers)
    made = _assembled(said, config, rules, asked.answers)
    return replace(made, text=text, places=(*made.places, *filter(None, files)))


class Reader:
    """Reads the set whenever it is called, until two looks agree, so that no edit of several files is taken half done.

    One look is enough where nothing has changed since the time before. Where looks never agree, the last is given.
    """

    def __init__(
        self, config: Path, environment: Mapping[str, str], pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._config = config
        self._environment = environment
        self._pause = pause
        self._last: Sources | None = None

    def __repr__(self) -> str:
        return f"<Reader of {self._config}>"

    def __call__(self) -> Sources:
        """Read the set; blocks, and never raises for what it finds."""
        before = last = self._last
        agreed = 0
        for looked in self._looks():
            agreed = agreed + 1 if looked.is_as(last) else 0
            last = looked
            if looked.is_as(before) or agreed >= (EMPTIED_AFTER if _has_emptied(before, looked) else 1):
                break
        else:
            looked = replace(looked, settled=False)
        self._last = looked
        return looked

    def _looks(self) -> Iterator[Sources]:
        known = self._last
        for number in range(LOOKS):
            if number:
                self._pause(SETTLED_AFTER)
            known = read_sources(self._config, self._environment, known)
            yield known


def _has_emptied(before: Sources | None, now: Sources) -> bool:
    """Whether a rule file that held something holds nothing."""
    held = {file.name for file in before.rules.files if file.data} if before else set()
    return any(not file.data and file.name in held for file in now.rules.files)


class _Asked:
    """A resolver of secrets that remembers what it was asked for: a changed secret is a changed set."""

    def __init__(self, resolve: Resolver) -> None:
        self._resolve = resolve
        self.answers: dict[Reference, Secret | None] = {}

    def __call__(self, reference: Reference) -> Secret:
        self.answers[reference] = None
        secret = self._resolve(reference)
        self.answers[reference] = secret
        return secret


def _answers_are(answers: Answers, resolve: Resolver) -> bool:
    """Whether each reference still leads to the same; one that led nowhere may lead nowhere for another reason now."""
    try:
        return all(resolve(reference) == answer for reference, answer in answers.items())
    except SecretMissing:
        return False


def _assembled(said: configuration.Loaded, config: Path, rules: Read, secrets: Answers | None = None) -> Sources:
    return Sources(said, rules, _digest(said, rules), (config, *_rule_places(said)), secrets=secrets or {})


def _rule_places(said: configuration.Loaded) -> tuple[Path, ...]:
    return said.settings.rules if said.settings else ()


def _read_rules(said: configuration.Loaded) -> Read:
    return read_rule_files(_rule_places(said), said.settings.rule_spans if said.settings else None, again=True)


def _digest(said: configuration.Loaded, rules: Read) -> str:
    """SHA-256 over everything that was read or could not be, each with its role, name and length."""
    digest = hashlib.sha256()

    def add(role: str, name: str, content: bytes) -> None:
        digest.update(f"{role} {len(name)} {len(content)} {name}".encode(errors="surrogateescape"))
        digest.update(content)

    # The settings stand for the configuration's text: a comment changes nothing, and secrets are not in their `repr`.
    add("settings", "", repr(said.settings).encode())
    for diagnostic in (*said.diagnostics, *rules.diagnostics):
        add("diagnostic", diagnostic.place, diagnostic.message.encode())
    for file in rules.files:
        add("rules", file.name, file.data)
    return digest.hexdigest()
