"""Secrets as references to the places where they are stored; no `repr` shows a value.

A reference is of one of four kinds: the name of an environment variable, a file (relative to the configuration file),
the name of a systemd credential, or the value itself. Tools that need no secret use `unresolved`. Certificates and
their keys can also be elsewhere: on a web server, in S3, in AWS Secrets Manager or in its Parameter Store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar
from urllib.parse import unquote, urlsplit

import msgspec

from tornado_proxy.config import values
from tornado_proxy.config.limits import LARGEST_SECRET
from tornado_proxy.config.options import SettingsSection, options_of
from tornado_proxy.config.values import GuardedUrl, InvalidValue, Unshown
from tornado_proxy.rules.diagnostic import read_file

HASHES = ("$2a$", "$2b$", "$2y$", "$argon2")
"""The beginnings of hashed passwords: bcrypt and argon2."""


class Reference(Unshown, SettingsSection, frozen=True):
    """The place of a secret: exactly one of the four options."""

    shown = ("origin",)
    shape = "a secret is named, not written: `{env: NAME}`, `{path: FILE}` or `{credential: NAME}`"

    env: Annotated[str, values.variable] | None = None
    """The environment variable that holds the secret."""
    path: Annotated[str, values.line] | None = None
    """The file that holds the secret, relative to the configuration file. One line end is trimmed."""
    credential: Annotated[str, values.credential] | None = None
    """The systemd credential that holds the secret (`LoadCredential=` in the unit)."""
    value: str | None = None
    """The secret itself. Everyone who can read the file knows it, so there is a warning."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The options that are given: one in a valid reference."""
        return tuple([kind for kind in _ORIGINS if getattr(self, kind) is not None])

    @property
    def kind(self) -> str:
        """The option that is given."""
        return self.kinds[0]

    @property
    def text(self) -> str:
        """The name of the secret, or the secret itself if `kind` is `value`."""
        text: str = getattr(self, self.kind)
        return text

    @property
    def origin(self) -> str:
        """The place of the secret, in words that may be shown; empty if none is given."""
        return _ORIGINS[self.kind].format(self.text) if self.kinds else ""


class Secret(Unshown, frozen=True):
    """A resolved secret: `origin`, the place that it came from, may be shown; the value may not."""

    written_as: ClassVar[type[Reference]] = Reference
    shown = ("origin",)

    origin: str
    _value: str

    def reveal(self) -> str:
        """The secret itself, without the line end that a file or an editor left."""
        return self._value


class Credentials(SettingsSection, frozen=True):
    """An access key pair, with a session token if it has one."""

    shape = "such as `{accessKey: {env: NAME}, secretKey: {path: FILE}}`"

    access_key: Secret
    """The access key's identifier."""
    secret_key: Secret
    """The secret access key."""
    session_token: Secret | None = None
    """The session token of temporary credentials."""

    def reveal(self) -> tuple[str, str, str | None]:
        """Returns the three themselves."""
        token = self.session_token.reveal() if self.session_token else None
        return self.access_key.reveal(), self.secret_key.reveal(), token


_ORIGINS = {
    "env": "the environment variable `{}`",
    "path": "the file `{}`",
    "credential": "the systemd credential `{}`",
    "value": "the configuration file",
}


class SecretMissing(InvalidValue):
    """A reference without a secret; `message` states the fact without any value."""


_SET_IT = "set it where the service starts; for a unit of systemd, in its `EnvironmentFile=`"

# `\Z`, since `$` would match before a line end too.
_LINE_END = re.compile(r"\r?\n\Z")

_SURROGATE = re.compile(r"[\ud800-\udfff]")

Resolver = Callable[[Reference], Secret]
"""Turns a reference into its secret, or raises `SecretMissing`."""


def unresolved(reference: Reference) -> Secret:
    """A resolver for tools that need no secret: each is empty."""
    return Secret(reference.origin, "")


_content: Callable[[Path], bytes] = partial(read_file, largest=LARGEST_SECRET, regular=True)


