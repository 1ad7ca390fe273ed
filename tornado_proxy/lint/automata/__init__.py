r"""What can be proved of rewrites' sources, by automata over real keys: which keys they find, and which never.

Nouns: a *language* is the set of real keys in which a source is found; a real key starts with `/` and holds what
`rules.keys` lets through; an *automaton* reads a key a *letter* at a time, where a letter stands for all characters
that no expression involved tells apart; a *gap* lies before, between and after a key's characters, and is where `^`,
`$` and `\b` look both ways; a *budget* bounds the work, in steps and not in seconds, so that answers never change.

An answer is proved or it is `Unknown`. An example is a real key, short and in everyday characters.

    >>> one, other, both = language("^/a/"), language("^/b/"), language("^/[ab]/.+$")
    >>> covered([one, other], both)
    Covered(by=(0, 1))
    >>> overlap(one, both)
    Example(key='/a/a')
    >>> difference(one, both)
    Example(key='/a/')
    >>> shortest_key(language("^docs/"))
    NoKey()

Why not a library: interegular, greenery, pyformlang and automata-lib read other syntaxes than Go's, know neither
anchors within a searched text nor word boundaries, and most list their alphabet character by character.
"""

from tornado_proxy.lint.automata.budget import Budget
from tornado_proxy.lint.automata.language import Language, language
from tornado_proxy.lint.automata.pairs import Overlap, overlaps
from tornado_proxy.lint.automata.proofs import Answer, Example, NoKey, Unknown, difference, overlap, shortest_key
from tornado_proxy.lint.automata.reach import Covered, Reach, covered, reachability

__all__ = [
    "Answer",
    "Budget",
    "Covered",
    "Example",
    "Language",
    "NoKey",
    "Overlap",
    "Reach",
    "Unknown",
    "covered",
    "difference",
    "language",
    "overlap",
    "overlaps",
    "reachability",
    "shortest_key",
]
