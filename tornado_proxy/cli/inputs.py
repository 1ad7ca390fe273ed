"""Inputs of commands: arguments that several declare alike, a configuration, rules, and sites that consist of both.

Files may be in a Git revision, such as `main:rules/`. A path that exists on disk is never read as one. In a revision a
path starts from the root of the repository, or from the current directory if it begins with `./`. Nothing is checked
out.
"""

from __future__ import annotations

import argparse
import errno
import math
import os
import posixpath
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from msgspec.structs import replace

from gotemplate.regexp.matching import Pattern, compile_pattern
from gotemplate.regexp.syntax import PatternError
from tornado_proxy.cli.limits import LARGEST_REVISION, TARGETS_SHOWN
from tornado_proxy.cli.output import CommandError, ExitStatus, suggestion
from tornado_proxy.config import loading as configuration
from tornado_proxy.config import values
from tornado_proxy.config.model import Settings
from tornado_proxy.config.secrets import Resolver, unresolved
from tornado_proxy.config.values import InvalidValue, enumeration
from tornado_proxy.routing.mounts import Site, sites
from tornado_proxy.rules import loading
from tornado_proxy.rules.diagnostic import Diagnostic, errors, read_file
from tornado_proxy.rules.lists import from_disk
from tornado_proxy.rules.model import LoadedRules, host_objection, segment_objection
from tornado_proxy.semantics.request import groups_of

CONFIGURATIONS = (".yaml", ".yml")
"""The ends of the names of configurations."""

DEFAULT_URL = "http://127.0.0.1:9090"
"""The admin listener of a service that is configured otherwise nowhere."""


def file_name(text: str) -> str:
    """Checks the argument for a file or a directory: an empty one, as of an unset variable, is none."""
    if not text:
        raise argparse.ArgumentTypeError("a path cannot be empty")
    return text


def file_path(text: str) -> Path:
    """Converts the argument for a file or a directory, as `file_name` checks it."""
    return Path(file_name(text))


def default_places() -> list[Path]:
    """Returns the default places of rule files."""
    usual = Path("rules")
    return [usual if usual.is_dir() else Path()]


def admin_url(text: str) -> SplitResult:
    """Converts the argument that is the URL of an admin listener, such as `unix:/run/x`; `http://` may be left out."""
    try:
        url = urlsplit(text if "://" in text or text.startswith("unix:/") else f"http://{text}")
        is_remote = bool(url.hostname) and url.port != 0 and not url.path.rstrip("/")
        usable = {"http": is_remote, "https": is_remote, "unix": not url.hostname}.get(url.scheme, False)
    except ValueError:
        usable = False
    if not usable or url.username is not None or url.query or url.fragment:
        raise argparse.ArgumentTypeError(f"`{text}` is not the URL of an admin listener, such as `{DEFAULT_URL}`")
    return url


def _prefix(text: str) -> str:
    try:
        return values.prefix(text)
    except InvalidValue as invalid:
        advice = f" ({invalid.help})" if invalid.help else ""
        raise argparse.ArgumentTypeError(f"`{text}` {invalid.message}{advice}") from None


def _pattern(text: str) -> Pattern:
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise argparse.ArgumentTypeError(f"`{text}`: {error}") from None


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not (name.strip() and colon):
        raise argparse.ArgumentTypeError(f"`{text}` is not `NAME:VALUE`")
    return name.strip(), value.strip()


def _accepted(kind: str, objection: Callable[[str], str | None]) -> Callable[[str], str]:
    """Returns the type of an argument that must be valid for the service."""

    def converted(text: str) -> str:
        if (reason := objection(text)) is not None:
            raise argparse.ArgumentTypeError(f"invalid {kind} `{text}`: it {reason}")
        return text

    return converted


Number = TypeVar("Number", int, float)


def number(kind: type[Number], least: Number, most: float = math.inf) -> Callable[[str], Number]:
    """Returns the type of an argument that is a number within bounds."""
    words = {int: "whole number", float: "number"}
    bounds = f"from {least} to {most}" if most < math.inf else f"of at least {least}"

    def converted(text: str) -> Number:
        with suppress(ValueError):
            if least <= (value := kind(text)) <= most:
                return value
        raise argparse.ArgumentTypeError(f"`{text}` is not a {words[kind]} {bounds}")

    return converted


