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
from tornado_proxy.rules import model, tree
from tornado_proxy.rules.diagnostic import (
    Diagnostic,
    Edit,
    FileTooLargeError,
    Fix,
    Note,
    Safety,
    Severity,
    SourceFile,
    Span,
    counted,
    decode,
    did_you_mean,
    errors,
    read_file,
    render,
)
from tornado_proxy.rules.limits import (
    LARGEST_LISTS,
    LARGEST_RULES,
    MOST_MISTAKES,
    MOST_SOURCE_MEMORY,
    MOST_TEMPLATE_MISTAKES,
)
from tornado_proxy.rules.location import NoLocation, read_location
from tornado_proxy.rules.model import (
    AddressList,
    Key,
    LoadedRules,
    Making,
    Moved,
    Rewrite,
    RuleSet,
    RuleTest,
    objection,
    path_objection,
)
from tornado_proxy.rules.parser import Parsed, parse
from tornado_proxy.rules.tree import (
    DEFAULT_STATUS,
    REDIRECTS,
    Dialect,
    Document,
    Kind,
    ListStatement,
    Literal,
    RedirectTo,
    RequestClauses,
    RewriteStatement,
    TestStatement,
    name_text,
)
from tornado_proxy.semantics.request import METHODS, WRITING, User, groups_of
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
        super().__init__("\n\n".join(render(each) for each in diagnostics))
        self.diagnostics = diagnostics


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A rule file as read: its name as shown, and its bytes."""

    name: str
    data: bytes = field(repr=False)


ListFile = Callable[[str], bytes]
"""Returns the content of a list of addresses by its path; raises `OSError`."""


def from_disk(path: str) -> bytes:
    """Returns the content of a list that is read now; raises `OSError`."""
    return read_file(Path(path), LARGEST_LISTS, regular=True)


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


def load(*roots: str | os.PathLike[str]) -> Mapping[str, RuleSet]:
    """Returns the rule sets of files and directories by target name; raises `RuleFileError`."""
    read = read_rule_files([Path(root) for root in roots])
    loaded = compile_rule_files(read.files)
    if mistakes := errors((*read.diagnostics, *loaded.diagnostics)):
        raise RuleFileError(mistakes)
    return loaded.rule_sets


def compile_rule_files(
    files: Iterable[RuleFile],
    before: LoadedRules | None = None,
    helpers: HelperTexts = no_helpers,
    list_file: ListFile = from_disk,
) -> LoadedRules:
    """Parses and compiles files with the lists that they name; what has not changed since `before` is reused."""
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
    documents = [each.document for each in parsed]
    compiled = compile_documents(documents, before.rule_sets if before else {}, helpers, list_file)
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
    return Read(tuple(files.values()), tuple(diagnostics), _read_lists(files.values()))


# Any text that could be such a statement: to read a file that none names does no harm.
_NAMED = re.compile(rb"\b(?:redirects|rewrites)\b[^\"`\n#]*[\"`]([^\"`\n]+)[\"`]")


def _read_lists(files: Iterable[RuleFile]) -> Mapping[str, bytes | str]:
    """Reads the lists that rule files name."""
    lists: dict[str, bytes | str] = {}
    left = LARGEST_LISTS
    for file in files:
        for name in _NAMED.findall(file.data):
            path = list_path(file.name, name.decode(errors="replace"))
            if path in lists:
                continue
            try:
                lists[path] = content = read_file(Path(path), left, regular=True)
            except OSError as error:
                lists[path] = _why(error)
            else:
                left -= len(content)
    return lists


def _why(error: OSError) -> str:
    if isinstance(error, FileTooLargeError):
        return f"the lists are larger than {LARGEST_LISTS // 1024**2} MiB together"
    return error.strerror or str(error)


def list_path(rule_file: str, name: str) -> str:
    """Returns the path of a list that a rule file names: relative to its directory."""
    return os.path.normpath(os.path.join(os.path.dirname(rule_file), name))  # noqa: PTH118, PTH120 - names are texts


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


_SMALLER = r"lower their counts, use fewer classes such as `\pL`, or split the rules over several services"


# An action that prints a value, in Jinja and in Go: no other action refers to it.
_ACTION = re.compile(
    r"\{\{(?!-?\s*(?:if|else|end|range|with|define|block|template|break|continue)\b)(?![^{}]*:?=)[^{}]*\}\}"
)


def compile_documents(
    documents: Sequence[Document],
    before: Mapping[str, RuleSet] | None = None,
    helpers: HelperTexts = no_helpers,
    list_file: ListFile = from_disk,
) -> LoadedRules:
    """Compiles files in order, without mistaken statements; what rule sets in `before` have compiled is reused."""
    targets: dict[str, _Target] = {}
    diagnostics: list[Diagnostic] = []
    room = _Room()
    for document in documents:
        for block in document.blocks:
            name = block.name.value
            if name not in targets:
                old = (before or {}).get(name, RuleSet(name))
                made = {_making(each.statement, each.making[-1]): each for each in old.rewrites}
                targets[name] = _Target(name, old, made, room, list_file, helpers(name))
            diagnostics.extend(targets[name].add(block))
    rule_sets = {name: target.rule_set() for name, target in targets.items()}
    return LoadedRules(tuple(documents), rule_sets, tuple(diagnostics))


def _making(statement: RewriteStatement, helpers: tuple[str, ...]) -> Making:
    """Returns all that the pattern and the template of a statement are made of."""
    return statement.source.value, statement.dialect, statement.template.value, helpers


class _Room(msgspec.Struct):
    """The bytes of all compiled sources; one of a few characters may take ten thousand times its length."""

    used: int = 0


def _places(rules: RuleSet) -> list[str]:
    return [each.span.place for each in rules.counted] + [each.statement.span.place for each in rules.tests]


class _Target(msgspec.Struct):
    """A rule set in the making; numbers count all rewrites, mistaken ones included, as their author counts them."""

    name: str
    before: RuleSet
    made: Mapping[Making, Rewrite]  # the rewrites of the rule set before
    room: _Room
    list_file: ListFile
    helpers: tuple[str, ...] = ()
    number: int = 0
    rewrites: list[Rewrite] = []
    lists: list[AddressList] = []
    tests: list[RuleTest] = []
    names: dict[str, Literal] = {}

    def rule_set(self) -> RuleSet:
        """Returns what has been added so far; the rule set before if nothing has changed, and nothing has moved."""
        before, of_sources = self.before, self.before.first_match
        made = RuleSet(self.name, tuple(self.rewrites), tuple(self.tests), tuple(self.lists), of_sources)
        return before if before == made and _places(before) == _places(made) else made

    def add(self, block: tree.TargetBlock) -> Iterator[Diagnostic]:
        """Adds a block; yields its mistakes."""
        for statement in block.statements:
            if isinstance(statement, TestStatement):
                test = compile_test(statement)
                if isinstance(test, RuleTest):
                    self.tests.append(test)
                else:
                    yield from test
                continue
            self.number += 1
            if isinstance(statement, ListStatement):
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
            self.rewrites.append(Rewrite(self.number, name, pattern, statement.dialect, template, statement))

    def _add_list(self, statement: ListStatement) -> Iterator[Diagnostic]:
        """Adds a list; one that has not changed is not read again."""
        file = statement.file
        path = list_path(file.span.source.name, file.value)
        try:
            source = decode(path, self.list_file(path))
        except OSError as error:
            message = f"the list `{file.value}` cannot be read: {_why(error)}"
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

    def _compiled(self, statement: RewriteStatement) -> tuple[Pattern, Template] | list[Diagnostic]:
        source, template, dialect = statement.source, statement.template, statement.dialect
        helpers = self.helpers if dialect is Dialect.GO else ()
        made = self.made.get(_making(statement, helpers))
        if self.room.used > MOST_SOURCE_MEMORY:
            return []  # the rules are refused for the source that did not fit
        try:
            pattern = made.pattern if made else compile_source(source.value)
        except PatternError as error:
            return [Diagnostic("bad-source", str(error), source.at(error.offset, error.end), help=error.help)]
        self.room.used += pattern.memory
        if self.room.used > MOST_SOURCE_MEMORY:
            message = f"the sources up to this one take more than {MOST_SOURCE_MEMORY >> 20} MiB in compiled form"
            return [Diagnostic("rules-too-large", message, source.span, _SMALLER)]
        if made:
            return pattern, made.template
        compile_text = partial(_compile_template, dialect=dialect, pattern=pattern, helpers=helpers)
        try:
            return _bad_location(statement) or (pattern, compile_text(template.value))
        except TemplateMistake as first:
            return [
                Diagnostic("bad-template", str(each), template.at(each.offset, each.end), help=each.help)
                for each in _all_mistakes(template.value, first, compile_text)
            ]

    def _claim(self, name: Literal) -> Iterator[Diagnostic]:
        first = self.names.setdefault(name.value, name)
        if first is not name:
            message = f"`{self.name}` has two rewrites named `{name.value}`"
            note = Note("the first is here", first.span)
            yield Diagnostic("duplicate-name", message, name.span, "give one of them another name, or none", (note,))


_LEADS_TO = 'write a path below the mount, "/new/$1", or a URL, "https://example.org/new/$1"'
_OWN_HOST = 'write scheme and host as they are, "https://example.org/$1": who chooses them can lead others away'
_FIRST_ACTION = re.compile(r"\{[{%#]")


def _bad_location(statement: RewriteStatement) -> list[Diagnostic]:
    """Returns the mistake of a redirect that leads nowhere, or where a client chooses, whatever is inserted."""
    if statement.kind is not Kind.REDIRECT:
        return []
    template, plain = statement.template, statement.dialect is Dialect.PLAIN
    action = None if plain else _FIRST_ACTION.search(template.value)
    opening = compile_plain(template.value).opening if plain else template.value[: action.start() if action else None]
    text = opening + marked("x") if action or (plain and compile_plain(template.value).holes) else opening
    try:
        reason = path_objection(unquote(read_location(text).path))
    except NoLocation as error:
        reason = str(error)
    if reason is None:
        return []
    code, advice = ("open-redirect", _OWN_HOST) if opening.startswith("http") else ("bad-location", _LEADS_TO)
    return [Diagnostic(code, f"the location {reason}", template.span, advice)]


def _compile_template(text: str, dialect: Dialect, pattern: Pattern, helpers: tuple[str, ...]) -> Template:
    """Compiles the template of a rewrite; raises `TemplateMistake`."""
    if dialect is Dialect.PLAIN:
        return compile_plain(text)
    if dialect is Dialect.JINJA:
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
        if action is not None and new and len(mistakes) < MOST_TEMPLATE_MISTAKES:
            text = f"{text[: action.start()]}{' ' * len(action[0])}{text[action.end() :]}"
            try:
                compile_text(text)
            except TemplateMistake as another:
                mistake = another
                continue
        return [each for _, each in sorted(mistakes.items())][:MOST_TEMPLATE_MISTAKES]


_COLUMNS = re.compile(
    r"[ \t]*(?P<address>[^\s#]\S*)(?:[ \t]+(?P<result>[^\s#]\S*))?(?:[ \t]+(?P<status>[^\s#]\S*))?(?P<rest>.*?)\r?"
)
_REST = re.compile(r"[ \t]*(?:#.*)?\r?")
# A result that needs no further look: nothing to encode, no dot segment, no second slash at the start.
_CLEAR = re.compile(
    r"(?:https?://[a-z0-9-]+(?:\.[a-z0-9-]+)+(?=/)|(?=/(?!/)))(?:/(?!\.)[\w~!$&'()*+,;=:@.-]*)+", re.ASCII
)
_OF_LIST = {
    Kind.REDIRECT: "a line is an address, where it leads, and a status if need be: `/old /new 301`",
    Kind.REWRITE: "a line is an address and the key that takes its place: `/old /new`",
}


class _BadLine(ValueError):
    """A line of a list that is none; `column` is the group of `_COLUMNS` that is wrong."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(reason)
        self.column = column


