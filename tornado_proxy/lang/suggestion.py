"""The word that was probably meant, for every "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable

# Nobody mistypes a keyword of this length; difflib's time grows with it.
_LONGEST = 64
_CLOSE_ENOUGH = 0.65


def did_you_mean(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate closest to a word, in any case; None where none is close."""
    if len(word) > _LONGEST:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - a good file needs no suggestion, and starts sooner

    folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(word.casefold(), folded, n=1, cutoff=_CLOSE_ENOUGH)
    return folded[close[0]] if close else None
