import random
from itertools import chain

import pytest

from tornado_proxy.lint.automata import (
    Budget,
    Covered,
    Example,
    NoKey,
    Unknown,
    covered,
    language,
    reachability,
)
from tornado_proxy.rules.keys import objection
from tornado_proxy.rules.matching import FirstMatch
from tornado_proxy.rules.patterns import compile_pattern


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
