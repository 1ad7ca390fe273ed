"""Reads rule files, and compiles them together to rule sets.

A root is a file or a directory. A directory is read recursively: files named `*.rules`, sorted by the bytes of their
relative paths. Names that begin with `.` are skipped, because the `..data` of a ConfigMap has the same files again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

import msgspec

from tornado_proxy.rules.compile import HelperTexts, compile_documents, no_helpers
from tornado_proxy.rules.diagnostic import Diagnostic, FileTooLargeError, Span, decode, errors, read_file, render
from tornado_proxy.rules.limits import LARGEST_RULES
from tornado_proxy.rules.model import LoadedRules, RuleSet
from tornado_proxy.rules.parser import Parsed, parse


class RuleFileError(Exception):
    """Rule files with mistakes; the text shows each with its place."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n\n".join(render(each) for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as read: its name as shown, and its bytes."""

    name: str
    data: bytes = field(repr=False)


class Read(msgspec.Struct, frozen=True):
    """Rule files in order, and what cannot be read."""

    files: tuple[RuleFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


def load(*roots: str | os.PathLike[str]) -> Mapping[str, RuleSet]:
    """Returns the rule sets of files and directories by target name; raises `RuleFileError`."""
    read = read_rule_files([Path(root) for root in roots])
    loaded = compile_rule_files(read.files)
    if mistakes := errors((*read.diagnostics, *loaded.diagnostics)):
        raise RuleFileError(mistakes)
    return loaded.rule_sets


def compile_rule_files(
    files: Iterable[RuleFile], before: LoadedRules | None = None, helpers: HelperTexts = no_helpers
) -> LoadedRules:
    """Parses and compiles files; what has not changed since `before` is reused."""
    parsed: list[Parsed] = []
    diagnostics: list[Diagnostic] = []
    parsed_before = {each.document.source: each for each in before.parsed} if before else {}
    for file in files:
        source = decode(file.name, file.data)
        if isinstance(source, Diagnostic):
            diagnostics.append(source)
            continue
        parsed.append(parsed_before.get(source) or parse(source))
        diagnostics.extend(parsed[-1].diagnostics)
    compiled = compile_documents([each.document for each in parsed], before.rule_sets if before else {}, helpers)
    return replace(compiled, diagnostics=(*diagnostics, *compiled.diagnostics), parsed=tuple(parsed))


def read_rule_files(roots: Iterable[Path], named: Mapping[Path, Span] | None = None, *, again: bool = False) -> Read:
    """Reads every rule file of the roots, each once, in the order of the roots; `named` has the places that name them.

    A root may be a pipe, unless it will be read `again`.
    """
    files: dict[str, RuleFile] = {}
    diagnostics: list[Diagnostic] = []
    for root in roots:
        span = named.get(root) if named else None
        try:
            read = _read_root(root, span, files, again=again)
        except FileTooLargeError as error:
            size = f"{LARGEST_RULES // 1024**2} MiB together"
            message = f"the rule files are larger than {size}, counted up to `{error.filename}`"
            advice = "split the rules over several services, or shorten them"
            return Read((), (*diagnostics, Diagnostic("rules-too-large", message, span, advice)))
        files |= {file.name: file for file in read.files}
        diagnostics += read.diagnostics
    return Read(tuple(files.values()), tuple(diagnostics))


def _read_root(root: Path, span: Span | None, before: Mapping[str, RuleFile], *, again: bool) -> Read:
    """Reads the files of a root but those that were read before; raises `FileTooLargeError`."""
    files: list[RuleFile] = []
    mistakes: list[OSError] = []
    left = max(0, LARGEST_RULES - sum(len(file.data) for file in before.values()))
    paths = find_rule_files(root, mistakes.append)
    missing = [] if paths or mistakes else [_nothing_there(root, span)]
    for path in paths:
        if str(path) in before:
            continue
        try:
            files.append(RuleFile(str(path), read_file(path, left, regular=again or path != root)))
        except FileTooLargeError:
            raise
        except OSError as error:
            mistakes.append(error)
        else:
            left -= len(files[-1].data)
    messages = (f"`{each.filename or root}` cannot be read: {each.strerror or each}" for each in mistakes)
    return Read(tuple(files), (*missing, *(Diagnostic("unreadable-file", text, span) for text in messages)))


def find_rule_files(root: Path, unreadable: Callable[[OSError], object]) -> Sequence[Path]:
    """Returns the rule files at or below a root, in order; a root that is a file may have any name."""
    if not os.path.isdir(root):  # noqa: PTH112 - Path.is_dir raises if a name is too long
        return [root] if os.path.exists(root) else []  # noqa: PTH110 - the same
    paths = chain.from_iterable(rule_files_by_folder(root, unreadable))
    return sorted(paths, key=lambda path: os.fsencode(path.relative_to(root)))


def rule_files_by_folder(root: Path, unreadable: Callable[[OSError], object]) -> Iterator[Sequence[Path]]:
    """Yields the rule files of each visible directory at and below a root, once each, even if links lead back."""
    seen: set[str] = set()
    for folder, folders, names in os.walk(root, followlinks=True, onerror=unreadable):
        real = os.path.realpath(folder)
        folders[:] = [] if real in seen else sorted(name for name in folders if not name.startswith("."))
        if real not in seen:
            rule_files = [Path(folder, name) for name in names if name.endswith(".rules") and not name.startswith(".")]
            if Path(folder).suffix == ".rules" and not rule_files and not folders:
                # It is in a file's place: containers mount a path that does not exist as an empty directory.
                unreadable(OSError(0, "it is a directory", folder))
            yield rule_files
        seen.add(real)


def _nothing_there(root: Path, span: Span | None) -> Diagnostic:
    if os.path.isdir(root):  # noqa: PTH112 - as above
        advice = "the names of rule files end with `.rules`"
        return Diagnostic("no-rule-files", f"`{root}` has no rule file", span, advice)
    if root.parts[:1] == ("s3:",):
        advice = "rules are files: sync the bucket into a directory, as docs/scaling.md shows"
        return Diagnostic("no-rule-files", f"`{root}` is no path", span, advice)
    return Diagnostic("no-rule-files", f"there is no `{root}`", span)
