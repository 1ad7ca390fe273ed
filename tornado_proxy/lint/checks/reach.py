"""Checks of rewrites that take no key: no key matches the source, or earlier rewrites take every key that does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gotemplate.regexp.alphabet import Budget
from gotemplate.regexp.automaton import language
from gotemplate.regexp.proofs import Covered, Example, NoKey, reach_of, shortest_key
from tornado_proxy.lint import check as findings
from tornado_proxy.lint.check import Category, LintFinding, check, listed, named, offer
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.diagnostic import Note, Safety, Severity
from tornado_proxy.rules.literals import undelimited
from tornado_proxy.rules.model import Rewrite
from tornado_proxy.rules.tree import Literal

_STEPS = 100_000  # for all targets together: of the search for missing slashes, and of comparing sources

_KEYS = (
    "a key begins with `/`, has no `.` or `..` as a segment and no control character, and is at most 1024 bytes long"
)


@check(Category.MISTAKES, Severity.ERROR)
def unmatchable_source(subject: Subject) -> Iterator[LintFinding]:
    """A source that no key can match."""
    budget = Budget(_STEPS)
    for rewrite, target, index in subject.rewrites:
        if isinstance(target.reaches[index], NoKey):
            yield _unmatchable(rewrite.statement.source, budget)


def _unmatchable(source: Literal, budget: Budget) -> LintFinding:
    meant = undelimited(source.value)
    if meant is not None and _has_key(meant, budget):
        fixes = offer("remove the slashes around it", findings.reworded(source, 0, len(source.value), meant))
        message = "no key can match this: the slashes around it are part of the source"
        return LintFinding(message, source.span, f"write `{meant}`", fixes=fixes)
    slashed = f"^/{source.value[1:]}"
    if source.value.startswith("^") and _has_key(slashed, budget):
        fixes = offer("write the slash", findings.inserted(source, 1, "/"))
        message = "no key can match this: every key begins with `/`"
        return LintFinding(message, source.span, f"write `{slashed}`", fixes=fixes)
    return LintFinding("no key can match this", source.span, _KEYS)


def _has_key(text: str, budget: Budget) -> bool:
    return isinstance(shortest_key(language(text), budget.portion()), Example)


@check(Category.MISTAKES, Severity.ERROR)
def duplicate_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A source that an earlier rewrite has: the second one is never reached."""
    for target in subject.comparable:
        first: dict[str, Rewrite] = {}
        for rewrite in target.rewrites:
            earlier = first.setdefault(rewrite.pattern.text, rewrite)
            if earlier is not rewrite:
                yield _duplicate(rewrite, earlier)


def _duplicate(rewrite: Rewrite, earlier: Rewrite) -> LintFinding:
    same = (rewrite.dialect, rewrite.template.text) == (earlier.dialect, earlier.template.text)
    says_more = rewrite.name or findings.comments_of(rewrite.statement)
    message = f"{named(earlier)} has the same source and takes every key"
    advice = "delete this rewrite: the other one does the same" if same else "delete one of the two"
    note = Note(f"{named(earlier)} comes first", earlier.statement.source.span)
    safety = Safety.SAFE if same and not says_more else Safety.UNSAFE
    fixes = offer("delete it", findings.removed(rewrite.statement), safety)
    return LintFinding(message, rewrite.statement.source.span, advice, (note,), fixes)


@check(Category.MISTAKES, Severity.WARNING)
def unreachable_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite that no key reaches, because earlier ones take every key that it matches."""
    budget = Budget(_STEPS)
    for target in subject.comparable:
        seen: set[str] = set()
        for index, reach in enumerate(target.reaches):
            text = target.rewrites[index].pattern.text
            # The same source again is a duplicate rewrite.
            if isinstance(reach, Covered) and text not in seen:
                yield _unreachable(target, index, reach.by, budget)
            seen.add(text)


def _unreachable(target: TargetRules, index: int, by: Sequence[int], budget: Budget) -> LintFinding:
    rewrite = target.rewrites[index]
    takers = [target.rewrites[each] for each in by]
    verb = "takes" if len(takers) == 1 else "together take"
    message = f"no key reaches this rewrite: {listed(map(named, takers))} {verb} every key that it matches"
    notes = tuple(Note(f"{named(each)} comes first", each.statement.source.span) for each in takers)
    if len(by) == 1 and _swaps(target, by[0], index, budget):
        return LintFinding(message, rewrite.statement.source.span, "delete one of the two", notes)
    title = f"move it above {named(takers[0])}"
    fixes = offer(title, findings.moved(rewrite.statement, takers[0].statement)) if len(takers) == 1 else ()
    return LintFinding(message, rewrite.statement.source.span, f"{title} or delete it", notes, fixes)


def _swaps(target: TargetRules, taker: int, index: int, budget: Budget) -> bool:
    """Returns whether no key would reach the rewrite that takes all keys if the other one stood above it."""
    moved_pattern, taking = target.rewrites[index].pattern, target.rewrites[taker].pattern
    example = target.example(taker)
    if example and not moved_pattern.search(example):
        return False

    def first(key: str) -> int | None:
        now = target.taker(key)
        if now is not None and now < taker:
            return now
        if moved_pattern.search(key):
            return taker
        return taker + 1 if taking.search(key) else None

    languages = [*target.languages[:taker], target.languages[index], target.languages[taker]]
    return isinstance(reach_of(languages, taker + 1, first, budget.portion()), Covered)
