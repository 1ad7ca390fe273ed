"""Rewrites that affect one another, and those that take no key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from gotemplate.regexp import proofs, syntax
from gotemplate.regexp.automaton import Budget, Language, language
from gotemplate.regexp.syntax import Assertion, Group, Node, Text
from tornado_proxy.lint import check as findings
from tornado_proxy.lint.check import Category, LintFinding, check, listed, named, offer, shown
from tornado_proxy.lint.limits import EARLIER_SHOWN, EFFECT_STEPS, ORDER_STEPS, OVERLAP_STEPS
from tornado_proxy.lint.shapes import ends_anchored, open_start, starts_anchored, takes_anything
from tornado_proxy.lint.subject import Subject, TargetRules, identity, place_of, place_of_result
from tornado_proxy.rules.diagnostic import Note, Safety, Severity
from tornado_proxy.rules.model import ListedAddress, Rewrite, Rewritten, Rule
from tornado_proxy.rules.recovery import undelimited
from tornado_proxy.rules.tree import RuleKind
from tornado_proxy.templates.template import PlainTemplate

_Pieces = list[str | int]  # text and the numbers of groups, in order


@check(Category.DOUBTS, Severity.INFO)
def overlapping_rewrites(subject: Subject) -> Iterator[LintFinding]:
    """Two rewrites that match the same key, so their order decides."""
    for target in subject.comparable:
        for later, pairs in _doubtful(target).items():
            first, key = named(pairs[0][0]), shown(pairs[0][1])
            come = f"and {len(pairs) - 1} more come first and take" if len(pairs) > 1 else "comes first and takes"
            earlier = pairs[:EARLIER_SHOWN]
            notes = (Note(f"{named(one)} takes {shown(taken)}", one.statement.source.span) for one, taken in earlier)
            message = f"{first} {come} keys that this source also matches, such as {key}"
            advice = "if the order is meant, pin it with a test of that key; if not, narrow one of the two"
            yield LintFinding(message, later.statement.source.span, advice, tuple(notes))


def _doubtful(target: TargetRules) -> Mapping[Rewrite, list[tuple[Rewrite, str]]]:
    """Returns the pairs whose order may surprise, by the later rewrite."""
    budget = Budget(OVERLAP_STEPS)
    doubtful: dict[Rewrite, list[tuple[Rewrite, str]]] = {}
    trees = ((each, target.source(each).tree) for each in target.rewrites)
    anchored = [each for each, tree in trees if tree is not None and not open_start(tree)]
    languages, search = [target.source(each) for each in anchored], [each.pattern.search for each in anchored]
    for first, second, key in proofs.overlaps(languages, lambda index, key: search[index](key) is not None, budget):
        one, other = anchored[first], anchored[second]
        # An unreachable rewrite has a finding of its own, and a key that a third rewrite takes shows nothing.
        shows = target.example(other) is not None and target.rule_set.taker(key) is one
        if {one.kind, other.kind} == {RuleKind.GONE}:
            continue  # whichever it is
        if not shows or any(other.pattern.search(each.test.key) for each in target.tested.get(one.number, ())):
            continue  # a test pins the order
        if isinstance(proofs.difference(languages[first], languages[second], budget.portion()), proofs.Example):
            doubtful.setdefault(other, []).append((one, key))
    return doubtful


@check(Category.DOUBTS, Severity.WARNING)
def chained_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A result that another rewrite matches, though a key is rewritten only once."""
    for target in subject.comparable:
        taken = [*_taken(target)]
        leading = Counter(result for _, pairs in taken for result in {result for _, result in pairs})
        for rule, pairs in taken:
            for key, result in pairs:
                other = target.rule_set.taker(result)
                # Another rewrite matches the result, and did not match the key itself. A redirect is for clients:
                # from the name of a file, it may be, to the address that is rewritten to that name.
                if other is None or other.kind is not RuleKind.REWRITE or _also_takes(other, rule, key):
                    continue
                matched = f"which {named(other)} matches but does not rewrite again"
                message = f"{shown(key)} becomes {shown(result)}, {matched}"
                note = Note(f"{named(other)} is here", place_of(other))
                advice = "a key is rewritten once: if it is to go on, write the final key here"
                # What several lead to is probably there; else the other one says that it has moved on.
                severity = Severity.INFO if leading[result] > 1 else None
                yield LintFinding(message, place_of_result(rule), advice, (note,), severity=severity)
                break