def read_list(
    statement: ListStatement, source: SourceFile, number: int = 1
) -> tuple[AddressList, Sequence[Diagnostic]]:
    """Reads a list; returns it with its mistakes. White space separates columns, `#` begins a comment."""
    lines: dict[str, tuple[int, str, int]] = {}
    doubles: list[tuple[int, int]] = []
    mistakes: list[Diagnostic] = []
    status = statement.redirecting.status or DEFAULT_STATUS
    for line, text in enumerate(source.text.split("\n"), 1):
        columns = _COLUMNS.fullmatch(text)
        if columns is None:
            continue
        try:
            address, result, own = _read_line(columns, statement.kind)
        except _BadLine as bad:
            start = source.offset(line, 1)
            span = Span(source, *(start + each for each in columns.span(bad.column)))
            mistakes.append(Diagnostic("bad-line", str(bad), span, _OF_LIST[statement.kind]))
            if len(mistakes) == MOST_MISTAKES:
                break
            continue
        led = line, result, own or status
        if (first := lines.setdefault(address.casefold() if statement.any_case else address, led)) is not led:
            doubles.append((line, first[0]))
    return AddressList(number, statement, source, lines, tuple(doubles)), mistakes


def _read_line(columns: re.Match[str], kind: Kind) -> tuple[str, str, int | None]:
    """Returns the address, the result and the status of a line; raises `_BadLine`."""
    address, result, status, rest = columns.groups()
    if not address.startswith("/"):
        raise _BadLine("address", "the address does not begin with `/`")
    if "?" in address or "#" in address:
        raise _BadLine("address", "the address has a query or a fragment, which no key has")
    if reason := objection(address := unquote(address)):
        raise _BadLine("address", f"the address {reason}")
    if result is None:
        raise _BadLine("address", "the line does not say where its address leads")
    if status is not None and (kind is Kind.REWRITE or not status.isdecimal() or int(status[:4]) not in REDIRECTS):
        raise _BadLine("status", f"`{status}` is not the status of a redirect")
    if not _REST.fullmatch(rest):
        raise _BadLine("rest", "the line has too many columns")
    return address, _listed_result(result, kind), int(status) if status else None


