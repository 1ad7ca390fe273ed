"""Rule files for tools: in their canonical layout, replaced safely, and read from a Git revision."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic, decode
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.rules.loading import Read, RuleFile, read_rule_files


def formatted(file: RuleFile) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """Returns a file in its canonical layout, without byte order mark and CR LF, and its mistakes.

    A file with mistakes has no canonical layout and stays as it was.
    """
    source = decode(file.name, file.data)
    if isinstance(source, Diagnostic):
        return file.data, (source,)
    parsed = parse(source)
    return file.data if parsed.diagnostics else print_document(parsed.document).encode(), parsed.diagnostics


def difference(file: RuleFile, after: bytes) -> Iterator[str]:
    """Yields the lines of a unified diff, without their ends, as `patch` takes them."""
    for line in difflib.unified_diff(_lines(file.data), _lines(after), file.name, file.name):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield "\\ No newline at end of file"


def _lines(data: bytes) -> list[str]:
    """Returns the lines with their ends; only LF ends a line, and a byte order mark is shown."""
    lines = data.decode(errors="replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def replace_file(path: Path, data: bytes) -> None:
    """Replaces the content of a file at once; mode and links stay, the owner where possible. Raises `OSError`."""
    place = path.resolve(strict=True)
    was = place.stat()
    # A name that begins with a dot is not a rule file for anyone who reads the directory at this moment.
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            with contextlib.suppress(PermissionError):
                os.fchown(handle, was.st_uid, was.st_gid)
            os.fchmod(handle, stat.S_IMODE(was.st_mode))
            file.flush()
            os.fsync(handle)
        Path(name).replace(place)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


class _GitFailed(Exception):
    """A Git command failed; the text is the first line of its message."""


def read_rules(place: str) -> Read:
    """Reads the rule files of a file, a directory, or a place in a revision, such as `main:rules/`.

    A path that exists in the file system is never read as a revision. In a revision a path starts from the root of the
    repository, or from the current directory if it begins with `./`.
    """
    if os.path.lexists(place):
        return read_rule_files([Path(place)])
    if ":" not in place:
        advice = None
        with contextlib.suppress(_GitFailed):
            if not place.startswith("-"):
                _git("rev-parse", "--quiet", "--verify", f"{place}^{{commit}}")
                advice = f"name a place in the revision, such as `{place}:rules/`"
        return Read((), (Diagnostic("no-rule-files", f"`{place}` does not exist", help=advice),))
    try:
        return _from_git(place)
    except _GitFailed as error:
        message = f"`{place}` is neither a path nor a place in a Git revision: {error}"
        return Read((), (Diagnostic("no-rule-files", message),))


def _from_git(place: str) -> Read:
    revision, _, path = place.partition(":")
    if revision.startswith("-"):
        raise _GitFailed("a revision does not begin with `-`")
    # Git takes a lone `.` for the name of a file.
    name = f"{revision}:{'./' if path == '.' else path}"
    if _git("cat-file", "-t", name).strip() == b"blob":
        return Read((RuleFile(place, _git("cat-file", "blob", name)),))
    below = name if name.endswith((":", "/")) else f"{name}/"
    files = tuple(RuleFile(below + each, _content(below + each)) for each in _rule_files(name))
    if not files:
        advice = "the names of rule files end with `.rules`"
        return Read((), (Diagnostic("no-rule-files", f"`{place}` has no rule file", help=advice),))
    return Read(files)


def _rule_files(tree: str) -> Iterator[str]:
    """Yields the paths of a tree's rule files, in a directory's order."""
    listed = _git("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
    for path in sorted(listed.split(b"\0")):
        name = os.fsdecode(path)
        if name.endswith(".rules") and not any(part.startswith(".") for part in name.split("/")):
            yield name


def _content(name: str) -> bytes:
    """Returns the content of a path of a revision; a link within the tree is followed, as in a directory."""
    answer = _git("cat-file", "--batch", "--follow-symlinks", stdin=f"{name}\n")
    head, _, content = answer.partition(b"\n")
    words = head.split()
    if len(words) != 3 or words[1] != b"blob":
        raise _GitFailed(f"`{name}` is not a file")
    return content[: int(words[2])]


def _git(*words: str, stdin: str = "") -> bytes:
    import subprocess  # noqa: PLC0415 - only `diff` asks Git

    command: Sequence[str] = ("git", *words)
    environment = os.environ | {"LC_ALL": "C"}  # its messages become part of an English one
    try:
        done = subprocess.run(command, input=os.fsencode(stdin), capture_output=True, check=False, env=environment)  # noqa: S603 - no shell, and a place cannot begin with `-`
    except FileNotFoundError:
        raise _GitFailed("the command `git` is not installed") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [
            f"git exited with status {done.returncode}"
        ]
        raise _GitFailed(lines[0].removeprefix("fatal: ").rstrip("."))
    return done.stdout