def _taken(target: TargetRules) -> Iterator[tuple[Rule, list[tuple[str, str]]]]:
    """Yields what rewrites, with keys that it takes, of lines, examples and tests, and the results."""
    for each in target.rule_set.lists:
        if each.kind is RuleKind.REWRITE:
            yield from ((line, [(address, line.result_text)]) for address, line in each)
    for rewrite in target.rewrites:
        if rewrite.kind is RuleKind.REWRITE:
            example, outcomes = target.example(rewrite), target.tested.get(rewrite.number, ())
            result = target.result(example) if example is not None else None
            taken = [(example, result)] if example is not None and result is not None else []
            tested = ((each.test.key, each.got.key) for each in outcomes if isinstance(each.got, Rewritten))
            yield rewrite, [*taken, *tested]


def _also_takes(other: Rule, rule: Rule, key: str) -> bool:
    """Whether a rule is the one that took a key, or also matches it."""
    if isinstance(other, ListedAddress):
        return identity(other) == identity(rule) or other.within.find(key) == other
    return other is rule or other.pattern.search(key) is not None


@check(Category.DOUBTS, Severity.WARNING)
def no_effect(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite whose result is always the key itself."""
    message = "the result is always the key itself"
    advice = "delete it, or move it above the rewrite that should not take these keys"
    for target in subject.comparable:
        idle = {index for index, each in enumerate(target.languages) if _repeats(target.rewrites[index], each)}
        for index in sorted(idle - _shielding(target, idle)):
            yield LintFinding(message, target.rewrites[index].span, advice)
        for line in _idle_lines(target):
            yield LintFinding(message, line.span, advice)


def _idle_lines(target: TargetRules) -> Iterator[ListedAddress]:
    """Yields the lines that lead to their own address, and keep it from no later statement."""
    for each in target.rule_set.lists:
        if each.kind is RuleKind.REWRITE and not each.statement.any_case:
            for address, line in each:
                if line.result_text == address:
                    later = [other.number for other in target.rule_set.lists if other.find(address)]
                    match = target.rule_set.first_match.find(address)
                    if match:
                        later.append(target.rewrites[match[0]].number)
                    if max(later) == each.number:
                        yield line


def _repeats(rewrite: Rewrite, source: Language) -> bool:
    tree, template = source.tree, rewrite.template
    if rewrite.kind is not RuleKind.REWRITE:
        return False
    if tree is None or not isinstance(template, PlainTemplate) or not starts_anchored(tree):
        return False
    nodes = tree.pieces if isinstance(tree, syntax.Sequence) else (tree,)
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
    """Returns which of some rewrites take an address that a later list has, or a key that a later one may match."""
    shielding: set[int] = set()
    if not idle:
        return shielding
    for each in target.rule_set.lists:
        taken = (target.rule_set.first_match.find(address) for address, _ in each)
        before = (match[0] for match in taken if match and target.rewrites[match[0]].number < each.number)
        shielding.update(index for index in before if index in idle)
    languages, budget = target.languages, Budget(EFFECT_STEPS)
    candidates = proofs.OverlapCandidates(languages)
    for index in sorted(set(idle) - shielding, reverse=True):
        later = candidates.find(index, range(index + 1, len(languages)))
        answers = (proofs.overlap(languages[index], languages[each], budget.portion()) for each in later)
        if not all(isinstance(answer, proofs.NoKey) for answer in answers):
            shielding.add(index)
    return shielding


_KEYS = (
    "a key begins with `/`, has no `.` or `..` as a segment and no control character, and is at most 1024 bytes long"
)


@check(Category.MISTAKES, Severity.ERROR)
def unmatchable_source(subject: Subject) -> Iterator[LintFinding]:
    """A source that no key can match."""
    budget = Budget(ORDER_STEPS)
    for rewrite, target in subject.rewrites:
        if not isinstance(target.reach(rewrite), proofs.NoKey):
            continue
        source = rewrite.statement.source
        meant, slashed = undelimited(source.value), f"^/{source.value[1:]}"
        if meant is not None and _has_key(meant, budget):
            fixes = offer("remove the slashes around it", findings.reworded(source, 0, len(source.value), meant))
            message = "no key can match this: the slashes around it are part of the source"
            yield LintFinding(message, source.span, f"write `{meant}`", fixes=fixes)
        elif source.value.startswith("^") and _has_key(slashed, budget):
            fixes = offer("write the slash", findings.inserted(source, 1, "/"))
            message = "no key can match this: every key begins with `/`"
            yield LintFinding(message, source.span, f"write `{slashed}`", fixes=fixes)
        else:
            yield LintFinding("no key can match this", source.span, _KEYS)


def _has_key(text: str, budget: Budget) -> bool:
    return isinstance(proofs.shortest_key(language(text), budget.portion()), proofs.Example)


@check(Category.MISTAKES, Severity.ERROR)
def duplicate_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A source that an earlier rewrite has: the second one is never reached."""
    for target in subject.comparable:
        first: dict[str, Rewrite] = {}
        for rewrite in target.rewrites:
            earlier = first.setdefault(rewrite.pattern.text, rewrite)
            if earlier is rewrite:
                continue
            same = rewrite.making == earlier.making
            says_more = rewrite.name or findings.comments_of(rewrite.statement)
            message = f"{named(earlier)} has the same source and takes every key"
            advice = "delete this rewrite: the other one does the same" if same else "delete one of the two"
            note = Note(f"{named(earlier)} comes first", earlier.statement.source.span)
            safety = Safety.SAFE if same and not says_more else Safety.UNSAFE
            fixes = offer("delete it", findings.removed(rewrite.statement), safety)
            yield LintFinding(message, rewrite.statement.source.span, advice, (note,), fixes)


@check(Category.MISTAKES, Severity.WARNING)
def unreachable_rewrite(subject: Subject) -> Iterator[LintFinding]:
    """A rewrite that no key reaches, because earlier ones take every key that it matches."""
    budget = Budget(ORDER_STEPS)
    for target in subject.comparable:
        seen: set[str] = set()
        for index, reach in enumerate(target.reaches):
            text = target.rewrites[index].pattern.text
            # The same source again is a duplicate rewrite.
            is_first = text not in seen
            seen.add(text)
            rewrite = target.rewrites[index].statement
            if isinstance(reach, ListedAddress):
                message = f"no key reaches this rewrite: the list {named(reach)} has every key that it matches"
                note = Note("its line is here", reach.span)
                yield LintFinding(message, rewrite.source.span, "delete it, or the lines of the list", (note,))
            if not (isinstance(reach, proofs.Covered) and is_first):
                continue
            takers = [target.rewrites[each] for each in reach.by]
            verb = "takes" if len(takers) == 1 else "together take"
            message = f"no key reaches this rewrite: {listed(map(named, takers))} {verb} every key that it matches"
            notes = tuple(Note(f"{named(each)} comes first", each.statement.source.span) for each in takers)
            if len(takers) == 1 and not _may_move(target, reach.by[0], index, budget):
                yield LintFinding(message, rewrite.source.span, "delete one of the two", notes)
                continue
            title = f"move it above {named(takers[0])}"
            fixes = offer(title, findings.moved(rewrite, takers[0].statement)) if len(takers) == 1 else ()
            yield LintFinding(message, rewrite.source.span, f"{title} or delete it", notes, fixes)


def _may_move(target: TargetRules, taker: int, index: int, budget: Budget) -> bool:
    """Returns whether keys would reach a rewrite above the one that takes all its keys, and that one still."""
    moved, taking = target.rewrites[index].pattern, target.rewrites[taker].pattern
    if any(each.number < target.rewrites[taker].number for each in target.rule_set.lists):
        key = proofs.shortest_key(target.languages[index], budget.portion())
        if not isinstance(key, proofs.Example) or target.rule_set.taker(key.key) is not target.rewrites[taker]:
            return False  # lists, and what stands before, may have all of them
    example = target.example(target.rewrites[taker])
    if example and not moved.search(example):
        return True

    def first(key: str) -> int | None:
        match = target.rule_set.first_match.find(key)
        if match and match[0] < taker:
            return match[0]
        if moved.search(key):
            return taker
        return taker + 1 if taking.search(key) else None

    languages = [*target.languages[:taker], target.languages[index], target.languages[taker]]
    return not isinstance(proofs.reach_of(languages, taker + 1, first, budget.portion()), proofs.Covered)
