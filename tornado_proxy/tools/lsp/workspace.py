"""Which rule files are read together, with what editors have open, and what the engine makes of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tornado_proxy.config.model import Settings
from tornado_proxy.lang.diagnostic import Diagnostic
from tornado_proxy.lang.files import decode
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.source import SourceFile, Span
from tornado_proxy.lang.tree import Document, RewriteStatement, TargetBlock, TestStatement
from tornado_proxy.lint.check import Selection
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import lint
from tornado_proxy.lint.subject import Subject, TargetRules, subject_of
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.loading import LoadedRules, Read, read_rule_files, rule_files_by_folder
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.testing import TestOutcome

LARGEST = 4 * 1024 * 1024
"""The most bytes that are read together: some 30,000 rewrites, which take ten seconds when they are first read."""

MOST_FILES = 2_000
"""The most files that are read together."""

MOST_FOLDERS = 10_000
"""The most directories that are looked through for them."""


class _TooMuch(Exception):
    """More is there than an editor can wait for; the text says what."""


@dataclass(frozen=True, slots=True)
class RuleFileSet:
    """The rule files that are read together, in order, and what was in the way of reading them."""

    files: tuple[SourceFile, ...]
    mistakes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that a client has open, the places that belong together, and the texts of open files by their names.

    A file's name is its path with all links resolved; what has no path has the name that the client gives it. Without
    `places`, the files below one directory belong together: the highest one, within the client's folder, that holds a
    rule file and is reached from the file through directories that each lie in the next. Outside of its folders
    nothing but the file itself is looked at.
    """

    folders: tuple[Path, ...] = ()
    places: tuple[Path, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    def with_text(self, name: str, text: str) -> Workspace:
        """The same with a file open, or changed."""
        return replace(self, texts={**self.texts, name: text})

    def without(self, name: str) -> Workspace:
        """The same with a file closed."""
        return replace(self, texts={each: text for each, text in self.texts.items() if each != name})

    def together_with(self, name: str) -> tuple[Path, ...]:
        """The places that a file is read together with; none where it stands alone."""
        path = Path(name)
        if not path.is_absolute():
            return ()
        if any(path == place or place in path.parents for place in self.places):
            return self.places
        within = any(each in path.parents for each in self.folders)
        return (_highest(path.parent, self.folders),) if within and path.suffix == ".rules" else ()

    def sources(self, name: str) -> RuleFileSet:
        """The files that are read together with one, itself among them, as editors show them or as they are on disk.

        Where there is more than can be read while somebody waits, it is the file alone, with a mistake that says so.
        """
        try:
            return self._read(dict.fromkeys(self._names(self.together_with(name))), name)
        except _TooMuch as error:
            more = str(error)
        try:
            alone = self._read([name], name)
        except _TooMuch:
            message = f"the file has more than {LARGEST >> 20} MB: it is not looked at"
            return RuleFileSet((), (_too_much(SourceFile(name, ""), message),))
        message = f"the rule files that are read together {more}: only this one is looked at"
        return RuleFileSet(alone.files, (*alone.mistakes, *(_too_much(each, message) for each in alone.files)))

    def _read(self, names: Collection[str], name: str) -> RuleFileSet:
        names = names if name in names else [name]
        if sum(map(self._size, names)) > LARGEST:
            raise _TooMuch(f"have more than {LARGEST >> 20} MB")
        files: list[SourceFile] = []
        mistakes: list[Diagnostic] = []
        for each in names:
            if each in self.texts:
                files.append(SourceFile(each, self.texts[each]))
                continue
            source, found = _read(each)
            files += [source] if source else []
            mistakes += found
        return RuleFileSet(tuple(files), tuple(mistakes))

    def _size(self, name: str) -> int:
        if name in self.texts:
            return len(self.texts[name])
        with contextlib.suppress(OSError):
            return Path(name).stat().st_size
        return 0

    def _names(self, places: Iterable[Path]) -> Iterator[str]:
        """The files of the places in the order in which the daemon reads them, those too that are not saved yet."""
        for place in places:
            found = {path: os.path.realpath(path) for path in _rule_files(place)}
            unsaved = (Path(name) for name in self.texts if name not in found.values())
            found.update({path: str(path) for path in unsaved if path.suffix == ".rules" and place in path.parents})
            for path in sorted(found, key=lambda path: os.fsencode(os.path.relpath(path, place))):
                yield found[path]


def resolved(path: str) -> str:
    """The name of the file at a path."""
    return os.path.realpath(path)


def _read(name: str) -> tuple[SourceFile | None, Sequence[Diagnostic]]:
    # One that is named itself may be a pipe, which would be waited for.
    read = read_rule_files([Path(name)]) if Path(name).is_file() else Read(())
    if not read.files:
        return None, read.diagnostics
    source, mistake = decode(name, read.files[0].data)
    return source, [mistake] if mistake else []


def _rule_files(place: Path) -> Sequence[Path]:
    if not place.is_dir():
        return [place] if place.exists() else []
    found: list[Path] = []
    for count, paths in enumerate(rule_files_by_folder(place, lambda _: None)):
        found += paths
        if len(found) > MOST_FILES:
            raise _TooMuch(f"are more than {MOST_FILES:,}")
        if count == MOST_FOLDERS:
            raise _TooMuch(f"lie among more than {MOST_FOLDERS:,} directories")
    return found


def _too_much(source: SourceFile, message: str) -> Diagnostic:
    return Diagnostic("too-large", message, Span(source, 0, 0), "`tornado-proxy lint` looks at files of any size")


def _highest(folder: Path, folders: Collection[Path]) -> Path:
    highest = folder
    for parent in folder.parents:
        if not any(each == parent or each in parent.parents for each in folders):
            break
        if _holds_rules(parent):
            highest = parent
    return highest


def _holds_rules(folder: Path) -> bool:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        return any(entry.name.endswith(".rules") and not entry.name.startswith(".") for entry in entries)
    return False


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What the checks go by: which of them run, and the configuration if there is one."""

    selection: Selection = field(default_factory=Selection)
    settings: Settings | None = None


@dataclass(frozen=True)  # no slots: what few requests need is made when first asked for
class Analysis:
    """Everything that is known of some files at one moment."""

    sources: RuleFileSet
    options: CheckOptions = field(repr=False)
    parsed: Mapping[str, Parsed] = field(repr=False)
    subject: Subject = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]

    def document(self, name: str) -> Document | None:
        """The tree of a file."""
        found = self.parsed.get(name)
        return found.document if found else None

    def diagnostics_of(self, name: str) -> Iterator[Diagnostic]:
        """What is to be said about a file."""
        return (each for each in self.diagnostics if each.span and each.span.source.name == name)

    def target(self, block: TargetBlock) -> TargetRules | None:
        """The rules of a block's target, those of its other blocks too."""
        return next((each for each in self.subject.targets if each.name == block.name.value), None)

    def rewrite(self, statement: RewriteStatement) -> Rewrite | None:
        """What a statement was compiled to; None where it has a mistake."""
        return self._rewrites.get(_place(statement))

    def outcome(self, statement: TestStatement) -> TestOutcome | None:
        """The outcome of a test; None where it has a mistake, or rewrites are missing because they have one."""
        return self._outcomes.get(_place(statement))

    @cached_property
    def _rewrites(self) -> Mapping[tuple[str, int], Rewrite]:
        targets = self.subject.targets
        return {_place(each.statement): each for target in targets for each in target.rewrites}

    @cached_property
    def _outcomes(self) -> Mapping[tuple[str, int], TestOutcome]:
        if not self.subject.whole:
            return {}
        targets = self.subject.targets
        return {_place(each.test.statement): each for target in targets for each in target.outcomes}


def _place(statement: RewriteStatement | TestStatement) -> tuple[str, int]:
    return statement.span.source.name, statement.span.start


def analyse(sources: RuleFileSet, options: CheckOptions, before: Analysis | None = None) -> Analysis:
    """The analysis of some files; what has not changed since the one `before` is not read again."""
    if before is not None and (before.sources, before.options) == (sources, options):
        return before
    parsed = {source.name: _parsed(source, before) for source in sources.files}
    documents = tuple(each.document for each in parsed.values())
    compiled = compile_documents(documents)
    said = (each for file in parsed.values() for each in file.diagnostics)
    loaded = LoadedRules(documents, compiled.rule_sets, (*sources.mistakes, *said, *compiled.diagnostics))
    subject = subject_of(loaded, options.settings)
    return Analysis(sources, options, parsed, subject, lint(subject, CHECKS, options.selection).diagnostics)


def _parsed(source: SourceFile, before: Analysis | None) -> Parsed:
    known = before.parsed.get(source.name) if before else None
    return known if known is not None and known.document.source == source else parse(source)