def _listed_result(result: str, kind: Kind) -> str:
    if kind is Kind.REDIRECT and _CLEAR.fullmatch(result):
        return result
    if kind is Kind.REWRITE:
        result = unquote(result)
        reason = objection(result) if result.startswith("/") else "does not begin with `/`"
    else:
        try:
            location = read_location(result)
        except NoLocation as error:
            raise _BadLine("result", f"the result {error}") from error
        reason = path_objection(unquote(location.path))
        if not result.startswith(("/", location.path)):
            reason = "is neither a path nor a URL"
        result = str(location)
    if reason:
        raise _BadLine("result", f"the result {reason}")
    return result


def compile_test(statement: TestStatement) -> RuleTest | tuple[Diagnostic, ...]:
    """Returns the test of a statement, or its mistakes."""
    mistakes = tuple(_mistakes(statement))
    if mistakes:
        return mistakes
    key, clauses, expected = Key(statement.key.value), statement.clauses, statement.expected
    method, host = clauses.method.value if clauses.method else "GET", clauses.host.value if clauses.host else ""
    headers = tuple((name.value, value.value) for name, value in clauses.headers)
    result: str | tree.Verdict | Moved
    match expected:
        case RedirectTo(location, status):
            result = Moved(status or DEFAULT_STATUS, read_location(location.value))
        case Literal(value):
            result = value
        case _:
            result = expected
    return RuleTest(key, method, _user(clauses), host, headers, result, statement)


