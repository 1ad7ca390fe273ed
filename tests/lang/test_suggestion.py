from __future__ import annotations

import pytest

from tornado_proxy.lang.suggestion import did_you_mean

KEYWORDS = ("target", "rewrite", "test")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("rewrit", "rewrite"),
        ("tagret", "target"),
        ("REWRITE", "rewrite"),
        ("tset", "test"),
        ("location", None),
        ("", None),
    ],
)
def test_closest_candidate_is_suggested(word, meant):
    """A word close to a candidate is taken for it, in any case; any other word for none."""
    assert did_you_mean(word, KEYWORDS) == meant


def test_suggestion_keeps_the_candidates_case():
    """The candidate comes back as it is written."""
    assert did_you_mean("indexdocument", ["indexDocument"]) == "indexDocument"


def test_endless_word_is_close_to_nothing():
    """A word longer than any keyword is not even compared."""
    assert did_you_mean("rewrite" * 100, KEYWORDS) is None