def resolver(env: Mapping[str, str], directory: Path, read: Callable[[Path], bytes] = _content) -> Resolver:
    """The resolver that looks into an environment and into files relative to a directory, which `read` reads."""

    def resolve(reference: Reference) -> Secret:
        kind, text, origin = reference.kind, reference.text, reference.origin
        if kind == "env" and text not in env:
            raise SecretMissing(f"{origin} is not set", _SET_IT)
        path = file_of(reference, env, directory)
        if kind == "credential" and path is None:
            cure = "systemd sets `CREDENTIALS_DIRECTORY` for a unit with `LoadCredential=`"
            raise SecretMissing(f"{origin} cannot be found: `CREDENTIALS_DIRECTORY` is not set", cure)
        content = _decoded(path, origin, read) if path else env[text] if kind == "env" else text
        if not (value := _LINE_END.sub("", content, count=1)):
            raise SecretMissing(f"{'`value`' if kind == 'value' else origin} is empty")
        # Bytes of the environment that are not UTF-8 are surrogates here (PEP 383).
        if _SURROGATE.search(value):
            raise SecretMissing(f"{origin} is not UTF-8")
        return Secret(origin, value)

    return resolve


def file_of(reference: Reference, env: Mapping[str, str], directory: Path) -> Path | None:
    """The file that holds a secret; None for the other kinds, and if systemd gave no credentials."""
    if reference.kind == "path":
        return directory / reference.text
    credentials = env.get("CREDENTIALS_DIRECTORY")
    return Path(credentials) / reference.text if reference.kind == "credential" and credentials else None


def _decoded(path: Path, origin: str, read: Callable[[Path], bytes]) -> str:
    try:
        content = read(path)
    except OSError as error:
        place = None if f"`{path}`" in origin else f"it was looked for at `{path}`"
        raise SecretMissing(f"{origin} cannot be read: {error.strerror}", place) from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise SecretMissing(f"{origin} is not UTF-8") from None


def holds_secrets(section: type[SettingsSection]) -> bool:
    """Whether a section is a reference to a secret, or has one below it."""
    below = (each.type.nested[0] for each in options_of(section))
    return section is Reference or any(each is not None and holds_secrets(each) for each in below)


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_ARN_RESOURCES = {"secretsmanager": "secret:", "ssm": "parameter/"}
_LOCATIONS = (
    "a file, or a place such as `https://example.org/files.pem`, `s3://bucket/key`, `arn:aws:s3:::bucket/key`,"
    " `arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME` or `arn:aws:ssm:REGION:ACCOUNT:parameter/NAME`"
)


class Location(msgspec.Struct, frozen=True):
    """A document's place, split. `host` is the bucket where the scheme is `s3`; `path` is then the key.

    Of an ARN, `scheme` is `secretsmanager` or `ssm`, and `path` the ARN itself; an ARN of S3 is as its URL.
    """

    scheme: str
    host: str = ""
    path: str = ""
    region: str = ""

    @classmethod
    def of(cls, text: str) -> Location:
        """Returns the location that a text names; raises `ValueError` if nothing can be fetched from it."""
        scheme = _SCHEME.match(text)
        if scheme is None and not text.startswith(":"):
            return cls("file", path=text)
        if scheme and scheme[1].lower() == "arn":
            _, _, service, region, account, resource = text.split(":", 5)
            bucket, _, key = resource.partition("/")
            if service == "s3" and bucket and key and not (region or account):
                return cls("s3", bucket, key)
            kind = _ARN_RESOURCES.get(service)
            if not (kind and resource.startswith(kind) and resource != kind and region and account):
                raise ValueError(text)
            return cls(service, path=text, region=region)
        url = urlsplit(text)
        _ = url.port
        path = unquote(url.path)
        is_valid = {
            "file": url.netloc in ("", "localhost") and path and not url.query,
            "http": url.netloc,
            "https": url.netloc,
            "s3": url.netloc and path.strip("/") and not url.query,
        }
        if url.fragment or not is_valid.get(url.scheme):
            raise ValueError(text)
        return cls(url.scheme, url.netloc, path.removeprefix("/") if url.scheme == "s3" else path)


def document_url(text: str) -> GuardedUrl:
    """The place of a certificate or key: a file's path, or a URL or ARN that can be fetched."""
    try:
        Location.of(values.line(text))
    except ValueError as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue(f"cannot be `{GuardedUrl(text)}`", _LOCATIONS) from None
    return GuardedUrl(text)


def file_reference(url: GuardedUrl | None) -> Reference | None:
    """The reference to a document in a file of this machine; None for any other place."""
    if url is None:
        return None
    location = Location.of(url.reveal())
    return Reference(path=location.path) if location.scheme == "file" else None
