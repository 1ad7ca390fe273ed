import pytest

from tornado_proxy.lint.automata import Budget, Overlap, language, overlaps
from tornado_proxy.lint.automata.pairs import closing, in_one_case, opening
from tornado_proxy.rules.patterns import compile_pattern


def _finder(texts):
    patterns = {number: compile_pattern(text) for number, text in enumerate(texts) if not text.startswith("(?=")}
    return lambda index, key: patterns[index].search(key) is not None


def _overlaps(*texts, steps=100_000):
    return [*overlaps([language(text) for text in texts], _finder(texts), Budget(steps))]


def test_pairs_are_told_with_a_key():
    """Every pair that shares a key is told once, by the order of the later one, with a real key of both."""
    assert _overlaps("^/a/", "^/b/", "^/[ab]/x", r"\.html$") == [
        Overlap(0, 2, "/a/x"),
        Overlap(1, 2, "/b/x"),
        Overlap(0, 3, "/a/.html"),
        Overlap(1, 3, "/b/.html"),
        Overlap(2, 3, "/a/x.html"),
    ]


def test_pairs_of_which_nothing_is_known_are_passed_over():
    """An expression that cannot be treated is in no pair, and the others are told."""
    assert _overlaps("(?=a)", "^/a", "a{900}b{900}c{900}$", "^/") == [Overlap(1, 3, "/a")]


def test_what_is_guessed_needs_no_automaton():
    """Of a pair that cannot be treated a key may still come to mind, and the matcher knows whether it is one."""
    assert _overlaps("^/a|a{900}b{900}c{900}$", "^/") == [Overlap(0, 1, "/a")]


def test_the_budget_is_for_all_pairs():
    """When the steps are used up, no further pair is told."""
    texts = [f"a{number}" for number in range(50)]
    assert 0 < len(_overlaps(*texts, steps=1000)) < len(_overlaps(*texts, steps=1_000_000)) == 50 * 49 // 2


def test_different_openings_cost_nothing():
    """Pairs whose keys begin differently, or end differently, are not looked at."""
    texts = [f"^/{number}/" for number in range(100, 300)] + [rf"^/a.*\.{number}$" for number in range(100, 300)]
    assert _overlaps(*texts, steps=1) == []


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [
        ("^/a/b", "/a/b", ""),
        (r"^/a\.(b)+", "/a.", ""),
        ("(?i)^/A[b]", "/a", ""),
        ("(?i)^/É", "/", ""),
        (r"(?i)/x\.PNG$", "", "/x.png"),
        ("(?m)^/(a)$", "/a", "/a"),
        (r"\A/ab?", "/a", ""),
        ("^/a|^/b", "", ""),
        ("/a", "", ""),
        ("", "", ""),
        ("(?=a)", "", ""),
    ],
)
def test_openings_and_closings_are_the_certain_texts(text, begin, end):
    """What stands plainly between an anchor and anything else, in one case."""
    assert (opening(language(text)), closing(language(text))) == (begin, end)


def test_one_case_is_that_of_all_forms_of_a_letter():
    """Letters of ASCII lose their case, and so do the two letters that are a case of them."""
    assert in_one_case("AzK\u017f\u212aÉ") == "azkskÉ"
