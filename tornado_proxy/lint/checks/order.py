"""Checks of rewrites that affect one another: overlapping ones, chains of them, and ones without effect."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from gotemplate.regexp.alphabet import Budget
from gotemplate.regexp.automaton import Language
from gotemplate.regexp.proofs import Example, NoKey, Overlap, OverlapCandidates, difference, overlap, overlaps
from gotemplate.regexp.syntax import Assertion, Group, Node, Sequence, Text
from tornado_proxy.lint.check import Category, LintFinding, check, named, shown
from tornado_proxy.lint.shapes import ends_anchored, open_start, starts_anchored, takes_anything
from tornado_proxy.lint.subject import Subject, TargetRules
from tornado_proxy.rules.diagnostic import Note, Severity
from tornado_proxy.rules.model import Rewrite, Rewritten
from tornado_proxy.templates.template import PlainTemplate

_OVERLAP_STEPS = 400_000  # for each target
_EFFECT_STEPS = 300_000  # for each target
_SHOWN = 3  # earlier rewrites in the notes of a finding

_Pieces = list[str | int]  # text and the numbers of groups, in order


@check(Category.DOUBTS, Severity.INFO)
def overlapping_rewrites(subject: Subject) -> Iterator[LintFinding]:
    """Two rewrites that match the same key, so their order decides."""
    for target in subject.comparable:
        for later, pairs in _doubtful(target).items():
            yield _overlapping(target, later, pairs)


def _doubtful(target: TargetRules) -> Mapping[int, list[Overlap]]:
    """Returns the pairs whose order may surprise, by the later rewrite."""
    budget = Budget(_OVERLAP_STEPS)
    doubtful: dict[int, list[Overlap]] = {}
    for pair in _pairs(target, budget):
        # An unreachable rewrite has a finding of its own, and a key that a third rewrite takes shows nothing.
        shows = target.example(pair.other) is not None and target.taker(pair.key) == pair.one
        tests = target.tested.get(target.rewrites[pair.one].number, ())
        if not shows or any(target.rewrites[pair.other].pattern.search(each.test.key) for each in tests):
            continue  # a test pins the order
        one, other = target.languages[pair.one], target.languages[pair.other]
        if isinstance(difference(one, other, budget.portion()), Example):
            doubtful.setdefault(pair.other, []).append(pair)
    return doubtful


def _pairs(target: TargetRules, budget: Budget) -> Iterator[Overlap]:
    """Yields the pairs of anchored sources that share a key."""
    anchored = [n for n, each in enumerate(target.languages) if each.tree is not None and not open_start(each.tree)]
    patterns = [target.rewrites[number].pattern for number in anchored]
    languages = [target.languages[number] for number in anchored]
    for one, other, key in overlaps(languages, lambda index, key: patterns[index].search(key) is not None, budget):
        yield Overlap(anchored[one], anchored[other], key)


def _overlapping(target: TargetRules, later: int, pairs: list[Overlap]) -> LintFinding:
    first, key = named(target.rewrites[pairs[0].one]), shown(pairs[0].key)
    come = f"and {len(pairs) - 1} more come first and take" if len(pairs) > 1 else "comes first and takes"
    earlier = [(target.rewrites[pair.one], pair.key) for pair in pairs[:_SHOWN]]
    notes = tuple(Note(f"{named(one)} takes {shown(taken)}", one.statement.source.span) for one, taken in earlier)
    message = f"{first} {come} keys that this source also matches, such as {key}"
    advice = "if the order is meant, pin it with a test of that key; if not, narrow one of the two"
    return LintFinding(message, target.rewrites[later].statement.source.span, advice, notes)


@check(Category.DOUBTS, Severity.INFO)
def chained_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A result that another rewrite matches, though a key is rewritten only once."""
    for target in subject.comparable:
        for index in range(len(target.rewrites)):
            findings = (_chained(target, index, key, result) for key, result in _rewritten(target, index))
            yield from islice(filter(None, findings), 1)


def _rewritten(target: TargetRules, index: int) -> Iterator[tuple[str, str]]:
    """Yields keys that a rewrite takes, with their results."""
    key = target.example(index)
    if key is not None and (result := target.result(key)) is not None:
        yield key, result
    for outcome in target.tested.get(target.rewrites[index].number, ()):
        if isinstance(outcome.got, Rewritten):
            yield outcome.test.key, outcome.got.key


def _chained(target: TargetRules, index: int, key: str, result: str) -> LintFinding | None:
    """Returns the finding for a key, if another rewrite matches its result and did not match the key itself."""
    taker = target.taker(result)
    if taker is None or taker == index or target.rewrites[taker].pattern.search(key):
        return None
    other = target.rewrites[taker]
    message = f"{shown(key)} becomes {shown(result)}, which {named(other)} matches but does not rewrite again"
    note = Note(f"{named(other)} is here", other.statement.source.span)
    advice = "a key is rewritten once: if it is to go on, write the final key here"
    return LintFinding(message, target.rewrites[index].statement.template.span, advice, (note,))


@check(Category.DOUBTS, Severity.WARNING)
def no_effect(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite whose result is always the key itself."""
    for target in subject.comparable:
        idle = {index for index, each in enumerate(target.languages) if _repeats(target.rewrites[index], each)}
        for index in sorted(idle - _shielding(target, idle)):
            message = "the result is always the key itself"
            advice = "delete it, or move it above the rewrite that should not take these keys"
            yield LintFinding(message, target.rewrites[index].span, advice)


def _repeats(rewrite: Rewrite, source: Language) -> bool:
    tree, template = source.tree, rewrite.template
    if tree is None or not isinstance(template, PlainTemplate) or not starts_anchored(tree):
        return False
    nodes = tree.pieces if isinstance(tree, Sequence) else (tree,)
    last = nodes[-1].body if nodes and isinstance(nodes[-1], Group) else nodes and nodes[-1]
    if not (ends_anchored(tree) or (last and takes_anything(last))):
        return False
    pieces: _Pieces = []
    _add(pieces, template.opening)
    for group, following in template.holes:
        number = group if isinstance(group, int) else rewrite.pattern.names.get(group)
        if number is not None:
            pieces.append(number)
        _add(pieces, following)
    return pieces in ([0], _source_pieces(nodes))


def _source_pieces(nodes: tuple[Node, ...]) -> _Pieces | None:
    """Returns the text and the groups that a source consists of; None if it has other pieces."""
    pieces: _Pieces = []
    for node in nodes:
        match node:
            case Assertion():
                continue
            case Text(folded=False):
                _add(pieces, node.characters)
            case Group(number=int() as number):
                pieces.append(number)
            case _:
                return None
    return pieces


def _add(pieces: _Pieces, text: str) -> None:
    if pieces and isinstance(pieces[-1], str):
        pieces[-1] += text
    elif text:
        pieces.append(text)


def _shielding(target: TargetRules, idle: Collection[int]) -> set[int]:
    """Returns which of some rewrites take a key that a later rewrite may match."""
    shielding: set[int] = set()
    if not idle:
        return shielding
    languages, budget = target.languages, Budget(_EFFECT_STEPS)
    later = OverlapCandidates(languages)
    for index in reversed(range(len(languages))):
        candidates = later.find(index) if index in idle else ()
        answers = (overlap(languages[index], languages[each], budget.portion()) for each in candidates)
        if not all(isinstance(answer, NoKey) for answer in answers):
            shielding.add(index)
        later.add(index)
    return shielding
