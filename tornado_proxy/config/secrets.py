"""Secrets: references that name them, a resolver that fetches them, and sources that are shown without them.

A reference is of one of four kinds: the name of an environment variable, a file (relative to the configuration file),
the name of a systemd credential, or the value itself. Tools that need no secret use `unresolved`.

Diagnostics quote only a redacted source: a copy of equal length, with a dot for each character that may belong to a
secret. The value of a known option is shown unless the option is a secret's. Comments are hidden, and so are the values
of unknown options, which may be a misspelt `password`. A text that is not YAML is hidden completely.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, ClassVar, assert_never

from tornado_proxy.config import values
from tornado_proxy.config.document import Composed, MappingEntry, MappingNode, Node, ScalarNode, SequenceNode, merged
from tornado_proxy.config.options import Constraint, OptionType, option, options_of
from tornado_proxy.lang.diagnostic import SourceFile, did_you_mean, read_file

LARGEST = 64 * 1024
"""The most bytes that a secret's file may have: whatever is larger was not meant."""

HASHES = ("$2a$", "$2b$", "$2y$", "$argon2")
"""How the hashes of passwords begin: those of bcrypt and argon2."""


class ReferenceKind(Enum):
    """How a reference names its secret: the option that it uses."""

    ENV = "env"
    PATH = "path"
    CREDENTIAL = "credential"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a secret stands: exactly one of the four."""

    shape: ClassVar[str] = "a secret is named, not written: `{env: NAME}`, `{path: FILE}` or `{credential: NAME}`"

    env: Annotated[str, Constraint(values.variable, (("pattern", values.VARIABLE),))] | None = option(
        "The environment variable that holds it.", default=None
    )
    path: Annotated[str, Constraint(values.line, (("minLength", 1),))] | None = option(
        "The file that holds it, relative to the configuration file. One line end is trimmed.", default=None
    )
    credential: Annotated[str, Constraint(values.credential, (("pattern", values.CREDENTIAL),))] | None = option(
        "The systemd credential that holds it (`LoadCredential=` in the unit).", default=None
    )
    value: str | None = option(
        "The secret itself. Everyone who can read the file knows it, so there is a warning.", default=None, show=False
    )

    @property
    def kinds(self) -> tuple[ReferenceKind, ...]:
        """The options that are given: one in a valid reference."""
        return tuple([kind for kind in ReferenceKind if getattr(self, kind.value) is not None])

    @property
    def kind(self) -> ReferenceKind:
        """The option that is given."""
        return self.kinds[0]

    @property
    def text(self) -> str:
        """The name of the secret, or the secret itself if `kind` is VALUE."""
        text: str = getattr(self, self.kind.value)
        return text

    @property
    def origin(self) -> str:
        """Where the secret stands, in words that may be shown."""
        return _ORIGINS[self.kind].format(self.text)


@dataclass(frozen=True, slots=True)
class Secret:
    """A resolved secret: `origin`, the place that it came from, may be shown; the value may not."""

    written_as: ClassVar[type[Reference]] = Reference

    origin: str
    _value: str = field(repr=False)

    def reveal(self) -> str:
        """The secret itself, without the line end that a file or an editor left."""
        return self._value


@dataclass(frozen=True, slots=True)
class Credentials:
    """An access key pair, with a session token if it has one."""

    shape: ClassVar[str] = "such as `{accessKey: {env: NAME}, secretKey: {path: FILE}}`"

    access_key: Secret = option("The access key's identifier.")
    secret_key: Secret = option("The secret access key.")
    session_token: Secret | None = option("The session token of temporary credentials.", default=None)


_ORIGINS = {
    ReferenceKind.ENV: "the environment variable `{}`",
    ReferenceKind.PATH: "the file `{}`",
    ReferenceKind.CREDENTIAL: "the systemd credential `{}`",
    ReferenceKind.VALUE: "the configuration file",
}


class SecretMissing(Exception):
    """A reference that leads to no secret: `message` is the fact, without any value."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


