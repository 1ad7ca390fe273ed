"""Which rule files are read together, with what editors have open, and what the engine makes of them."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tornado_proxy.config.model import Settings
from tornado_proxy.lang.diagnostic import Diagnostic, Edit, Fix, Safety, SourceFile, Span, decode
from tornado_proxy.lang.parser import Parsed, parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.lang.tree import Document, RewriteStatement, Statement, TargetBlock, TestStatement
from tornado_proxy.lint.allowances import UNALLOWABLE, Allowance, find_allowances
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import apart, applicable, lint
from tornado_proxy.lint.settings import Selection
from tornado_proxy.lint.subject import Subject, TargetRules, subject_of
from tornado_proxy.rules.compile import compile_documents
from tornado_proxy.rules.loading import LoadedRules, Read, read_rule_files, rule_files_by_folder
from tornado_proxy.rules.model import Rewrite, TestOutcome

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
    """The rule files that are read together, in order, and diagnostics of those that cannot be read."""

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
        """The diagnostics of a file."""
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
    syntax = (each for file in parsed.values() for each in file.diagnostics)
    loaded = LoadedRules(documents, compiled.rule_sets, (*sources.mistakes, *syntax, *compiled.diagnostics))
    subject = subject_of(loaded, options.settings)
    return Analysis(sources, options, parsed, subject, lint(subject, CHECKS, options.selection).diagnostics)


def _parsed(source: SourceFile, before: Analysis | None) -> Parsed:
    known = before.parsed.get(source.name) if before else None
    return known if known is not None and known.document.source == source else parse(source)


_ALLOWABLE = frozenset(check.name for check in CHECKS) - {UNALLOWABLE}
_LIKELY = {Safety.SAFE: "", Safety.UNSAFE: " (keys may change)", Safety.DISPLAY: " (one way out of several)"}


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do: `preferred` is what an editor may do at a key press; `finding` is what it is about."""

    title: str
    edits: tuple[Edit, ...]
    finding: Diagnostic
    preferred: bool = False


def actions(analysis: Analysis, name: str, start: int, end: int) -> Iterator[Action]:
    """What can be done about the findings that touch a stretch of a file; the safest first of each finding."""
    document = analysis.document(name)
    for finding in analysis.diagnostics_of(name):
        if finding.span is None or finding.span.end < start or finding.span.start > end:
            continue
        for fix in finding.fixes:
            yield Action(f"{fix.message}{_LIKELY[fix.safety]}", fix.edits, finding, fix.safety is Safety.SAFE)
        if document is not None and finding.code in _ALLOWABLE:
            edit = _allowance(document, finding.span, finding.code)
            if edit is not None:
                yield Action(f"allow `{finding.code}` here", (edit,), finding)


def safe_fixes(analysis: Analysis, name: str) -> Sequence[Fix]:
    """The fixes of a file that change no key, as many at once as do not touch one another."""
    fixes = applicable(analysis.diagnostics_of(name), {Safety.SAFE})
    return apart(fix for fix in fixes if all(edit.span.source.name == name for edit in fix.edits))


def _allowance(document: Document, place: Span, check_name: str) -> Edit | None:
    """The edit that allows a check for the statement or block at a place; None where no comment can stand."""
    node = _node_at(document, place.start)
    if node is None:
        return None
    there = _last_allowance(document, node)
    if there is not None:
        return Edit(Span(document.source, there.span.end, there.span.end), f", {check_name}")
    return _comment(document, node, f"# allow: {check_name}")


def _node_at(document: Document, offset: int) -> Statement | TargetBlock | None:
    for block in document.blocks:
        if block.span.start <= offset <= block.span.end:
            within = (each for each in block.statements if each.span.start <= offset <= each.span.end)
            return next(within, block)
    return None


def _last_allowance(document: Document, node: Statement | TargetBlock) -> Allowance | None:
    """The last name of a comment that allows something for a node already."""
    found = [each for each in find_allowances([document], frozenset(), ()).all if each.covers == node.span]
    return found[-1] if found else None


def _comment(document: Document, node: Statement | TargetBlock, comment: str) -> Edit | None:
    """A comment on a line of its own above a node, or else behind it."""
    text = document.source.text
    start = node.span.start
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    if not indent.strip(" \t"):
        return Edit(Span(document.source, start, start), f"{comment}\n{indent}")
    end = node.span.end
    rest = text[end : _line_end(text, end)]
    return None if rest.strip() else Edit(Span(document.source, end, end), f"  {comment}")


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


_MOST_LINES = 2000
"""Of a longer file all is replaced at once: comparing its lines would take longer than anybody waits."""


def layout_edits(parsed: Parsed) -> Sequence[Edit]:
    """The edits that lay out a file; none where it has a syntax error, since it then has no layout."""
    source = parsed.document.source
    if parsed.diagnostics:
        return ()
    after = print_document(parsed.document)
    old, new = source.text.splitlines(keepends=True), after.splitlines(keepends=True)
    if source.text == after:
        return ()
    if max(len(old), len(new)) > _MOST_LINES:
        return (Edit(Span(source, 0, len(source.text)), after),)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return tuple(
        Edit(Span(source, starts[first], starts[last]), "".join(new[start:end]))
        for kind, first, last, start, end in matcher.get_opcodes()
        if kind != "equal"
    )