def _mistakes(statement: TestStatement) -> Iterator[Diagnostic]:
    yield from _key_mistakes(statement.key)
    if isinstance(statement.expected, Literal):
        yield from _key_mistakes(statement.expected, help="expect `error` if the result is refused")
    if isinstance(statement.expected, RedirectTo):
        yield from _location_mistakes(statement.expected.location)
    if statement.clauses.method is not None:
        method = statement.clauses.method
        if method.value not in METHODS:
            listed = ", ".join(f"`{each}`" for each in METHODS)
            yield Diagnostic("bad-test", f"unknown method `{method.value}`", method.span, help=f"use {listed}")
        elif method.value in WRITING and statement.key.value.endswith("/"):
            message = f"the key of a `{method.value}` ends with the name of a file, not with `/`"
            yield Diagnostic("bad-test", message, statement.key.span, "add the name of the file")
    user, host = statement.clauses.user, statement.clauses.host
    if user is not None and (reason := model.segment_objection(user.value)) is not None:
        name = f"`{user.value}`" if user.value else "this user"
        message = f"{name} cannot sign in: the name {reason}"
        advice = "the service refuses such a name before it looks at the rules; a name is one segment of a path"
        yield Diagnostic("bad-test", message, user.span, advice)
    if host is not None and (reason := model.host_objection(host.value)) is not None:
        advice = "the service refuses such a request before it looks at the rules; a host is a name or an address"
        yield Diagnostic("bad-test", f"the host `{host.value}` {reason}", host.span, advice)
    for clause, literal in (("user-groups", statement.clauses.user_groups), ("email", statement.clauses.email)):
        if literal is not None and user is None:
            message = f"`{clause}` describes a user, but nobody is signed in"
            yield Diagnostic("bad-test", message, literal.span, 'name the user with `as "…"`')


