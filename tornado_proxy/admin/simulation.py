"""A draft of a rule file, tried on the last requests before anything is saved; nothing of it has an effect."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gotemplate.regexp.parser import parse
from gotemplate.regexp.syntax import Group, walk
from tornado_proxy.admin.limits import DRAFT_WITHIN, LARGEST_DRAFT, MOST_DRAFT_DIAGNOSTICS, MOST_LINTED
from tornado_proxy.admin.status import Explanation, PathStep, Piece
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.lint.engine import LintSettings, SettingsMistake, find_settings, lint
from tornado_proxy.lint.subject import subject_of
from tornado_proxy.routing.access import Anyone, SignedIn
from tornado_proxy.routing.compare import KeptRequest, Kind
from tornado_proxy.routing.decide import Decision, RewriteTrace, beside, trace
from tornado_proxy.routing.mounts import Mounts, sites, target_data
from tornado_proxy.routing.plan import Attempt, Redirect, RedirectToSignedUrl, Refuse, Serve
from tornado_proxy.rules.diagnostic import Diagnostic, Severity, SourceFile, Span, decode, errors, render
from tornado_proxy.rules.expectations import FAILING_TEST, TestOutcome, evaluate, failure
from tornado_proxy.rules.loading import RuleFile, unknown_targets
from tornado_proxy.rules.model import ListedAddress, Rewrite
from tornado_proxy.semantics.request import User
from tornado_proxy.service.reloading import changes
from tornado_proxy.service.snapshot import Configuration, compile_snapshot
from tornado_proxy.tools import explain
from tornado_proxy.tools.diff import Change, Comparison
from tornado_proxy.tools.simulator import RequestDefaults, Simulator, logged


def explained(mounts: Mounts, asked: Mapping[str, str], public_path: str = "") -> Explanation:
    """Explains a request for the status page; `asked` contains the fields of its form."""
    user = User(asked["user"]) if asked.get("user") else None
    client = RequestDefaults(user, asked.get("host", ""), public_path=public_path)
    found = explain.explain(mounts, asked["path"], asked.get("method", "GET"), client, asked.get("file"))
    rows = tuple(explain.sections(found, user))
    target = found.match.site.target.name if found.match else None

    def is_made(attempt: Attempt) -> bool:
        # One that answers for other paths needs them all.
        paths = attempt.paths if isinstance(attempt, Serve | RedirectToSignedUrl | Redirect) else ()
        return all(found.admits(beside(mounts, found, path, permitted=True)) for path in paths)

    attempts = tuple(filter(is_made, found.plan))
    return Explanation(explain.heading(found), rows, tuple(_steps(found)), target, attempts)


def _steps(found: Decision) -> Iterator[PathStep]:
    yield _step("URL", f"{found.request.method} {found.request.path}")
    match, rewriting = found.match, trace(found)
    if match is None:
        return
    yield _step("target", match.site.target.name, f"mounted at {match.site.target.mount.host}{match.mount}")
    is_refused = rewriting is None and isinstance(found.plan[0], Refuse)
    guard = found.checks[-1].guard if found.checks else Anyone()
    permitted = f"users of {guard.provider}" if isinstance(guard, SignedIn) else "nobody"
    permitted = "anyone" if isinstance(guard, Anyone) else permitted
    who = f"as {found.user.username}" if found.user else "not signed in"
    yield _step("access", permitted, who, outcome="bad" if is_refused else "good")
    if rewriting is None:
        return
    yield rewrite_step("rewrite", rewriting, len(match.site.rules.counted))
    if rewriting.object_key is not None:
        yield _step("key", rewriting.object_key or "(the whole bucket)")


def rewrite_step(title: str, rewriting: RewriteTrace, count: int) -> PathStep:
    """Returns the application of the rules to a key, of `count` rewrites, as a step with the groups in colour."""
    matched, captures = rewriting.matched, rewriting.captures
    if isinstance(matched, ListedAddress):
        return _step(title, matched.label, f"\N{RIGHTWARDS ARROW} {matched.result_text}")
    if matched is None or captures is None:
        return _step(title, "none matches" if count else "none", rewriting.key)
    names = {number: name for name, number in captures.names.items()}
    groups = [
        piece
        for number, text in enumerate(captures.groups[1:], start=1)
        for piece in ((f"{names.get(number, number)} = ", None), (text or "(empty)", number), ("  ", None))
    ]
    outcome = "bad" if rewriting.failure else "good"
    template = (("\N{RIGHTWARDS ARROW} ", None), *(_template(matched) or (("gone", None),)))
    lines: tuple[tuple[Piece, ...], ...] = (((matched.label, None),), _source(matched), template, tuple(groups))
    return PathStep(title, tuple(line for line in lines if line), outcome)


def _source(rewrite: Rewrite) -> tuple[Piece, ...]:
    """Returns the source in pieces; of nested groups, a character belongs to the innermost."""
    text = rewrite.pattern.text
    owners: list[int | None] = [None] * len(text)
    for node in walk(parse(text).tree):
        if isinstance(node, Group) and node.number is not None:
            owners[node.extent.start : node.extent.end] = [node.number] * (node.extent.end - node.extent.start)
    return _pieces(text, owners)


def _template(rewrite: Rewrite) -> tuple[Piece, ...]:
    """Returns the template in pieces; what names a group belongs to it."""
    text = rewrite.template.text
    owners: list[int | None] = [None] * len(text)
    for name, start, end in rewrite.template.group_references:
        number = int(name) if name.isdecimal() else rewrite.pattern.names.get(name)
        owners[start:end] = [number] * (end - start)
    return _pieces(text, owners)


def _pieces(text: str, owners: list[int | None]) -> tuple[Piece, ...]:
    starts = [at for at in range(len(text)) if not at or owners[at] != owners[at - 1]]
    return tuple((text[start:end], owners[start]) for start, end in pairwise([*starts, len(text)]))


def _step(title: str, *lines: str, outcome: str = "") -> PathStep:
    return PathStep(title, tuple(((line, None),) for line in lines), outcome)


_MOST_GROUPS, _MOST_CHANGES = 20, 10  # that are shown: pairs of rewrites, and requests of each

_DIFFERENT = (Kind.KEY, Kind.ANSWER, Kind.ERROR)


class DraftFile(msgspec.Struct, frozen=True):
    """A rule file in force: its path, its name below the configuration, and the targets with rules in it."""

    path: str
    name: str
    targets: tuple[str, ...] = ()


class DraftGroup(msgspec.Struct, frozen=True):
    """The requests that one pair of rewrites changes, by their labels, None if no rewrite took the key.

    `times` counts all of them, `shown` are the first, each with the way to both results.
    """

    target: str
    old: str | None
    new: str | None
    times: int
    shown: tuple[tuple[Change, tuple[PathStep, ...]], ...]


class DraftResult(msgspec.Struct, frozen=True):
    """What is said of a draft: its mistakes, its tests, and the requests that it changes."""

    changes: tuple[str, ...] = ()
    diagnostics: tuple[str, ...] = ()  # with their excerpts
    unshown: int = 0  # further diagnostics
    is_broken: bool = False
    is_linted: bool = True
    tests: int = 0  # that were run
    all_tests: int = 0
    failures: tuple[str, ...] = ()
    failed: int = 0
    kept: int = 0  # requests; the time may have ended before the last ones
    kinds: Mapping[str, int] = {}  # requests by `Kind`
    groups: tuple[DraftGroup, ...] = ()

    @property
    def requests(self) -> int:
        """The number of requests that were decided again."""
        return sum(self.kinds.values())

    @property
    def hidden(self) -> int:
        """The number of requests with a difference that is not shown."""
        different = sum(self.kinds.get(kind.value, 0) for kind in _DIFFERENT)
        return different - sum(each.times for group in self.groups for each, _ in group.shown)


class DraftPage(msgspec.Struct, frozen=True):
    """The values of the page: the files to choose from, the chosen one with its text, and what is said of that."""

    files: tuple[DraftFile, ...] = ()
    file: DraftFile | None = None
    text: str | None = None  # None if it cannot be drafted
    problem: str = ""
    kept: int = 0  # requests
    most_kept: int = 0
    result: DraftResult | None = None


def draft_page(configuration: Configuration, path: str) -> DraftPage:
    """Returns the page with the file of a path as it is in force, or else with the first file."""
    folder = f"{configuration.settings.directory}/"
    targets: dict[str, dict[str, None]] = {}
    for document in configuration.rules.documents if configuration.rules else ():
        targets[document.source.name] = dict.fromkeys(block.name.value for block in document.blocks)
    sources = {each.name: each for each in configuration.snapshot.rules.files}
    files = tuple(DraftFile(name, name.removeprefix(folder), tuple(targets.get(name, ()))) for name in sources)
    chosen = next((each for each in files if each.path == path), next(iter(files), None))
    page = DraftPage(files, chosen, most_kept=configuration.settings.internal_server.kept_requests)
    if chosen is None:
        return replace(page, problem="The configuration names no rule file.")
    source = decode(chosen.path, sources[chosen.path].data)
    text = source.text if isinstance(source, SourceFile) else ""
    return replace(page, problem=_TOO_LARGE) if len(text.encode()) > LARGEST_DRAFT else replace(page, text=text)


_TOO_LARGE = f"The file is larger than {LARGEST_DRAFT // 1024} KiB: `tornado-proxy diff` compares such files."


def drafted(
    configuration: Configuration, mounts: Mounts, page: DraftPage, text: str, kept: Sequence[KeptRequest]
) -> DraftPage:
    """Returns the page with a draft of its file, and what is said of it; takes seconds at most, and writes nothing."""
    text = text.replace("\r\n", "\n")
    page = replace(page, kept=len(kept))
    if page.file is None:
        return page
    if len(text.encode()) > LARGEST_DRAFT:
        return replace(page, text=text, problem=f"The draft is larger than {LARGEST_DRAFT // 1024} KiB.")
    result = try_draft(configuration, mounts, RuleFile(page.file.path, text.encode()), kept)
    return replace(page, text=text, result=result)


def try_draft(
    in_force: Configuration,
    mounts: Mounts,
    file: RuleFile,
    kept: Sequence[KeptRequest],
    clock: Callable[[], float] = time.monotonic,
) -> DraftResult:
    """Compiles and lints a draft of a file in force, runs its tests, and decides the kept requests again by it."""
    read = in_force.snapshot.rules
    files = tuple(file if each.name == file.name else each for each in read.files)
    draft = compile_snapshot(replace(in_force.snapshot, rules=replace(read, files=files)), in_force)
    rules = draft.rules
    assert rules is not None, "a configuration in force has settings"
    unknown = tuple(unknown_targets(rules.documents, [target.name for target in draft.settings.targets]))
    is_linted = draft.rewrite_count <= MOST_LINTED
    mistakes = (*unknown, *rules.diagnostics)
    diagnostics = _linted(draft, unknown, file) if is_linted else mistakes
    ordered = sorted(diagnostics, key=lambda each: (each.severity is not Severity.ERROR, not _is_in(each.span, file)))
    result = DraftResult(
        diagnostics=tuple(_drawn(each, draft) for each in ordered[:MOST_DRAFT_DIAGNOSTICS]),
        unshown=max(0, len(ordered) - MOST_DRAFT_DIAGNOSTICS),
        is_linted=is_linted,
        kept=len(kept),
    )
    if errors(mistakes):
        return replace(result, is_broken=True)
    result = _tested(result, draft, file, clock)
    kinds, groups = _compared(mounts, draft, kept, clock)
    return replace(result, changes=tuple(changes(in_force, draft)), kinds=kinds, groups=groups)


def _linted(draft: Configuration, unknown: Sequence[Diagnostic], file: RuleFile) -> Sequence[Diagnostic]:
    """Returns what the linter says about a file in the midst of all others, with the settings beside it.

    Tests that fail are shown by themselves.
    """
    assert draft.rules is not None, "a configuration in force has settings"
    settings = LintSettings()
    with suppress(SettingsMistake):
        settings = find_settings(Path(file.name), CHECKS)
    report = lint(subject_of(draft.rules, draft.settings, unknown), CHECKS, settings)
    spans = ((each, (each.span, *(note.span for note in each.notes))) for each in report.diagnostics)
    here = [each for each, places in spans if each.span is None or any(_is_in(span, file) for span in places)]
    return [each for each in here if each.code != FAILING_TEST]


def _is_in(span: Span | None, file: RuleFile) -> bool:
    return span is not None and span.source.name == file.name


def _drawn(diagnostic: Diagnostic, draft: Configuration) -> str:
    """Draws a diagnostic as the command line does, with places relative to the configuration."""
    return render(diagnostic).replace(f"--> {draft.settings.directory}/", "--> ")


def _tested(result: DraftResult, draft: Configuration, file: RuleFile, clock: Callable[[], float]) -> DraftResult:
    """Runs the tests in the file until the time is over."""
    tests = [
        (rules, test, target_data(target))
        for target in draft.settings.targets
        if (rules := draft.rule_sets.get(target.name))
        for test in rules.tests
        if _is_in(test.statement.span, file)
    ]
    end, failed, run = clock() + DRAFT_WITHIN, list[TestOutcome](), 0
    for rules, test, data in tests:
        if clock() > end:
            break
        outcome, run = evaluate(rules, test, data), run + 1
        failed += [] if outcome.passed else [outcome]
    shown = tuple(_drawn(failure(each), draft) for each in failed[:_MOST_CHANGES])
    return replace(result, tests=run, all_tests=len(tests), failures=shown, failed=len(failed))


def _compared(
    mounts: Mounts, draft: Configuration, kept: Sequence[KeptRequest], clock: Callable[[], float]
) -> tuple[Mapping[str, int], tuple[DraftGroup, ...]]:
    """Decides requests again, the last ones first, until the time is over; returns counts by kind, and the changes."""
    end, nobody = clock() + DRAFT_WITHIN, RequestDefaults()
    drafted = mounts.of_sites(sites((each.target for each in mounts.sites), draft.rule_sets, mounts.sites))
    old, new = Simulator(mounts, nobody), Simulator(drafted, nobody)
    comparison = Comparison(old, new, _MOST_CHANGES)
    for request, times in Counter(logged(each) for each in reversed(kept) if each.target in old.sites).items():
        if clock() > end:
            break
        comparison.add(request, times)
    groups = []
    for cause, group in comparison.groups[:_MOST_GROUPS]:
        before, after = (each.label if each else None for each in comparison.rewrites(cause))
        shown = ((each, tuple(_ways(each, old, new))) for each in group.examples)
        groups.append(DraftGroup(cause.target, before, after, group.times, tuple(shown)))
    return {kind.value: count for kind, count in comparison.kinds.items()}, tuple(groups)


def _ways(change: Change, old: Simulator, new: Simulator) -> Iterator[PathStep]:
    """Yields how the rules in force and those of the draft came to their results."""
    for title, server in (("in force", old), ("draft", new)):
        decision = server.ask(change.request)
        if decision.match is not None and (applied := trace(decision)) is not None:
            yield rewrite_step(title, applied, len(decision.match.site.rules.counted))
