import doctest
import random
from itertools import chain

import pytest
from proving import covered

from gotemplate.limits import STEPS_PER_LIST
from gotemplate.regexp import proofs
from gotemplate.regexp.automaton import Budget, language
from gotemplate.regexp.matching import FirstMatch, compile_pattern
from gotemplate.regexp.proofs import (
    Covered,
    Example,
    NoKey,
    Overlap,
    Unknown,
    difference,
    overlap,
    overlaps,
    reachability,
    shortest_key,
)
from tornado_proxy.rules.model import objection

HARD = "^/.{1000}"


@pytest.mark.parametrize(
    "text",
    [
        "^docs/", "docs/^", "^/a$b", r"^/\.\./", r"/\.$", r"a\nb", r"[\x00-\x1f]", r"^\b/", "(?:a|b)^/", "^$",
    ],
)  # fmt: skip
def test_a_source_may_match_no_key(text):
    """A source that matches invalid keys only, or no text at all, has no key."""
    assert shortest_key(language(text)) == NoKey()


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "/"),
        ("^/docs/", "/docs/"),
        ("docs/$", "/docs/"),
        (r"\.\.", "/a.."),
        (r"/\.", "/.a"),
        (r"\bfoo\b", "/foo"),
        (r"foo\B", "/fooa"),
        (r"^/[^a-z0-9]$", "/A"),
        ("(?i)^/K$", "/k"),
    ],
)
def test_a_source_has_an_example(text, key):
    """The example is the shortest valid key that the source matches, in readable characters."""
    assert shortest_key(language(text)) == Example(key)


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        ("^/a", "b$", Example("/ab")),
        ("^/a/", "^/b/", NoKey()),
        (r"\.html$", r"\.css$", NoKey()),
        (r"^/\d+$", r"^/\w+$", Example("/0")),
        ("^/press/", "(?i)^/PRESS/$", Example("/press/")),
    ],
)
def test_an_overlap_is_a_key_of_both(one, other, answer):
    """Two sources overlap if both match a valid key."""
    assert overlap(language(one), language(other)) == answer


@pytest.mark.parametrize(
    ("special", "general", "answer"),
    [
        ("^/press/index$", "^/press/", NoKey()),
        ("^/press/", "^/press/index$", Example("/press/")),
        (r"^/\d{4}/", r"^/\w+/", NoKey()),
        (r"^/\w+/", r"^/\d{4}/", Example("/a/")),
        ("^/a.b$", r"^/a[^/]b$", Example("/a/b")),
        ("^/.*", "^/[^/]*(?:/[^/]*)*$", NoKey()),
        (r"^/\.+$", r"^/\.{3,}$", NoKey()),
    ],
)
def test_a_difference_is_a_key_of_the_first_source_only(special, general, answer):
    """A special source has no key that a general source does not match."""
    assert difference(language(special), language(general)) == answer


@pytest.mark.parametrize(
    "answer",
    [
        shortest_key(language(HARD), Budget(1000)),
        overlap(language(HARD), language("a"), Budget(1000)),
        difference(language(HARD), language("a"), Budget(1000)),
        shortest_key(language("(?=a)")),
        shortest_key(language("^/a{1000}.{25}")),
        overlap(language("a"), language("(?:.{1000}){3}")),
    ],
)
def test_a_question_without_a_proof_is_unknown(answer):
    """A question without enough budget, or about an untreatable source, is unknown for a reason."""
    assert isinstance(answer, Unknown)
    assert answer.reason


def _first_match(texts):
    matcher = FirstMatch([compile_pattern(text) for text in texts])
    return lambda key: match[0] if (match := matcher.find(key)) else None


def _covered(*texts):
    *earlier, later = map(language, texts)
    return covered(earlier, later)


def _reachability(*texts, steps=STEPS_PER_LIST):
    return reachability([language(text) for text in texts], _first_match(texts), Budget(steps))


