"""What a proof says of one source after others, judged by their automata alone."""

from tornado_proxy.goregex.alphabet import Budget, Unsupported
from tornado_proxy.goregex.proofs import _or_unknown, _reach


def covered(earlier, later, budget=None):
    """Whether earlier sources, one or several together, take every real key that a later one could."""
    spent = budget or Budget()
    treatable = {index: each for index, each in enumerate(earlier) if is_treatable(each)}

    def taker(key):
        found = next((index for index, each in treatable.items() if each.finds(key, spent)), None)
        if found is None and len(treatable) < len(earlier):
            raise Unsupported("an earlier expression cannot be treated exactly")
        return found

    return _or_unknown(lambda: _reach(earlier, later, taker, (), spent))


def is_treatable(language):
    """Whether an expression can be treated exactly."""
    try:
        language.automaton  # noqa: B018 - it raises
    except Unsupported:
        return False
    return True