def _location_mistakes(location: Literal) -> Iterator[Diagnostic]:
    try:
        read_location(location.value)
    except NoLocation as error:
        yield Diagnostic("bad-test", f"the location {error}", location.span, _LEADS_TO)


def _key_mistakes(key: Literal, help: str | None = None) -> Iterator[Diagnostic]:
    if not key.value.startswith("/"):
        advice = f'write "/{key.value}": a key is the path below the mount, with its leading slash'
        if "://" in key.value:
            advice = "a key is the path below the mount, without scheme, host and query"
        yield Diagnostic("bad-test", f"the key `{key.value}` does not begin with `/`", key.span, advice)
    elif (reason := model.objection(key.value)) is not None:
        yield Diagnostic("bad-test", f"the key {reason}", key.span, help=help)


def _user(clauses: RequestClauses) -> User | None:
    """Returns the user of a test; one with an email address or groups is what s3-proxy calls a header user."""
    if clauses.user is None:
        return None
    if clauses.user_groups is None and clauses.email is None:
        return User(clauses.user.value)
    groups = groups_of(clauses.user_groups.value) if clauses.user_groups else ()
    return User(clauses.user.value, "HEADER", clauses.email.value if clauses.email else "", groups)


def unknown_targets(documents: Iterable[Document], names: Collection[str]) -> Iterator[Diagnostic]:
    """Yields a diagnostic for each block of a target that the configuration does not name."""
    for name in (block.name for document in documents for block in document.blocks):
        if name.value in names:
            continue
        advice, fixes = "name it in `targets` of the configuration", tuple[Fix, ...]()
        if meant := did_you_mean(name.value, names):
            advice = f"did you mean `{meant}`?"
            edit = Edit(name.span, name_text(Literal(meant, name.span)))
            fixes = (Fix(f"call it `{meant}`", (edit,), Safety.UNSAFE),)
        message = f"the configuration has no target `{name.value}`"
        yield Diagnostic("unknown-target", message, name.span, advice, fixes=fixes)


def overruled_files(rule_sets: Iterable[RuleSet]) -> Iterator[Diagnostic]:
    """Yields a warning for each file whose rewrites have the sources of an earlier one, such as its own copy."""
    for rules in rule_sets:
        first: dict[str, Rewrite] = {}
        taken: dict[tuple[str, str], list[tuple[Rewrite, Rewrite]]] = {}
        for rewrite in rules.rewrites:
            earlier = first.setdefault(rewrite.pattern.text, rewrite)
            files = earlier.span.source.name, rewrite.span.source.name
            if files[0] != files[1]:
                taken.setdefault(files, []).append((earlier, rewrite))
        for (winner, loser), pairs in taken.items():
            rewrites = (
                f"{counted(len(pairs), 'rewrite')} of `{loser}` never {'applies' if len(pairs) == 1 else 'apply'}"
            )
            message = f"{rewrites}: `{winner}` has the same, and is read first"
            advice = "if one of them is a copy, delete it or let its name end otherwise than with `.rules`"
            earlier, rewrite = pairs[0]
            note = Note("the first of these is here", earlier.statement.source.span)
            span = rewrite.statement.source.span
            yield Diagnostic("overruled-file", message, span, advice, (note,), Severity.WARNING)
