"""Files of a Git revision, such as `main:rules/`, and those on disk, for commands that compare both.

A path that exists on disk is never read as a revision. In a revision a path starts from the root of the repository, or
from the current directory if it begins with `./`. Nothing is checked out.
"""

from __future__ import annotations

import errno
import os
import posixpath
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tornado_proxy.rules.diagnostic import Diagnostic, read_file
from tornado_proxy.rules.loading import Read, RuleFile, read_rule_files
from tornado_proxy.tools.limits import LARGEST_REVISION


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
    if ":" in revision or os.path.lexists(revision) or not (is_on_disk or is_elsewhere) or not _exists(revision):
        return None
    return f"{revision}:{f'./{os.path.relpath(place)}' if is_on_disk else place.partition(':')[2]}"


def _exists(revision: str) -> bool:
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
    name = _name(str(place))
    if _git("cat-file", "-t", name).strip() != b"blob":
        raise _GitFailed(f"`{name}` is a directory")
    return _content(name)


def read_rules(place: str) -> Read:
    """Reads the rule files of a file, a directory, or a place in a revision."""
    if os.path.lexists(place):
        return read_rule_files([Path(place)])
    if ":" not in place:
        advice = f"name a place in the revision, such as `{place}:rules/`" if _exists(place) else None
        return Read((), (Diagnostic("no-rule-files", f"`{place}` does not exist", help=advice),))
    try:
        return _from_git(place)
    except _GitFailed as error:
        message = f"`{place}` is neither a path nor a place in a Git revision: {error.strerror}"
        return Read((), (Diagnostic("no-rule-files", message),))


def _name(place: str) -> str:
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


def _from_git(place: str) -> Read:
    name = _name(place)
    if _git("cat-file", "-t", name).strip() == b"blob":
        return Read((RuleFile(name, _git("cat-file", "blob", name)),))
    below = name if name.endswith((":", "/")) else f"{name}/"
    listed = sorted(_git("ls-tree", "-r", "-z", "--name-only", "--full-tree", name).split(b"\0"))
    paths = [path for path in map(os.fsdecode, listed) if path.endswith(".rules")]
    visible = [path for path in paths if not any(part.startswith(".") for part in path.split("/"))]
    files = tuple(RuleFile(below + each, _content(below + each)) for each in visible)
    if not files:
        advice = "the names of rule files end with `.rules`"
        return Read((), (Diagnostic("no-rule-files", f"`{place}` has no rule file", help=advice),))
    return Read(files)


def _content(name: str) -> bytes:
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
