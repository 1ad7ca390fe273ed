"""Redirects that lead to a redirect, to an address that is gone, or round, and lines of lists without effect.

Redirects are followed from real addresses: those of lists and tests, an example for each source, and those that its
results share with other sources. So what is found is true, and what no such address shows is not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import NamedTuple

from gotemplate.regexp.automaton import Budget, Exhausted, language
from gotemplate.regexp.proofs import Example, OverlapCandidates, overlap
from gotemplate.regexp.syntax import Group, Node, walk
from tornado_proxy.lint import check as findings
from tornado_proxy.lint.check import Category, LintFinding, check, named, offer, shown
from tornado_proxy.lint.limits import EARLIER_SHOWN, LOOP_STEPS, MOST_HOPS
from tornado_proxy.lint.shapes import constant
from tornado_proxy.lint.subject import Hop, Identity, Subject, TargetRules, column, identity, place_of, place_of_result
from tornado_proxy.rules.diagnostic import Edit, Fix, Note, Safety, Severity, counted
from tornado_proxy.rules.model import AddressList, ListedAddress, Rewrite, Rule, line_span
from tornado_proxy.rules.tree import RuleKind
from tornado_proxy.templates.template import PlainTemplate


class _Trail(NamedTuple):
    """The hops from an address, as many as browsers follow, and where they begin again; None if they end."""

    hops: Sequence[Hop]
    again: int | None = None


@check(Category.MISTAKES, Severity.ERROR)
def redirect_loop(subject: Subject) -> Iterator[LintFinding]:
    """Redirects that lead to themselves, round, or on without end."""
    for target in subject.comparable:
        seen: set[Identity] = set()
        for trail in (*_trails(target), *(_trail(target, key) for key in _shared(target))):
            if trail.again is None or not seen.isdisjoint(identity(trail.hops[at].rule) for at in (0, -1)):
                continue
            again = _without_end(trail.hops) if trail.again == MOST_HOPS else trail.hops[trail.again :]
            seen.update(identity(each.rule) for each in again)
            closed = again[-1].following == again[0].key
            # Two addresses may each redirect to the other if nothing is there: a page was moved and came back.
            moved_back = any(
                each.moved.if_missing and (isinstance(each.rule, ListedAddress) or constant(each.rule) is not None)
                for each in again
            )
            if not (closed and len(again) > 1 and moved_back):
                yield _loop(again, closed=closed)


def _loop(again: Sequence[Hop], *, closed: bool) -> LintFinding:
    first, conditional = again[0], any(each.moved.if_missing for each in again)
    where = ", where nothing is there" if conditional else ""
    if len(again) == 1:
        message, advice = f"{shown(first.key)} is redirected to itself{where}", "let it lead to where the page is"
        return LintFinding(message, place_of_result(first.rule), f"{advice}, or delete it")
    way = [shown(each.key) for each in again[:EARLIER_SHOWN]]
    way += ["…"] * (len(again) > EARLIER_SHOWN) + [shown(first.key)] * closed
    message = f"redirects lead {'round' if closed else 'on without end'}{where}: {' -> '.join(way)}"
    others = {identity(each.rule): each for each in again[1:] if each.rule is not first.rule}
    notes = tuple(
        Note(f"{named(each.rule)} takes {shown(each.key)}", place_of(each.rule))
        for each in [*others.values()][:EARLIER_SHOWN]
    )
    advice = "let one of them lead to where the page is, or delete it"
    severity = Severity.WARNING if conditional else None
    return LintFinding(message, place_of_result(first.rule), advice, notes, severity=severity)


def _without_end(hops: Sequence[Hop]) -> Sequence[Hop]:
    """Returns the hops from the first by a rule that comes again."""
    count = Counter(identity(each.rule) for each in hops)
    return hops[next((at for at, each in enumerate(hops) if count[identity(each.rule)] > 1), 0) :]


def _trails(target: TargetRules) -> Iterator[_Trail]:
    """Yields what follows from each line that redirects, and from the known keys of each redirect."""
    for each in target.rule_set.lists:
        for address, line in each if each.kind is RuleKind.REDIRECT else ():
            trail = _trail(target, address)
            if trail.hops and identity(trail.hops[0].rule) == identity(line):
                yield trail
    for rewrite in target.rewrites:
        if rewrite.kind is RuleKind.REDIRECT:
            example, tests = target.example(rewrite), target.tested.get(rewrite.number, ())
            keys = dict.fromkeys((*([example] if example is not None else []), *(each.test.key for each in tests)))
            yield from (trail for key in keys if (trail := _trail(target, key)).hops)


def _trail(target: TargetRules, key: str) -> _Trail:
    hops: dict[tuple[str, str], Hop] = {}
    asked, query = key, ""
    while hop := target.hop(asked, query):
        if (asked, query) in hops:
            return _Trail([*hops.values()], [*hops].index((asked, query)))
        if len(hops) == MOST_HOPS:
            return _Trail([*hops.values()], MOST_HOPS)
        hops[asked, query] = hop
        if hop.following is None or hop.moved.location is None:
            break
        asked, query = hop.following, hop.moved.location.query[1:] or (query if hop.moved.keeps_query else "")
    return _Trail([*hops.values()])


def _shared(target: TargetRules) -> Iterator[str]:
    """Yields keys to which a redirect may lead, and which a redirect takes."""
    moving = [each for each in target.rewrites if each.kind is RuleKind.REDIRECT]
    sources = {each.pattern.text: target.source(each) for each in moving}
    images = dict.fromkeys(text for each in moving if (text := _image(each, target.source(each).tree)))
    languages = [*sources.values(), *map(language, images)]
    candidates, budget = OverlapCandidates(languages), Budget(LOOP_STEPS)
    moved = range(len(sources))
    with suppress(Exhausted):
        for number in range(len(moved), len(languages)):
            for other in candidates.find(number, moved):
                budget.spend(1)
                answer = overlap(languages[number], languages[other], budget.portion())
                if isinstance(answer, Example):
                    yield answer.key


_OPENING = re.compile(r"\((?:\?P?<\w+>)?")


def _image(rewrite: Rewrite, tree: Node | None) -> str | None:
    """Returns a source of all keys to which a redirect may lead; None if its template is not that simple."""
    template = rewrite.template
    if tree is None or not isinstance(template, PlainTemplate) or not template.holes:
        return None
    if not template.opening.startswith("/") or re.search(r"[?#%]", template.text):
        return None
    bodies = {
        name: _OPENING.sub("(?:", rewrite.pattern.text[slice(*each.extent)], count=1)
        for each in walk(tree)
        if isinstance(each, Group) and each.number is not None
        for name in (each.number, each.name)
    }
    parts = (f"{bodies.get(group, '')}{re.escape(following)}" for group, following in template.holes)
    return f"^{re.escape(template.opening)}{''.join(parts)}$"


@check(Category.DOUBTS, Severity.INFO)
def redirect_chain(subject: Subject) -> Iterator[LintFinding]:
    """A redirect to an address that is redirected again."""
    for trail, last in _ending(subject):
        if last.moved.location is not None:
            first = trail[0]
            once, again = _location(first), _location(last)
            message = f"{shown(first.key)} is redirected to {once}, which is redirected to {again}"
            advice = f"lead to {again} at once: each redirect costs a request"
            notes = tuple(Note(f"{named(each.rule)} is here", place_of(each.rule)) for each in trail[1:2])
            own, location = first.moved.location, last.moved.location
            plain = own is not None and not (own.query or own.fragment)
            alike = {(each.moved.keeps_query, each.moved.status in (301, 308)) for each in trail}
            # The last location stands for all hops only if they do nothing else together.
            is_all = isinstance(first.rule, ListedAddress) and plain and len(alike) == 1
            fixes = offer(f"write `{location}`", (Edit(place_of_result(first.rule), str(location)),) if is_all else ())
            yield LintFinding(message, place_of_result(first.rule), advice, notes, fixes)


@check(Category.DOUBTS, Severity.WARNING)
def redirect_to_gone(subject: Subject) -> Iterator[LintFinding]:
    """A redirect to an address that is gone."""
    for trail, last in _ending(subject):
        if last.moved.location is None:
            first = trail[0]
            message = f"{shown(first.key)} is redirected to {shown(last.key)}, which is gone"
            notes = (Note(f"{named(last.rule)} is here", place_of(last.rule)),)
            advice = "say that it is gone, too, or lead to another address"
            yield LintFinding(message, place_of_result(first.rule), advice, notes)


def _ending(subject: Subject) -> Iterator[tuple[Sequence[Hop], Hop]]:
    """Yields the trails of several hops that end, one for each rule, with the last hop.

    Where nothing but the first hop depends on what is there: else a client is rarely led on.
    """
    for target in subject.comparable:
        seen: set[Identity] = set()
        for hops, again in _trails(target):
            if again is not None or len(hops) == 1 or any(each.moved.if_missing for each in hops[1:]):
                continue
            if (first := identity(hops[0].rule)) not in seen:
                seen.add(first)
                yield hops, hops[-1]


def _location(hop: Hop) -> str:
    return shown(str(hop.moved.location))


@check(Category.MISTAKES, Severity.WARNING)
def shadowed_line(subject: Subject) -> Iterator[LintFinding]:
    """A line of a list that has no effect, because an earlier statement takes its address."""
    for target in subject.comparable:
        for each in target.rule_set.lists:
            shadows = list(_shadows(target, each))
            if not shadows:
                continue
            takers = {rule.number: rule for _, rule in shadows}
            by = findings.listed(map(named, takers.values()))
            verb = "comes first and takes" if len(takers) == 1 else "come first and take"
            several = counted(len(shadows), "address", "addresses")
            addresses = "every address" if len(shadows) == len(each.lines) else several
            line, taker = shadows[0]
            message = f"{by} {verb} {addresses} of this list, such as {shown(column(line, 0).text)}"
            first = shadows[:EARLIER_SHOWN]
            notes = tuple(Note(f"{named(rule)} takes this address", shadow.span) for shadow, rule in first)
            advice, fixes = "delete these lines, or move the list up", tuple[Fix, ...]()
            # Moved above another list, it could take that one's addresses.
            is_next = not any(taker.number < other.number < each.number for other in target.rule_set.lists)
            if len(takers) == 1 and isinstance(taker, Rewrite) and is_next:
                title = f"move the list above {named(taker)}"
                advice = f"delete these lines, or {title}"
                fixes = offer(title, findings.moved(each.statement, taker.statement))
            yield LintFinding(message, each.statement.file.span, advice, notes, fixes)


def _shadows(target: TargetRules, of: AddressList) -> Iterator[tuple[ListedAddress, Rule]]:
    """Yields the lines whose address an earlier statement takes, in capitals too where case does not count."""
    for address, line in of:
        forms = (address, address.upper()) if of.statement.any_case else (address,)
        takers = [target.rule_set.taker(form) for form in forms]
        rule = takers[0]
        if rule is not None and all(each is not None and each.number < of.number for each in takers):
            yield line, rule


@check(Category.MISTAKES, Severity.WARNING)
def double_line(subject: Subject) -> Iterator[LintFinding]:
    """An address that stands twice in a list: the first line counts."""
    named_by = Counter(each.source.name for each in subject.lists)
    seen: set[tuple[str, int, int]] = set()
    for each in subject.lists:
        for later, earlier in each.doubles:
            if (line := (each.source.name, later, earlier)) in seen:
                continue  # another statement names the list
            seen.add(line)
            span, first = line_span(each.source, later), line_span(each.source, earlier)
            (address, *says), comment = _columns(span.text), " #" in span.text.replace("\t", " ")
            same = says == _columns(first.text)[1:]
            message = f"{shown(address)} stands in line {earlier} already, which counts"
            advice = "delete this line: the other one says the same" if same else "delete one of the two"
            alone = named_by[each.source.name] == 1
            safety = Safety.SAFE if same and alone and not comment else Safety.UNSAFE
            fixes = offer("delete the line", (Edit(span.whole_lines(), ""),), safety)
            yield LintFinding(message, span, advice, (Note("the first is here", first),), fixes)


def _columns(line: str) -> list[str]:
    return [*takewhile(lambda word: not word.startswith("#"), line.split())]
