"""Proofs about sources by their automata alone, without the shortcuts of the product."""

from tornado_proxy.golang.regexp.alphabet import Budget, Unsupported
from tornado_proxy.golang.regexp.proofs import Unknown, Unproved, _reach


def covered(earlier, later, budget=None):
    """Whether earlier sources together match every key that a later source matches; None if that is unknown."""
    budget = budget or Budget()
    treatable = {index: language for index, language in enumerate(earlier) if is_treatable(language)}

    def first_match(key):
        match = next((index for index, language in treatable.items() if language.finds(key, budget)), None)
        if match is None and len(treatable) < len(earlier):
            raise Unsupported("an earlier expression cannot be treated exactly")
        return match

    try:
        return _reach(earlier, later, first_match, (), budget)
    except Unproved as error:
        return Unknown(str(error))


def is_treatable(language):
    """Whether an expression can be treated exactly."""
    try:
        language.automaton  # noqa: B018 - the property raises
    except Unsupported:
        return False
    return True