TYPES: Mapping[str, Callable[[str], object]] = {
    **dict.fromkeys(("FILE", "DIR", "PLACE", "PATH"), file_path),
    "name": file_name,
    "N": number(int, 0),
    "PORT": number(int, 0, 0xFFFF),
    "PERCENT": number(float, 0, 100),
    "SECONDS": number(float, 0.001, 3600),
    "URL": admin_url,
    "A,B": lambda text: [word for each in text.split(",") if (word := each.strip())],
    "groups": groups_of,
    "user": _accepted("user name", segment_objection),
    "HOST": _accepted("host", host_objection),
    "NAME:VALUE": _header,
    "PREFIX": _prefix,
    "PATTERN": _pattern,
}
"""The types of arguments, by what stands for them in the help."""


def load_settings(path: Path, secrets: Resolver = unresolved) -> Settings:
    """Returns the settings of a configuration; raises `CommandError`."""
    place = str(path)
    try:
        source = configuration.decoded(place, read_content(path)) if is_in_revision(place) else configuration.read(path)
    except OSError as error:
        raise CommandError(f"`{place}` cannot be read: {error.strerror}") from error
    if not isinstance(source, configuration.Loaded):
        source = configuration.compile_configuration(source, directory_of(place), secrets)
    if source.settings is None:
        status = ExitStatus.FAILED if source.source is None else ExitStatus.FINDINGS
        raise CommandError(status=status, diagnostics=errors(source.diagnostics))
    return source.settings


def load_rules(read: loading.Read, settings: Settings | None = None) -> LoadedRules:
    """Compiles files that are all on disk, or all in one revision; raises `CommandError` for any mistake."""
    if read.diagnostics:
        raise CommandError(diagnostics=read.diagnostics)
    revision = next((file.name.partition(":")[0] for file in read.files if is_in_revision(file.name)), None)

    def list_file(path: str) -> bytes:
        """Reads a list where the rules are that name it; its path may have lost the revision on its way up."""
        if revision is None or Path(path).is_absolute():
            return from_disk(path)
        return read_content(Path(path if is_in_revision(path) else f"{revision}:{path}"))

    loaded = loading.compile_rule_files(
        read.files, None, _helpers(settings) if settings else loading.no_helpers, list_file
    )
    raise_errors(loaded.diagnostics)
    return loaded


def _helpers(settings: Settings) -> loading.HelperTexts:
    from tornado_proxy.pages.loading import compile_pages, template_places  # noqa: PLC0415 - with a configuration only

    files = []
    for path in template_places(settings):
        with suppress(OSError):  # a rule that needs the file has a mistake
            files.append(loading.RuleFile(str(path), read_content(path)))
    return compile_pages(settings, loading.Read(tuple(files))).helpers


def raise_errors(diagnostics: Iterable[Diagnostic]) -> None:
    """Raises `CommandError` if a diagnostic is an error."""
    if mistakes := errors(diagnostics):
        raise CommandError(status=ExitStatus.FINDINGS, diagnostics=mistakes)


def configured_sites(settings: Settings, loaded: LoadedRules, only: str | None = None) -> tuple[Site, ...]:
    """Returns a configuration's targets with their rules, or the chosen one; raises `CommandError`."""
    names = [each.name for each in settings.targets]
    raise_errors(loading.unknown_targets(loaded.documents, names))
    if only is not None:
        require_target(only, names)
    return sites((each for each in settings.targets if only in (None, each.name)), loaded.rule_sets)


def require_target(name: str, names: Sequence[str]) -> None:
    """Raises `CommandError` if a target does not exist."""
    if name not in names:
        verb = "is" if len(names) == 1 else "are"
        others = f"; there {verb} {enumeration(names)}" if 0 < len(names) <= TARGETS_SHOWN else ""
        raise CommandError(f"unknown target `{name}`{suggestion(name, names) or others}")


class _GitFailed(OSError):
    """A Git command failed; `strerror` is the first line of its message."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.ENOENT, reason)


def is_in_revision(place: str) -> bool:
    """Whether a place is in a Git revision."""
    return ":" in place and "://" not in place and not os.path.lexists(place)


def in_revision(revision: str, place: str) -> str | None:
    """Returns the place in a revision of a path on disk, or in another revision; None if there is no such revision."""
    is_on_disk, is_elsewhere = os.path.lexists(place), is_in_revision(place)
    if ":" in revision or os.path.lexists(revision) or not (is_on_disk or is_elsewhere) or not _is_revision(revision):
        return None
    return f"{revision}:{f'./{os.path.relpath(place)}' if is_on_disk else place.partition(':')[2]}"


def _is_revision(revision: str) -> bool:
    try:
        return not revision.startswith("-") and bool(_git("rev-parse", "--quiet", "--verify", f"{revision}^{{commit}}"))
    except _GitFailed:
        return False


def directory_of(place: str) -> Path:
    """Returns the directory of a file; of one in a revision it can only be joined with a relative path."""
    if not is_in_revision(place):
        return Path(place).parent
    revision, _, path = place.partition(":")
    return Path(f"{revision}:{posixpath.dirname(path)}")


def read_content(place: Path) -> bytes:
    """Returns the content of a file; raises `OSError`, whose `strerror` is Git's message for one in a revision."""
    if not is_in_revision(str(place)):
        return read_file(place, LARGEST_REVISION, regular=True)
    name = _name_in_git(str(place))
    if _git("cat-file", "-t", name).strip() != b"blob":
        raise _GitFailed(f"`{name}` is a directory")
    return _content_in_git(name)