# `\Z`, since `$` would match before a line end too.
_LINE_END = re.compile(r"\r?\n\Z")

_SURROGATE = re.compile(r"[\ud800-\udfff]")

Resolver = Callable[[Reference], Secret]
"""Turns a reference into its secret, or raises `SecretMissing`."""


def unresolved(reference: Reference) -> Secret:
    """A resolver for tools that need no secret: each is empty."""
    return Secret(reference.origin, "")


def resolver(env: Mapping[str, str], directory: Path) -> Resolver:
    """The resolver that looks into an environment and into files relative to a directory."""

    def resolve(reference: Reference) -> Secret:
        kind, text, origin = reference.kind, reference.text, reference.origin
        if kind is ReferenceKind.ENV and text not in env:
            raise SecretMissing(f"{origin} is not set")
        path = file_of(reference, env, directory)
        if kind is ReferenceKind.CREDENTIAL and path is None:
            cure = "systemd sets `CREDENTIALS_DIRECTORY` for a unit with `LoadCredential=`"
            raise SecretMissing(f"{origin} cannot be found: `CREDENTIALS_DIRECTORY` is not set", cure)
        found = _read(path, origin) if path else env[text] if kind is ReferenceKind.ENV else text
        value = _LINE_END.sub("", found, count=1)
        if not value:
            raise SecretMissing(f"{'`value`' if kind is ReferenceKind.VALUE else origin} is empty")
        # What is not UTF-8 in an environment comes as surrogates (PEP 383).
        if _SURROGATE.search(value):
            raise SecretMissing(f"{origin} is not UTF-8")
        return Secret(origin, value)

    return resolve


def file_of(reference: Reference, env: Mapping[str, str], directory: Path) -> Path | None:
    """The file that a secret stands in; None where it stands in none, or systemd gave no credentials."""
    if reference.kind is ReferenceKind.PATH:
        return directory / reference.text
    credentials = env.get("CREDENTIALS_DIRECTORY")
    return Path(credentials) / reference.text if reference.kind is ReferenceKind.CREDENTIAL and credentials else None


def _read(path: Path, origin: str) -> str:
    try:
        content = read_file(path, LARGEST, regular=True)
    except OSError as error:
        raise SecretMissing(f"{origin} cannot be read: {error.strerror}") from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SecretMissing(f"{origin} is not UTF-8") from None


MASK = "•"

_Range = tuple[int, int]

_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
_PARTS_OF_LINES = re.compile(r"\S(?:[^\n\r]*\S)?")
_TELLS = re.compile(r"//[^/\s]*@|(?:pass|pwd|secret|token|key)[\w.-]*[\"']?\s*[:=]", re.IGNORECASE)
_NAMES = {  # what the name of a secret looks like; a secret that was put there by mistake seldom does
    ReferenceKind.ENV.value: re.compile(r"\w+"),
    ReferenceKind.PATH.value: re.compile(r"\S.*"),
    ReferenceKind.CREDENTIAL.value: re.compile(r"[\w.@:-]+"),
}


def redacted(source: SourceFile, composed: Composed, root: type[Any]) -> SourceFile:
    """The copy of a source file that may be shown; `root` is the section of the whole document."""
    if not composed.whole:
        return SourceFile(source.name, _masked(source.text, [(0, len(source.text))]))
    redactor = _Redactor()
    for number, document in enumerate(composed.documents):
        if number:
            redactor.hide(document)
        else:
            redactor.section(root, document)
    comments = (found.span() for found in _COMMENT.finditer(_masked(source.text, redactor.scalars)))
    return SourceFile(source.name, _masked(source.text, (*redactor.hidden, *comments)))


