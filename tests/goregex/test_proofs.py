import doctest
import random
from itertools import chain

import pytest
from proving import covered

from tornado_proxy.goregex import proofs
from tornado_proxy.goregex.alphabet import Budget
from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.matching import FirstMatch, compile_pattern
from tornado_proxy.goregex.proofs import (
    Covered,
    Example,
    NoKey,
    Overlap,
    Unknown,
    difference,
    fold_case,
    literal_prefix,
    literal_suffix,
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
        "^docs/",
        "docs/^",
        "^/a$b",
        r"^/\.\./",
        r"/\.$",
        r"a\nb",
        r"[\x00-\x1f]",
        r"^\b/",
        "(?:a|b)^/",
        "^$",
    ],
)
def test_a_source_without_keys_is_unmatchable(text):
    """What only unreal keys match, or nothing at all, has no key."""
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
def test_a_source_with_keys_has_an_example(text, key):
    """The example is the shortest real key, in everyday characters."""
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
    """Two sources overlap where a real key belongs to both."""
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
def test_a_special_source_has_no_key_beyond_a_general_one(special, general, answer):
    """The difference of two sources is a key of the first alone; the keys that are compared are real."""
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
def test_what_cannot_be_proved_is_unknown(answer):
    """A question without budget, or about what cannot be treated, stays open and says why."""
    assert isinstance(answer, Unknown)
    assert answer.reason


def _first(texts):
    matcher = FirstMatch([compile_pattern(text) for text in texts])
    return lambda key: match[0] if (match := matcher.find(key)) else None


def _covered(*texts):
    *earlier, later = map(language, texts)
    return covered(earlier, later)


def _reachability(*texts, **options):
    return reachability([language(text) for text in texts], _first(texts), **options)


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
    """The last of a list is reached by a key, covered by those before it, one or several, or has no key."""
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
def test_what_cannot_be_treated_is_never_counted_on(texts, kind):
    """An earlier expression that is unknown may take a key, so a key that others leave proves nothing."""
    assert isinstance(_covered(*texts), kind)


def test_a_proof_without_budget_stays_open():
    """A question that would take too long is not answered."""
    assert covered([language("^/.*a$")], language("^/.{900}b"), Budget(1000)) == Unknown(
        "the proof would take too long"
    )


def test_those_who_cover_are_all_needed():
    """An earlier source that others make superfluous is not named, unless the budget ends before that is known."""
    earlier = [language(text) for text in ("^/a", "^/[a-f]", "^/[g-z]")]
    assert covered(earlier, language("^/[a-z]")) == Covered((1, 2))
    assert covered(earlier, language("^/[a-z]"), Budget(300)) == Covered((0, 1, 2))


def test_a_source_that_only_overlong_keys_need_is_named():
    """Who takes keys that are too long for an example, but not for being rewritten, counts among those who cover."""
    earlier = [language(text) for text in ("^/$|^/.{257}", "^/(?:.{5}){0,50}.{0,6}$")]
    assert covered(earlier, language(r"^/\x{1F600}*$")) == Covered((0, 1))


def test_a_list_is_judged_at_once():
    """Each source of a list gets its answer, judged by the matcher that will run."""
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
    """When it is used up, what needs a proof stays open; what a glance shows does not."""
    texts = ["^/a/", "^/.*b.{9}$", "^/a/b", "^/a/c", "^/b/"]
    found = _reachability(*texts, budget=Budget(10))
    assert [type(each) for each in found] == [Example, Example, Unknown, Unknown, Example]


@pytest.mark.parametrize("answer", [None, 2, 0])
def test_a_matcher_that_disagrees_leaves_the_question_open(answer):
    """Where the matcher that will run does not say what the proof says, nothing is concluded."""
    languages = [language(text) for text in ("^/b", "^/a", "^/")]
    assert isinstance(reachability(languages, lambda key: answer)[1], Unknown)