@pytest.mark.parametrize(
    ("texts", "answer"),
    [
        (["^/a/"], Example("/a/")),
        (["^/", "^/a/"], Covered((0,))),
        (["^/a/", "^/"], Example("/")),
        (["^/[a-m]", "^/[n-z]", "^/[a-z]+$"], Covered((0, 1))),
        (["^/[a-m]", "^/[n-y]", "^/[a-z]+$"], Example("/z")),
        (["^/x", "^/a/", "^/y", "^/b/", r"^/[ab]/.*\.html$"], Covered((1, 3))),
        (["^/[^/]+$", "^/[^/]*/", "^/.+"], Covered((0, 1))),
        (["^/[^/]+$", "^/.+/", "^/.+"], Example("//")),
        (["/$", "[^/]$", "x"], Covered((0, 1))),
        ([r"\w$", r"\W$", r"\B"], Covered((0, 1))),
        (["(?i)^/straße", "^/STRASSE", "^/Straße$"], Covered((0,))),
        (["^docs/"], NoKey()),
        (["^/", "^docs/"], NoKey()),
    ],
)
def test_a_source_is_reached_or_covered(texts, answer):
    """The last source of a list is reached by a key, covered by one or several before it, or has no key."""
    assert _covered(*texts) == answer


@pytest.mark.parametrize(
    ("texts", "kind"),
    [
        (["^/a", "(?=b)", "^/b"], Unknown),
        (["^/b", "(?=b)", "^/b"], Covered),
        (["^/b", "(?:.{1000}){3}", "^/[ab]"], Unknown),
        (["^/", "(?=b)"], Unknown),
    ],
)
def test_an_untreatable_source_covers_nothing(texts, kind):
    """An untreatable source may match the keys that the others leave, so that these keys prove nothing."""
    assert isinstance(_covered(*texts), kind)


def test_a_proof_without_budget_stays_open():
    assert covered([language("^/.*a$")], language("^/.{900}b"), Budget(1000)) == Unknown(
        "the proof would take too long"
    )


def test_unnecessary_covering_sources_are_left_out():
    """A cover has only the sources that it needs, unless the budget ends before they are known."""
    earlier = [language(text) for text in ("^/a", "^/[a-f]", "^/[g-z]")]
    assert covered(earlier, language("^/[a-z]")) == Covered((1, 2))
    assert covered(earlier, language("^/[a-z]"), Budget(300)) == Covered((0, 1, 2))


def test_a_source_that_covers_overlong_keys_is_named():
    """A source that matches keys too long for an example is part of a cover."""
    earlier = [language(text) for text in ("^/$|^/.{257}", "^/(?:.{5}){0,50}.{0,6}$")]
    assert covered(earlier, language(r"^/\x{1F600}*$")) == Covered((0, 1))


def test_every_source_of_a_list_has_an_answer():
    """Each source of a list is reached, covered or without keys, as the matcher of the service confirms."""
    assert _reachability("^/a/b", "^/a/", "^/a/b/c", "^docs/", "^/A", "", "x") == (
        Example("/a/b"),
        Example("/a/"),
        Covered((0,)),
        NoKey(),
        Example("/A"),
        Example("/"),
        Covered((5,)),
    )


def test_a_list_shares_one_budget():
    """When the budget is spent, only sources that need no proof have an answer."""
    texts = ["^/a/", "^/.*b.{9}$", "^/a/b", "^/a/c", "^/b/"]
    answers = _reachability(*texts, steps=10)
    assert [type(answer) for answer in answers] == [Example, Example, Unknown, Unknown, Example]


@pytest.mark.parametrize("answer", [None, 2, 0])
def test_a_matcher_that_disagrees_leaves_the_question_open(answer):
    """The answer is unknown if the matcher finds another rewrite than the proof."""
    languages = [language(text) for text in ("^/b", "^/a", "^/")]
    assert isinstance(reachability(languages, lambda key: answer, Budget(STEPS_PER_LIST))[1], Unknown)


