"""The rule files that belong together, their analysis, and the edits that it offers."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tornado_proxy.config.model import Settings
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, apart, applicable, lint
from tornado_proxy.lint.subject import UNALLOWABLE, Allowances, Subject, TargetRules, subject_of
from tornado_proxy.rules import tree
from tornado_proxy.rules.diagnostic import Diagnostic, Edit, Fix, Safety, SourceFile, Span
from tornado_proxy.rules.expectations import TestOutcome
from tornado_proxy.rules.loading import Read, RuleFile, compile_rule_files, read_rule_files, rule_files_by_folder
from tornado_proxy.rules.model import AddressList, LoadedRules, Rewrite
from tornado_proxy.rules.parser import Parsed
from tornado_proxy.tools.limits import LARGEST_WORKSPACE, MOST_FILES, MOST_FOLDERS


class _TooMuch(Exception):
    """More files than can be analysed in time for an editor; the text names the limit."""


class Workspace(msgspec.Struct, frozen=True):
    """The folders of a client, the places that belong together, and the texts of open files by their names.

    The name of a file is its path with all links resolved, or its URI if it has no path. Without `places`, the files
    below one directory belong together: the highest ancestor of the file, within the folder of the client, that
    contains a rule file. A file outside of the folders is read alone.
    """

    folders: tuple[Path, ...] = ()
    places: tuple[Path, ...] = ()
    texts: Mapping[str, str] = {}

    def together_with(self, name: str) -> tuple[Path, ...]:
        """Returns the places that a file belongs to; empty if it is read alone."""
        path = Path(name)
        if not path.is_absolute():
            return ()
        if any(path == place or place in path.parents for place in self.places):
            return self.places
        within = any(each in path.parents for each in self.folders)
        return (_highest(path.parent, self.folders),) if within and path.suffix == ".rules" else ()

    def sources(self, name: str) -> Read:
        """Returns the files that belong together with one, itself included, as open in editors or else as on disk.

        Beyond the limits it returns the file alone, with a diagnostic that says so.
        """
        try:
            return self._read(dict.fromkeys(self._names(self.together_with(name))), name)
        except _TooMuch as error:
            more = str(error)
        try:
            alone = self._read([name], name)
        except _TooMuch:
            message = f"the file is larger than {LARGEST_WORKSPACE >> 20} MB and is not analysed"
            return Read((), (_too_much(name, message),))
        message = f"the rule files that belong together {more}: only this one is analysed"
        return Read(alone.files, (*alone.diagnostics, *(_too_much(each.name, message) for each in alone.files)))

    def _read(self, names: Collection[str], name: str) -> Read:
        names = names if name in names else [name]
        if sum(map(self._size, names)) > LARGEST_WORKSPACE:
            raise _TooMuch(f"are larger than {LARGEST_WORKSPACE >> 20} MB")
        files: list[RuleFile] = []
        mistakes: list[Diagnostic] = []
        for each in names:
            if each in self.texts:
                # Only this mark is taken away again: positions in an editor count one that its text has.
                files.append(RuleFile(each, BOM_UTF8 + self.texts[each].encode(errors="surrogatepass")))
            elif Path(each).is_file():  # a pipe would block
                read = read_rule_files([Path(each)])
                files += read.files
                mistakes += read.diagnostics
        return Read(tuple(files), tuple(mistakes))

    def _size(self, name: str) -> int:
        if name in self.texts:
            return len(self.texts[name])
        with contextlib.suppress(OSError):
            return Path(name).stat().st_size
        return 0

    def _names(self, places: Iterable[Path]) -> Iterator[str]:
        """Yields the files of the places as the service orders them, unsaved ones included."""
        for place in places:
            resolved = {path: os.path.realpath(path) for path in _rule_files(place)}
            unsaved = (Path(name) for name in self.texts if name not in resolved.values())
            resolved.update({path: str(path) for path in unsaved if path.suffix == ".rules" and place in path.parents})
            for path in sorted(resolved, key=lambda path: os.fsencode(os.path.relpath(path, place))):
                yield resolved[path]


def _rule_files(place: Path) -> Sequence[Path]:
    if not place.is_dir():
        return [place] if place.exists() else []
    files: list[Path] = []
    for count, paths in enumerate(rule_files_by_folder(place, lambda _: None)):
        files += paths
        if len(files) > MOST_FILES:
            raise _TooMuch(f"are more than {MOST_FILES:,}")
        if count == MOST_FOLDERS:
            raise _TooMuch(f"are in more than {MOST_FOLDERS:,} directories")
    return files


def _too_much(name: str, message: str) -> Diagnostic:
    advice = "run `tornado-proxy lint`, which reads files of any size"
    return Diagnostic("too-large", message, Span(SourceFile(name, ""), 0, 0), advice)


def _highest(folder: Path, folders: Collection[Path]) -> Path:
    highest = folder
    for parent in folder.parents:
        if not any(each == parent or each in parent.parents for each in folders):
            break
        with contextlib.suppress(OSError), os.scandir(parent) as entries:
            if any(entry.name.endswith(".rules") and not entry.name.startswith(".") for entry in entries):
                highest = parent
    return highest


@dataclass(frozen=True)  # no slots: for the cached properties
class Analysis:
    """The result of parser, compiler and checks for some files."""

    read: Read
    linting: LintSettings = field(repr=False)
    loaded: LoadedRules = field(repr=False)
    subject: Subject = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]

    def document(self, name: str) -> tree.Document | None:
        """Returns the tree of a file."""
        return next((each for each in self.loaded.documents if each.source.name == name), None)

    def diagnostics_of(self, name: str) -> Iterator[Diagnostic]:
        """Returns the diagnostics of a file."""
        return (each for each in self.diagnostics if each.span and each.span.source.name == name)

    def target(self, block: tree.TargetBlock) -> TargetRules:
        """Returns the rules of a block's target, other blocks included."""
        return next(each for each in self.subject.targets if each.name == block.name.value)

    def lists(self, block: tree.TargetBlock, statement: tree.ListStatement) -> Sequence[AddressList]:
        """Returns the list of a statement; none if it has a mistake."""
        return [each for each in self.target(block).rule_set.lists if each.statement is statement]

    def rewrite(self, statement: tree.RewriteStatement) -> Rewrite | None:
        """Returns the rewrite of a statement; None if it has a mistake."""
        return self._rewrites.get(id(statement))

    def outcome(self, statement: tree.TestStatement) -> TestOutcome | None:
        """Returns the outcome of a test; None if the test or any rewrite has a mistake."""
        outcomes = (each for target in self.subject.targets for each in target.outcomes if self.subject.whole)
        return next((each for each in outcomes if each.test.statement is statement), None)

    @cached_property
    def _rewrites(self) -> Mapping[int, Rewrite]:
        return {id(each.statement): each for target in self.subject.targets for each in target.rewrites}