def _directories(draw):
    """A text for each rewrite of a directory, with whether a key reaches it, by a random one of some constructions."""
    name = f"/{draw.choice('abc')}{draw.randrange(10**9)}"
    low, high = sorted(draw.sample("bcdefghijklmnopqrstuvwxy", 2))
    count = draw.randint(2, 6)
    return [
        # The special before the general, and after it.
        [(f"^{name}/{low}$", True), (f"^{name}/", True), (f"^{name}/{high}", False)],
        [
            (rf"^{name}/(?P<rest>.*\.html)$", True),
            (rf"^{name}/(?P<rest>.*)\.html$", False),
            (rf"^{name}/.+\.htm", True),
        ],
        # Several that cover together, and the same with a gap.
        [(f"^{name}/[a-{low}]", True), (f"^{name}/[{low}-z]", True), (f"^{name}/[a-z]+$", False)],
        [(f"^{name}/[a-{low}]", True), (f"^{name}/[{high}-z]", True), (f"^{name}/[a-z]$", chr(ord(low) + 1) != high)],
        [(f"^{name}/[^/]+$", True), (f"^{name}/[^/]*/", True), (f"^{name}/.", False), (f"^{name}/$", True)],
        # Counts: all of them, and all but one.
        [(rf"^{name}/\d{{{each}}}$", True) for each in range(1, count)]
        + [(rf"^{name}/\d{{{count},}}$", True), (rf"^{name}/\d+$", False)],
        [(rf"^{name}/\d{{{each}}}$", True) for each in range(1, count)] + [(rf"^{name}/\d{{1,{count}}}$", True)],
        # Cases, boundaries, classes.
        [(f"(?i)^{name}/{low}x", True), (f"^{name}/(?i:{low.upper()}X)", False), (f"(?i)^{name}/{low}", True)],
        [(rf"^{name}/\w+\b", True), (rf"^{name}/[[:alnum:]]", False), (rf"^{name}/\W", True)],
        [(rf"^{name}/\pL", True), (rf"^{name}/\p{{Greek}}", True), (rf"^{name}/\p{{Lu}}é", False)],
        [
            (rf"^{name}/(?:a|b|{high})*$", True),
            (rf"^{name}/(?:a*b*)*$", False),
            (rf"^{name}/[ab]*{low}$", low != "b"),
        ],
        # Dot segments and control characters are in no key.
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
def test_a_list_of_known_reachability_gets_no_false_alarm_and_none_is_missed(seed):
    """Of directories whose rewrites are reachable by construction or not, every one is judged right, by proof."""
    draw = random.Random(seed)
    sources = list(chain.from_iterable(_directories(draw) for _ in range(60)))
    found = _reachability(*(text for text, _ in sources))
    alarms = {text for (text, _), each in zip(sources, found, strict=True) if isinstance(each, Covered | NoKey)}
    assert [text for text, reachable in sources if reachable and text in alarms] == []
    assert [text for text, reachable in sources if not reachable and text not in alarms] == []
    assert all(objection(each.key) is None for each in found if isinstance(each, Example))


def _finder(texts):
    patterns = {number: compile_pattern(text) for number, text in enumerate(texts) if not text.startswith("(?=")}
    return lambda index, key: patterns[index].search(key) is not None


def _overlaps(*texts, steps=100_000):
    return [*overlaps([language(text) for text in texts], _finder(texts), Budget(steps))]


def test_pairs_are_reported_with_a_key():
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
    assert (literal_prefix(language(text)), literal_suffix(language(text))) == (begin, end)


def test_one_case_is_that_of_all_forms_of_a_letter():
    """Letters of ASCII lose their case, and so do the two letters that are a case of them."""
    assert fold_case("AzK\u017f\u212aÉ") == "azkskÉ"


def test_the_examples_of_the_module_are_true():
    """What its docstring shows is what its functions answer."""
    assert doctest.testmod(proofs) == doctest.TestResults(failed=0, attempted=5)