def _masked(text: str, ranges: Iterable[_Range]) -> str:
    parts, reached = [], 0
    for start, end in sorted(ranges):
        if end > reached:
            start = max(start, reached)  # noqa: PLW2901 - ranges may overlap
            parts += [text[reached:start], _PARTS_OF_LINES.sub(_mask, text[start:end])]
            reached = end
    return "".join((*parts, text[reached:]))


def _mask(found: re.Match[str]) -> str:
    return MASK * len(found.group())


class _Redactor:
    """A walk over documents along the options, which notes what must not be shown."""

    def __init__(self) -> None:
        self.scalars: list[_Range] = []
        self.hidden: list[_Range] = []

    def hide(self, node: Node) -> None:
        """Hides all scalars at a node and below."""
        match node:
            case ScalarNode():
                self._scalar(node, hidden=True)
            case SequenceNode():
                for item in node.items:
                    self.hide(item)
            case MappingNode():
                for entry in node.entries:
                    self.hide(entry.key)
                    self.hide(entry.value)
            case _:
                assert_never(node)

    def section(self, section: type[Any], node: Node, group: str | None = None) -> None:
        """Hides what may be a secret in a section, or in a group of its options."""
        if not isinstance(node, MappingNode):
            self._value_of(node, may_hold_secrets=section is Reference or holds_secrets(section))
            return
        for entry in node.entries:
            for source in merged(entry):
                self.section(section, source, group)
            if not merged(entry):
                self._entry(section, entry, group)

    def _entry(self, section: type[Any], entry: MappingEntry, group: str | None) -> None:
        key, value = entry
        here = {each.name: each for each in options_of(section) if (each.group.name if each.group else None) == group}
        groups = {each.group.name for each in options_of(section) if each.group and not group}
        name = key.text if isinstance(key, ScalarNode) else ""
        guarded = section is Reference or any(each.type.is_secret for each in here.values())
        if isinstance(key, ScalarNode):
            # `{ann: hunter2}` is what one writes who expects a name and a password.
            self._scalar(key, hidden=guarded and name not in here and not did_you_mean(name, here))
        else:
            self.hide(key)
        if name in groups:
            self.section(section, value, name)
        elif name not in here:
            self.hide(value)
        elif section is Reference:
            pattern = _NAMES.get(name)
            is_name = pattern and isinstance(value, ScalarNode) and pattern.fullmatch(value.text)
            self._value_of(value, may_hold_secrets=not is_name)
        elif guarded and isinstance(value, ScalarNode) and ":" in value.text:  # `user: ann:hunter2` is the same
            self.hide(value)
        else:
            self._value(here[name].type, value)

    def _value(self, kind: OptionType, node: Node) -> None:
        if kind.section:
            self.section(kind.section, node)
        elif kind.is_mapping and isinstance(node, MappingNode):
            for key, value in node.entries:
                self._value_of(key, may_hold_secrets=False)
                self._value(kind.item, value)
        elif kind.is_list and isinstance(node, SequenceNode):
            for item in node.items:
                self._value(kind.item, item)
        else:
            self._value_of(node, may_hold_secrets=kind.is_list and kind.item.section is not None)

    def _value_of(self, node: Node, *, may_hold_secrets: bool) -> None:
        """Shows a scalar where no secret can be; hides anything else."""
        if isinstance(node, ScalarNode) and not may_hold_secrets:
            self._scalar(node, hidden=False)
        else:
            self.hide(node)

    def _scalar(self, node: ScalarNode, *, hidden: bool) -> None:
        self.scalars.append((node.start, node.end))
        if hidden or _TELLS.search(node.text):
            self.hidden.append((node.start, node.end))


def holds_secrets(section: type[Any]) -> bool:
    """Whether a secret may stand in a section or below."""
    return any(each.type.is_secret or _leads_to_secrets(each.type) for each in options_of(section))


def _leads_to_secrets(kind: OptionType) -> bool:
    if kind.is_list and kind.item.is_secret:
        return True
    below, _ = kind.nested
    return below is not None and holds_secrets(below)