def analyse(
    read: Read, linting: LintSettings, settings: Settings | None = None, before: Analysis | None = None
) -> Analysis:
    """Analyses files with a configuration; trees of unchanged files are taken from the analysis `before`."""
    if before is not None and (before.read, before.linting) == (read, linting):
        return before
    # Not the rule sets: an edit that only moves rewrites leaves them with the places that they had.
    trees = dataclasses.replace(before.loaded, rule_sets={}) if before else None
    loaded = compile_rule_files(read.files, trees)
    subject = subject_of(loaded, settings, read.diagnostics)
    return Analysis(read, linting, loaded, subject, lint(subject, CHECKS, linting).diagnostics)


_ALLOWABLE = frozenset(check.name for check in CHECKS) - {UNALLOWABLE}
_LIKELY = {Safety.SAFE: "", Safety.UNSAFE: " (keys may change)", Safety.DISPLAY: " (one of several ways)"}


def actions(analysis: Analysis, document: tree.Document, start: int, end: int) -> Iterator[tuple[Diagnostic, Fix]]:
    """Yields the fixes of findings that touch a range of a file; a finding's safest comes first."""
    for finding in analysis.diagnostics_of(document.source.name):
        if finding.span is None or finding.span.end < start or finding.span.start > end:
            continue
        for fix in finding.fixes:
            yield finding, replace(fix, message=f"{fix.message}{_LIKELY[fix.safety]}")
        if finding.code in _ALLOWABLE:
            edit = _allowance(document, finding.span, finding.code)
            if edit is not None:
                yield finding, Fix(f"allow `{finding.code}` here", (edit,), Safety.DISPLAY)


def safe_fixes(analysis: Analysis, document: tree.Document) -> Sequence[Fix]:
    """Returns the safe fixes of a file that do not touch one another."""
    name = document.source.name
    fixes = applicable(analysis.diagnostics_of(name), {Safety.SAFE})
    return apart(fix for fix in fixes if all(edit.span.source.name == name for edit in fix.edits))


def _allowance(document: tree.Document, place: Span, check_name: str) -> Edit | None:
    """Returns the edit that allows a check at a place; None if there is no room for a comment."""
    place_in_tree = statement_at(document, place.start)
    if place_in_tree is None:
        return None
    block, statement = place_in_tree
    node = statement or block
    for there in reversed(Allowances([document]).all):
        if there.covers == node.span:
            return Edit(Span(document.source, there.span.end, there.span.end), f", {check_name}")
    comment = f"# allow: {check_name}"
    text = document.source.text
    start = node.span.start
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    if not indent.strip(" \t"):
        return Edit(Span(document.source, start, start), f"{comment}\n{indent}")
    end = node.span.end
    rest = text[end:].partition("\n")[0]
    return None if rest.strip() else Edit(Span(document.source, end, end), f"  {comment}")


def statement_at(document: tree.Document, offset: int) -> tuple[tree.TargetBlock, tree.Statement | None] | None:
    """Returns the block at an offset, and the statement if there is one; None between blocks."""
    for block in document.blocks:
        if block.span.start <= offset <= block.span.end:
            within = (each for each in block.statements if each.span.start <= offset <= each.span.end)
            return block, next(within, None)
    return None


def layout_edits(parsed: Parsed) -> Sequence[Edit]:
    """Returns the edit that formats a file, whose changed lines an editor finds; none if it has a syntax error."""
    source, after = parsed.document.source, "" if parsed.diagnostics else tree.print_document(parsed.document)
    is_as_it_was = parsed.diagnostics or source.text == after
    return () if is_as_it_was else (Edit(Span(source, 0, len(source.text)), after),)