def _random_directory(draw):
    """Returns the sources of a directory's rewrites, each with whether a key reaches it, from a random construction."""
    name = f"/{draw.choice('abc')}{draw.randrange(10**9)}"
    low, high = sorted(draw.sample("bcdefghijklmnopqrstuvwxy", 2))
    count = draw.randint(2, 6)
    return [
        # A special source before a general one, and after it.
        [(f"^{name}/{low}$", True), (f"^{name}/", True), (f"^{name}/{high}", False)],
        [
            (rf"^{name}/(?P<rest>.*\.html)$", True),
            (rf"^{name}/(?P<rest>.*)\.html$", False),
            (rf"^{name}/.+\.htm", True),
        ],
        # Sources that cover another one together, and the same with a gap.
        [(f"^{name}/[a-{low}]", True), (f"^{name}/[{low}-z]", True), (f"^{name}/[a-z]+$", False)],
        [(f"^{name}/[a-{low}]", True), (f"^{name}/[{high}-z]", True), (f"^{name}/[a-z]$", chr(ord(low) + 1) != high)],
        [(f"^{name}/[^/]+$", True), (f"^{name}/[^/]*/", True), (f"^{name}/.", False), (f"^{name}/$", True)],
        # All counts, and all counts but one.
        [(rf"^{name}/\d{{{digits}}}$", True) for digits in range(1, count)]
        + [(rf"^{name}/\d{{{count},}}$", True), (rf"^{name}/\d+$", False)],
        [(rf"^{name}/\d{{{digits}}}$", True) for digits in range(1, count)] + [(rf"^{name}/\d{{1,{count}}}$", True)],
        # Cases, boundaries and classes.
        [(f"(?i)^{name}/{low}x", True), (f"^{name}/(?i:{low.upper()}X)", False), (f"(?i)^{name}/{low}", True)],
        [(rf"^{name}/\w+\b", True), (rf"^{name}/[[:alnum:]]", False), (rf"^{name}/\W", True)],
        [(rf"^{name}/\pL", True), (rf"^{name}/\p{{Greek}}", True), (rf"^{name}/\p{{Lu}}é", False)],
        [(rf"^{name}/(?:a|b|{high})*$", True), (rf"^{name}/(?:a*b*)*$", False), (rf"^{name}/[ab]*{low}$", low != "b")],
        # No key has dot segments or control characters.
        [
            (rf"^{name}/\.\w*$", True),
            (rf"^{name}/\.[^/]*$", True),
            (rf"^{name}/\.$", False),
            (rf"^{name}/\.\./x", False),
        ],
        [
            (rf"^{name}/x[^\x00-\x1f]", True),
            (f"^{name}/x(?s:.)", False),
            (rf"^{name}/x\t", False),
            (f"^{name}/x", True),
        ],
    ][draw.randrange(13)]


@pytest.mark.parametrize("seed", range(4))
def test_random_lists_have_the_reachability_of_their_construction(seed):
    """Exactly the sources that are unreachable by construction are proved unreachable."""
    draw = random.Random(seed)
    sources = list(chain.from_iterable(_random_directory(draw) for _ in range(60)))
    answers = _reachability(*(text for text, _ in sources))
    unreachable = {
        text for (text, _), answer in zip(sources, answers, strict=True) if isinstance(answer, Covered | NoKey)
    }
    assert [text for text, reachable in sources if reachable and text in unreachable] == []
    assert [text for text, reachable in sources if not reachable and text not in unreachable] == []
    assert all(objection(answer.key) is None for answer in answers if isinstance(answer, Example))


def _finder(texts):
    patterns = {number: compile_pattern(text) for number, text in enumerate(texts) if not text.startswith("(?=")}
    return lambda index, key: patterns[index].search(key) is not None


def _overlaps(*texts, steps=100_000):
    return [*overlaps([language(text) for text in texts], _finder(texts), Budget(steps))]


def test_pairs_are_reported_with_a_key():
    """Every pair that shares a key is reported once, in the order of the later source, with a valid key of both."""
    assert _overlaps("^/a/", "^/b/", "^/[ab]/x", r"\.html$") == [
        Overlap(0, 2, "/a/x"),
        Overlap(1, 2, "/b/x"),
        Overlap(0, 3, "/a/.html"),
        Overlap(1, 3, "/b/.html"),
        Overlap(2, 3, "/a/x.html"),
    ]


def test_different_prefixes_and_suffixes_cost_no_steps():
    texts = [f"^/{number}/" for number in range(100, 300)] + [rf"^/a.*\.{number}$" for number in range(100, 300)]
    assert _overlaps(*texts, steps=1) == []


def test_untreatable_sources_are_in_no_pair():
    assert _overlaps("(?=a)", "^/a", "a{900}b{900}c{900}$", "^/") == [Overlap(1, 3, "/a")]


def test_all_pairs_share_one_budget():
    texts = [f"a{number}" for number in range(50)]
    assert 0 < len(_overlaps(*texts, steps=1000)) < len(_overlaps(*texts, steps=1_000_000)) == 50 * 49 // 2


def test_the_examples_of_the_module_are_correct():
    assert doctest.testmod(proofs) == doctest.TestResults(failed=0, attempted=5)
