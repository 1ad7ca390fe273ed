import pytest

from tornado_proxy.lint.automata import Budget, Example, NoKey, Unknown, difference, language, overlap, shortest_key

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
