"""Rule files become rule sets: which files are read, in which order, and what they say together.

A root is a file or a directory that the configuration or a command names. A directory is read recursively: `*.rules`
only, sorted by the bytes of the path relative to it, names that begin with `.` skipped, so that a ConfigMap's `..data`
is not read twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tornado_proxy.lang.diagnostic import Diagnostic, FileTooLargeError, Span, decode, errors, read_file
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.tree import Document
from tornado_proxy.rules.compile import HelperTexts, compile_documents, no_helpers
from tornado_proxy.rules.model import RuleSet

LARGEST = 8 * 1024 * 1024
"""The most bytes that all rule files of a set may have: ten times what 10,000 rewrites take.

Compiling takes 80 to 280 bytes of memory for each byte, the most for files of nothing but comments.
"""


class RuleFileError(Exception):
    """Rule files that cannot be used; the text shows every mistake with its place."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        from tornado_proxy.lang.excerpt import render  # noqa: PLC0415 - only where there is something to show

        super().__init__("\n\n".join(render(each) for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as read: its name as shown, and its bytes."""

    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Read:
    """The rule files of some roots, in order, and diagnostics of those that cannot be read."""

    files: tuple[RuleFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """What rule files say together: their documents, the rule sets by target, and all diagnostics.

    `parsed` is the result of parsing each readable file, for the next time.
    """

    documents: tuple[Document, ...]
    rule_sets: Mapping[str, RuleSet]
    diagnostics: tuple[Diagnostic, ...] = ()
    parsed: tuple[Parsed, ...] = field(default=(), repr=False)


def load(*roots: str | os.PathLike[str]) -> Mapping[str, RuleSet]:
    """The rule sets of files and directories, by target name; raises `RuleFileError` where a file has a mistake."""
    loaded = load_rules([Path(root) for root in roots])
    mistakes = errors(loaded.diagnostics)
    if mistakes:
        raise RuleFileError(mistakes)
    return loaded.rule_sets


def load_rules(roots: Sequence[Path]) -> LoadedRules:
    """Read, parse and compile; never raises for what a file says or for its absence."""
    read = read_rule_files(roots)
    loaded = compile_rule_files(read.files)
    return LoadedRules(loaded.documents, loaded.rule_sets, read.diagnostics + loaded.diagnostics)


def compile_rule_files(
    files: Iterable[RuleFile], known: LoadedRules | None = None, helpers: HelperTexts = no_helpers
) -> LoadedRules:
    """Parse and compile files that were read; what has not changed since they were `known` is taken over from there."""
    parsed: list[Parsed] = []
    diagnostics: list[Diagnostic] = []
    before = {each.document.source: each for each in known.parsed} if known else {}
    for file in files:
        source, mistake = decode(file.name, file.data)
        if source is None:
            assert mistake is not None
            diagnostics.append(mistake)
            continue
        parsed.append(before.get(source) or parse(source))
        diagnostics.extend(parsed[-1].diagnostics)
    documents = tuple(each.document for each in parsed)
    compiled = compile_documents(documents, known.rule_sets if known else {}, helpers)
    return LoadedRules(documents, compiled.rule_sets, (*diagnostics, *compiled.diagnostics), tuple(parsed))


def read_rule_files(roots: Sequence[Path], named: Mapping[Path, Span] | None = None, *, again: bool = False) -> Read:
    """Read every rule file of the roots, each once, in the order of the roots; `named` says what names them.

    A root may be a pipe, unless it is to be read `again` some time.
    """
    files: dict[str, RuleFile] = {}
    diagnostics: list[Diagnostic] = []
    left = LARGEST
    for root in roots:
        span = named.get(root) if named else None
        mistakes: list[OSError] = []
        found = find_rule_files(root, mistakes.append)
        if not found and not mistakes:
            diagnostics.append(_nothing_there(root, span))
        for path in found:
            if str(path) in files:
                continue
            try:
                files[str(path)] = RuleFile(str(path), read_file(path, left, regular=again or path != root))
            except FileTooLargeError:
                return Read((), (*diagnostics, _too_large(path, span)))
            except OSError as error:
                mistakes.append(error)
            else:
                left -= len(files[str(path)].data)
        diagnostics.extend(_unreadable(error, root, span) for error in mistakes)
    return Read(tuple(files.values()), tuple(diagnostics))


def find_rule_files(root: Path, unreadable: Callable[[OSError], object]) -> Sequence[Path]:
    """The rule files at or below a root, in order; a root that is a file counts whatever its name."""
    if not os.path.isdir(root):  # noqa: PTH112 - Path.is_dir raises where a name is too long
        return [root] if os.path.exists(root) else []  # noqa: PTH110 - the same
    found = [path for paths in rule_files_by_folder(root, unreadable) for path in paths]
    return sorted(found, key=lambda path: os.fsencode(path.relative_to(root)))


def rule_files_by_folder(root: Path, unreadable: Callable[[OSError], object]) -> Iterator[Sequence[Path]]:
    """The rule files of each directory at and below one, those too that have none: for those who look at some only."""
    for folder, names in _folders(root, unreadable):
        yield [Path(folder, name) for name in names if name.endswith(".rules") and not name.startswith(".")]


def _folders(root: Path, unreadable: Callable[[OSError], object]) -> Iterator[tuple[str, list[str]]]:
    """Every visible directory below a root with the names in it, each once, whatever links lead to it."""
    seen: set[str] = set()
    for folder, folders, names in os.walk(root, followlinks=True, onerror=unreadable):
        real = os.path.realpath(folder)
        folders[:] = [] if real in seen else sorted(name for name in folders if not name.startswith("."))
        if real not in seen:
            yield folder, names
        seen.add(real)


def _too_large(path: Path, span: Span | None) -> Diagnostic:
    message = f"the rule files are larger than {LARGEST // 1024**2} MiB together, counted up to `{path}`"
    return Diagnostic("rules-too-large", message, span, "split the rules over several services, or shorten them")


def _unreadable(error: OSError, root: Path, span: Span | None) -> Diagnostic:
    message = f"`{error.filename or root}` cannot be read: {error.strerror or error}"
    return Diagnostic("unreadable-file", message, span)


def _nothing_there(root: Path, span: Span | None) -> Diagnostic:
    if os.path.isdir(root):  # noqa: PTH112 - as above
        return Diagnostic(
            "no-rule-files", f"`{root}` holds no rule file", span, "the names of rule files end in `.rules`"
        )
    return Diagnostic("no-rule-files", f"there is no `{root}`", span)