def read_rules(place: str) -> loading.Read:
    """Reads the rule files of a file, a directory, or a place in a revision."""
    if os.path.lexists(place):
        return loading.read_rule_files([Path(place)])
    if ":" not in place:
        advice = f"name a place in the revision, such as `{place}:rules/`" if _is_revision(place) else None
        return loading.Read((), (Diagnostic("no-rule-files", f"`{place}` does not exist", help=advice),))
    try:
        return _from_git(place)
    except _GitFailed as error:
        message = f"`{place}` is neither a path nor a place in a Git revision: {error.strerror}"
        return loading.Read((), (Diagnostic("no-rule-files", message),))


def rules_of(settings: Settings) -> loading.Read:
    """Reads the rule files that a configuration names, which is on disk or in a revision."""
    spans = settings.rule_spans
    if not any(is_in_revision(str(root)) for root in settings.rules):
        return loading.read_rule_files(settings.rules, spans)
    read = [(spans.get(root), read_rules(str(root))) for root in settings.rules]
    files = {file.name: file for _, each in read for file in each.files}
    return loading.Read(
        tuple(files.values()), tuple(replace(fault, span=span) for span, each in read for fault in each.diagnostics)
    )


def _name_in_git(place: str) -> str:
    """Returns the name by which Git knows a place."""
    revision, _, path = place.partition(":")
    if revision.startswith("-"):
        raise _GitFailed("a revision does not begin with `-`")
    is_relative = path.split("/")[0] in (".", "..")
    normal = posixpath.normpath(path.lstrip("/")) if path.strip("/") else ""
    if is_relative:
        # Git takes a lone `.` for the name of a file.
        return f"{revision}:./{'' if normal == '.' else normal}"
    if normal.split("/")[0] == "..":
        raise _GitFailed(f"`{normal}` is outside of the repository")
    return f"{revision}:{normal}"


def _from_git(place: str) -> loading.Read:
    name = _name_in_git(place)
    if _git("cat-file", "-t", name).strip() == b"blob":
        return loading.Read((loading.RuleFile(name, _git("cat-file", "blob", name)),))
    below = name if name.endswith((":", "/")) else f"{name}/"
    listed = sorted(_git("ls-tree", "-r", "-z", "--name-only", "--full-tree", name).split(b"\0"))
    paths = [path for path in map(os.fsdecode, listed) if path.endswith(".rules")]
    visible = [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]
    files = tuple(loading.RuleFile(below + each, _content_in_git(below + each)) for each in visible)
    if not files:
        advice = "the names of rule files end with `.rules`"
        return loading.Read((), (Diagnostic("no-rule-files", f"`{place}` has no rule file", help=advice),))
    return loading.Read(files)


def _content_in_git(name: str) -> bytes:
    """Returns the content of a path of a revision; a link within the tree is followed, as in a directory."""
    answer = _git("cat-file", "--batch", "--follow-symlinks", stdin=f"{name}\n")
    head, _, content = answer.partition(b"\n")
    words = head.split()
    if len(words) != 3 or words[1] != b"blob":
        raise _GitFailed(f"`{name}` is not a file")
    return content[: int(words[2])]


def _git(*words: str, stdin: str = "") -> bytes:
    command: Sequence[str] = ("git", *words)
    environment = os.environ | {"LC_ALL": "C"}  # its messages become part of an English one
    try:
        done = subprocess.run(command, input=os.fsencode(stdin), capture_output=True, check=False, env=environment)  # noqa: S603 - no shell, and a place cannot begin with `-`
    except FileNotFoundError:
        raise _GitFailed("the command `git` is not installed") from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip() or f"git exited with status {done.returncode}"
        raise _GitFailed(message.splitlines()[0].removeprefix("fatal: ").rstrip("."))
    return done.stdout
