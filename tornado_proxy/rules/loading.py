"""Reads rule files, and compiles them together to rule sets; every mistake is a diagnostic with its place.

A root is a file or a directory. A directory is read recursively: files named `*.rules`, sorted by the bytes of their
relative paths. Names that begin with `.` are skipped, because the `..data` of a ConfigMap has the same files again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from urllib.parse import unquote

import msgspec

from gotemplate.regexp.matching import Pattern, compile_source
from gotemplate.regexp.syntax import PatternError
from gotemplate.template.errors import TemplateMistake, marked
from tornado_proxy.rules import diagnostic, limits, model, tree
from tornado_proxy.rules.diagnostic import Diagnostic, Note, Span
from tornado_proxy.rules.expectations import compile_test
from tornado_proxy.rules.lists import ListFile, from_disk, list_path, read_list, read_lists, why_unread
from tornado_proxy.rules.parser import Parsed, parse
from tornado_proxy.templates import go
from tornado_proxy.templates.template import Template, compile_plain

HelperTexts = Callable[[str], tuple[str, ...]]
"""Returns the texts of the helpers that the Go templates of a target's rules may call."""


def no_helpers(_target: str) -> tuple[str, ...]:
    """Returns no helpers, because no configuration names any."""
    return ()


class RuleFileError(Exception):
    """Rule files with mistakes; the text shows each with its place."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n\n".join(diagnostic.render(each) for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as read: its name as shown, and its bytes."""

    name: str
    data: bytes = field(repr=False)


