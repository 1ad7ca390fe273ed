"""Proofs about sources by their automata, without the shortcuts of the product."""

from functools import cache, reduce
from itertools import pairwise
from operator import or_

from gotemplate.regexp.automaton import EDGE, GAP_ASSERTIONS, Budget, Unproved, Unsupported, bits, side
from gotemplate.regexp.classes import contains
from gotemplate.regexp.matching import compile_pattern
from gotemplate.regexp.proofs import Unknown, _reach

pattern_of = cache(compile_pattern)


def covered(earlier, later, budget=None):
    """Whether earlier sources together match every key that a later source matches; None if that is unknown."""
    budget = budget or Budget()
    treatable = {index: language for index, language in enumerate(earlier) if is_treatable(language)}

    def first_match(key):
        match = next((index for index, language in treatable.items() if pattern_of(language.text).search(key)), None)
        if match is None and len(treatable) < len(earlier):
            raise Unsupported("an earlier expression cannot be treated exactly")
        return match

    try:
        return _reach(earlier, later, first_match, budget)
    except Unproved as error:
        return Unknown(str(error))


def is_treatable(language):
    """Whether an expression can be treated exactly."""
    try:
        language.automaton  # noqa: B018 - the property raises
    except Unsupported:
        return False
    return True


def finds(source, text):
    """Whether the automaton of an expression finds it in a text that begins with `/`, even in an invalid key."""
    automaton, held = source.automaton, 0
    sides = [EDGE, *map(side, text), EDGE]
    for (before, after), character in zip(pairwise(sides), (*text, ""), strict=True):
        whole, follow = automaton.table(GAP_ASSERTIONS[before][after])
        if whole.matches_after(held):
            return True
        ahead = reduce(or_, (follow[each] for each in bits(held)), whole.first)
        reading = [ranges for ranges in automaton.positions_by_set if character and contains(ranges, ord(character))]
        held = ahead & sum(automaton.positions_by_set[ranges] for ranges in reading)
    return False