class Read(msgspec.Struct, frozen=True):
    """Rule files in order, the lists that they name, and what cannot be read."""

    files: tuple[RuleFile, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    lists: Mapping[str, bytes | str] = {}  # by path; a text says why a list cannot be read

    @property
    def list_files(self) -> tuple[RuleFile, ...]:
        """The lists that could be read."""
        return tuple(RuleFile(path, content) for path, content in self.lists.items() if isinstance(content, bytes))

    def list_file(self, path: str) -> bytes:
        """Returns the content of a list as it was when the rules were read; raises `OSError`."""
        content = self.lists.get(path, "it was not there when the rules were read")
        if isinstance(content, str):
            raise OSError(0, content)
        return content


def load(*roots: str | os.PathLike[str]) -> Mapping[str, model.RuleSet]:
    """Returns the rule sets of files and directories by target name; raises `RuleFileError`."""
    read = read_rule_files([Path(root) for root in roots])
    loaded = compile_rule_files(read.files)
    if mistakes := diagnostic.errors((*read.diagnostics, *loaded.diagnostics)):
        raise RuleFileError(mistakes)
    return loaded.rule_sets


def compile_rule_files(
    files: Iterable[RuleFile],
    before: model.LoadedRules | None = None,
    helpers: HelperTexts = no_helpers,
    list_file: ListFile = from_disk,
) -> model.LoadedRules:
    """Parses and compiles files with the lists that they name; what has not changed since `before` is reused."""
    parsed: list[Parsed] = []
    diagnostics: list[Diagnostic] = []
    parsed_before = {each.document.source: each for each in before.parsed} if before else {}
    for file in files:
        source = diagnostic.decode(file.name, file.data)
        if isinstance(source, Diagnostic):
            diagnostics.append(source)
            continue
        parsed.append(parsed_before.get(source) or parse(source))
        diagnostics.extend(parsed[-1].diagnostics)
    documents = [each.document for each in parsed]
    compiled = compile_documents(documents, before.rule_sets if before else {}, helpers, list_file)
    return replace(compiled, diagnostics=(*diagnostics, *compiled.diagnostics), parsed=tuple(parsed))


def read_rule_files(roots: Iterable[Path], named: Mapping[Path, Span | None] = {}, *, again: bool = False) -> Read:
    """Reads every rule file of the roots, each once, in the order of the roots; `named` has the places that name them.

    A root may be a pipe, unless it will be read `again`.
    """
    files: dict[str, RuleFile] = {}
    diagnostics: list[Diagnostic] = []
    for root in roots:
        span = named.get(root)
        try:
            read = _read_root(root, span, files, again=again)
        except diagnostic.FileTooLargeError as error:
            size = f"{limits.LARGEST_RULES // 1024**2} MiB together"
            message = f"the rule files are larger than {size}, counted up to `{error.filename}`"
            advice = "split the rules over several services, or shorten them"
            return Read((), (*diagnostics, Diagnostic("rules-too-large", message, span, advice)))
        files |= {file.name: file for file in read.files}
        diagnostics += read.diagnostics
    return Read(
        tuple(files.values()), tuple(diagnostics), read_lists((file.name, file.data) for file in files.values())
    )


def _read_root(root: Path, span: Span | None, before: Mapping[str, RuleFile], *, again: bool) -> Read:
    """Reads the files of a root but those that were read before; raises `FileTooLargeError`."""
    files: list[RuleFile] = []
    mistakes: list[OSError] = []
    left = max(0, limits.LARGEST_RULES - sum(len(file.data) for file in before.values()))
    paths = find_rule_files(root, mistakes.append)
    missing = [] if paths or mistakes else [_nothing_there(root, span)]
    for path in paths:
        if str(path) in before:
            continue
        try:
            files.append(RuleFile(str(path), diagnostic.read_file(path, left, regular=again or path != root)))
        except diagnostic.FileTooLargeError:
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


_SMALLER = r"lower their counts, use fewer classes such as `\pL`, or split the rules over several services"


# An action that prints a value, in Jinja and in Go: no other action refers to it.
_ACTION = re.compile(
    r"\{\{(?!-?\s*(?:if|else|end|range|with|define|block|template|break|continue)\b)(?![^{}]*:?=)[^{}]*\}\}"
)


def compile_documents(
    documents: Sequence[tree.Document],
    before: Mapping[str, model.RuleSet] | None = None,
    helpers: HelperTexts = no_helpers,
    list_file: ListFile = from_disk,
) -> model.LoadedRules:
    """Compiles files in order, without mistaken statements; what rule sets in `before` have compiled is reused."""
    targets: dict[str, _Target] = {}
    diagnostics: list[Diagnostic] = []
    room = _Room()
    for document in documents:
        for block in document.blocks:
            name = block.name.value
            if name not in targets:
                old = (before or {}).get(name, model.RuleSet(name))
                made = {_making(each.statement, each.making[-1]): each for each in old.rewrites}
                targets[name] = _Target(name, old, made, room, list_file, helpers(name))
            diagnostics.extend(targets[name].add(block))
    rule_sets = {name: target.rule_set() for name, target in targets.items()}
    return model.LoadedRules(tuple(documents), rule_sets, tuple(diagnostics))


def _making(statement: tree.RewriteStatement, helpers: tuple[str, ...]) -> model.Making:
    """Returns all that the pattern and the template of a statement are made of."""
    return statement.source.value, statement.dialect, statement.template.value, helpers


class _Room(msgspec.Struct):
    """The bytes of all compiled sources; one of a few characters may take ten thousand times its length."""

    used: int = 0


def _places(rules: model.RuleSet) -> list[str]:
    return [each.span.place for each in rules.counted] + [each.statement.span.place for each in rules.tests]


class _Target(msgspec.Struct):
    """A rule set in the making; numbers count all rewrites, mistaken ones included, as their author counts them."""

    name: str
    before: model.RuleSet
    made: Mapping[model.Making, model.Rewrite]  # the rewrites of the rule set before
    room: _Room
    list_file: ListFile
    helpers: tuple[str, ...] = ()
    number: int = 0
    rewrites: list[model.Rewrite] = []
    lists: list[model.AddressList] = []
    tests: list[model.RuleTest] = []
    names: dict[str, tree.Literal] = {}

    def rule_set(self) -> model.RuleSet:
        """Returns what has been added so far; the rule set before if nothing has changed, and nothing has moved."""
        before, of_sources = self.before, self.before.first_match
        made = model.RuleSet(self.name, tuple(self.rewrites), tuple(self.tests), tuple(self.lists), of_sources)
        return before if before == made and _places(before) == _places(made) else made

    def add(self, block: tree.TargetBlock) -> Iterator[Diagnostic]:
        """Adds a block; yields its mistakes."""
        for statement in block.statements:
            if isinstance(statement, tree.TestStatement):
                test = compile_test(statement)
                if isinstance(test, model.RuleTest):
                    self.tests.append(test)
                else:
                    yield from test
                continue
            self.number += 1
            if isinstance(statement, tree.ListStatement):
                yield from self._add_list(statement)
                continue
            if statement.name is not None:
                yield from self._claim(statement.name)
            compiled = self._compiled(statement)
            if isinstance(compiled, list):
                yield from compiled
                continue
            name = statement.name.value if statement.name else None
            pattern, template = compiled
            self.rewrites.append(model.Rewrite(self.number, name, pattern, statement.dialect, template, statement))

    def _add_list(self, statement: tree.ListStatement) -> Iterator[Diagnostic]:
        """Adds a list; one that has not changed is not read again."""
        file = statement.file
        path = list_path(file.span.source.name, file.value)
        try:
            source = diagnostic.decode(path, self.list_file(path))
        except OSError as error:
            message = f"the list `{file.value}` cannot be read: {why_unread(error)}"
            yield Diagnostic("unreadable-list", message, file.span, "its path is relative to the rule file")
            return
        if isinstance(source, Diagnostic):
            yield source
            return
        old = next((each for each in self.before.lists if (each.statement, each.source) == (statement, source)), None)
        if old is None:
            made, mistakes = read_list(statement, source, self.number)
            yield from mistakes
        else:
            made = replace(old, statement=statement, number=self.number)
        self.lists.append(made)

    def _compiled(self, statement: tree.RewriteStatement) -> tuple[Pattern, Template] | list[Diagnostic]:
        source, template, dialect = statement.source, statement.template, statement.dialect
        helpers = self.helpers if dialect is tree.Dialect.GO else ()
        made = self.made.get(_making(statement, helpers))
        if self.room.used > limits.MOST_SOURCE_MEMORY:
            return []  # the rules are refused for the source that did not fit
        try:
            pattern = made.pattern if made else compile_source(source.value)
        except PatternError as error:
            return [Diagnostic("bad-source", str(error), source.at(error.offset, error.end), help=error.help)]
        self.room.used += pattern.memory
        if self.room.used > limits.MOST_SOURCE_MEMORY:
            message = (
                f"the sources up to this one take more than {limits.MOST_SOURCE_MEMORY >> 20} MiB in compiled form"
            )
            return [Diagnostic("rules-too-large", message, source.span, _SMALLER)]
        if made:
            return pattern, made.template
        compile_text = partial(_compile_template, dialect=dialect, pattern=pattern, helpers=helpers)
        try:
            mistakes = bad_location(statement) if statement.kind is tree.RuleKind.REDIRECT else []
            return mistakes or (pattern, compile_text(template.value))
        except TemplateMistake as first:
            return [
                Diagnostic("bad-template", str(each), template.at(each.offset, each.end), help=each.help)
                for each in _all_mistakes(template.value, first, compile_text)
            ]

    def _claim(self, name: tree.Literal) -> Iterator[Diagnostic]:
        first = self.names.setdefault(name.value, name)
        if first is not name:
            message = f"`{self.name}` has two rewrites named `{name.value}`"
            note = Note("the first is here", first.span)
            yield Diagnostic("duplicate-name", message, name.span, "give one of them another name, or none", (note,))


_OWN_HOST = 'write scheme and host as they are, "https://example.org/$1": who chooses them can lead others away'
_FIRST_ACTION = re.compile(r"\{[{%#]")


def bad_location(statement: tree.RewriteStatement) -> list[Diagnostic]:
    """Returns the mistake of a redirect that leads nowhere, or where a client chooses, whatever is inserted."""
    template, plain = statement.template, statement.dialect is tree.Dialect.PLAIN
    action = None if plain else _FIRST_ACTION.search(template.value)
    opening = compile_plain(template.value).opening if plain else template.value[: action.start() if action else None]
    text = opening + marked("x") if action or (plain and compile_plain(template.value).holes) else opening
    code, advice = "bad-location", tree.LEADS_TO
    try:
        reason = model.path_objection(unquote(tree.read_location(text).path))
    except tree.NoLocation as error:
        reason = str(error)
        if opening.startswith("http"):
            code, advice = "open-redirect", _OWN_HOST
    if reason is None:
        return []
    return [Diagnostic(code, f"the location {reason}", template.span, advice)]


def _compile_template(text: str, dialect: tree.Dialect, pattern: Pattern, helpers: tuple[str, ...]) -> Template:
    """Compiles the template of a rewrite; raises `TemplateMistake`."""
    if dialect is tree.Dialect.PLAIN:
        return compile_plain(text)
    if dialect is tree.Dialect.JINJA:
        from tornado_proxy.templates import jinja  # noqa: PLC0415 - Jinja2, without which most commands start sooner

        return jinja.compile_template(text, pattern.names, pattern.group_count)
    return go.compile_template(text, pattern.names, pattern.group_count, helpers)


def _all_mistakes(
    text: str, mistake: TemplateMistake, compile_text: Callable[[str], Template]
) -> Sequence[TemplateMistake]:
    """Returns the mistakes of a template by place; blanks out an action with a mistake, and compiles the rest again."""
    mistakes = dict[int, TemplateMistake]()
    while True:
        new = {each.offset: each for each in (mistake, *mistake.others) if each.offset not in mistakes}
        mistakes |= new
        action = next((each for each in _ACTION.finditer(text) if each.start() <= mistake.offset < each.end()), None)
        if action is not None and new and len(mistakes) < limits.MOST_TEMPLATE_MISTAKES:
            text = f"{text[: action.start()]}{' ' * len(action[0])}{text[action.end() :]}"
            try:
                compile_text(text)
            except TemplateMistake as another:
                mistake = another
                continue
        return [each for _, each in sorted(mistakes.items())][: limits.MOST_TEMPLATE_MISTAKES]


def unknown_targets(documents: Iterable[tree.Document], names: Collection[str]) -> Iterator[Diagnostic]:
    """Yields a diagnostic for each block of a target that the configuration does not name."""
    for name in (block.name for document in documents for block in document.blocks):
        if name.value in names:
            continue
        advice, fixes = "name it in `targets` of the configuration", tuple[diagnostic.Fix, ...]()
        if meant := diagnostic.did_you_mean(name.value, names):
            advice = f"did you mean `{meant}`?"
            edit = diagnostic.Edit(name.span, tree.name_text(tree.Literal(meant, name.span)))
            fixes = (diagnostic.Fix(f"call it `{meant}`", (edit,), diagnostic.Safety.UNSAFE),)
        message = f"the configuration has no target `{name.value}`"
        yield Diagnostic("unknown-target", message, name.span, advice, fixes=fixes)


def overruled_files(rule_sets: Iterable[model.RuleSet]) -> Iterator[Diagnostic]:
    """Yields a warning for each file whose rewrites have the sources of an earlier one, such as its own copy."""
    for rules in rule_sets:
        first: dict[str, model.Rewrite] = {}
        taken: dict[tuple[str, str], list[tuple[model.Rewrite, model.Rewrite]]] = {}
        for rewrite in rules.rewrites:
            earlier = first.setdefault(rewrite.pattern.text, rewrite)
            files = earlier.span.source.name, rewrite.span.source.name
            if files[0] != files[1]:
                taken.setdefault(files, []).append((earlier, rewrite))
        for (winner, loser), pairs in taken.items():
            rewrites, never = diagnostic.counted(len(pairs), "rewrite"), "applies" if len(pairs) == 1 else "apply"
            message = f"{rewrites} of `{loser}` never {never}: `{winner}` has the same, and is read first"
            advice = "if one of them is a copy, delete it or let its name end otherwise than with `.rules`"
            earlier, rewrite = pairs[0]
            note = Note("the first of these is here", earlier.statement.source.span)
            span = rewrite.statement.source.span
            yield Diagnostic("overruled-file", message, span, advice, (note,), diagnostic.Severity.WARNING)
