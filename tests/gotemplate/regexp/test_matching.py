import base64
import os
import re
from pathlib import Path

import pytest
import re2
from hypothesis import example, given
from hypothesis import strategies as st
from linear_time import check_linear, texts_of
from recorded import vectors

from gotemplate.regexp import matching
from gotemplate.regexp.matching import (
    Captures,
    Expansion,
    FirstMatch,
    compile_pattern,
    compile_source,
    longest_matching_part,
)
from gotemplate.regexp.syntax import PatternError

ROOT = Path(__file__).parents[3]
VECTORS = vectors("regexp")


def _text(vector, name):
    """Returns a text of a vector, with one surrogate for each byte that isn't UTF-8."""
    if name in vector:
        return vector[name]
    return base64.b64decode(vector[f"{name}_b64"]).decode("utf-8", "surrogateescape")


def _groups(vector):
    if "groups" in vector:
        return tuple(vector["groups"])
    decoded = (group and base64.b64decode(group).decode("utf-8", "surrogateescape") for group in vector["groups_b64"])
    return tuple(decoded)


def _agrees(vector):
    try:
        pattern = compile_pattern(vector["pattern"])
    except PatternError:
        return False
    captures = pattern.search(_text(vector, "text"))
    if captures is None:
        return not vector["match"]
    numbers = {name: vector["names"].index(name) + 1 for name in vector["names"] if name}
    return vector["match"] and captures.groups == _groups(vector) and dict(pattern.names) == numbers


def test_searches_have_the_recorded_results_of_go():
    """Each recorded search has the result of Go, except those that `docs/expressions.md` lists."""
    documentation = (ROOT / "docs/expressions.md").read_text(encoding="utf-8")
    failing = {vector["id"] for vector in VECTORS if "match" in vector and not _agrees(vector)}
    assert failing == set(re.findall(r"\bre-\d+\b", documentation))


@pytest.mark.parametrize("vector", [each for each in VECTORS if "match" not in each], ids=lambda vector: vector["id"])
def test_expressions_that_go_refuses_are_refused(vector):
    """Every recorded expression that Go refuses is refused with a place within it."""
    text = vector["pattern"]
    with pytest.raises(PatternError) as caught:
        compile_pattern(text)
    assert 0 <= caught.value.offset <= (caught.value.end or len(text)) <= len(text)


@pytest.mark.parametrize(
    ("key", "number"), [("/b", 2), ("/a", 1), ("/c", 1)], ids=["the second", "the first", "neither"]
)
def test_a_repeated_name_has_the_group_that_took_part(key, number):
    """As in Go's Expand, a name means its first group that took part, or else its first group."""
    pattern = compile_pattern("^/(?:(?P<n>a)|(?P<n>b)|c)$")
    captures = pattern.search(key)
    assert dict(captures.names) == {"n": number}
    assert dict(pattern.names) == {"n": 1}


def test_a_boundary_within_each_character_costs_linear_time():
    r"""RE2 finds `\B` within every character of a text in which Go finds none."""
    pattern = compile_pattern(r".*z|\B")
    check_linear(pattern.search, texts_of(["aé"], [""], [""]), 10_000)


@pytest.mark.parametrize(
    ("text", "key", "groups"),
    [
        ("^.(.)$", "é\udcff", ("é\udcff", "\udcff")),
        (r"(\x{fffd})(x)?", "a\udce2\udc82", ("\udce2", "\udce2", None)),
        ("b", "\ud800", None),
    ],
)
def test_invalid_unicode_matches_as_the_replacement_character(text, key, groups):
    """Surrogates match as bytes that aren't UTF-8 do in Go, and captures have the original text."""
    captures = compile_pattern(text).search(key)
    assert (captures and captures.groups) == groups


SOURCES = [
    "^/a", "^/a/(?P<rest>.*)$", "b$", r"\B", r"(?i)É", r"^/[^/]+/\d{2,}", "(x*)*y", "^$", r"\pL\PL", "a|b|",
    "(?:ab){3}",
]  # fmt: skip
KEYS = st.text(st.sampled_from("/abéÉ中x1 y"), max_size=12)


def _naive_first_match(patterns, key):
    """Searches each pattern in turn and returns the first that matches, with its captures."""
    for index, pattern in enumerate(patterns):
        captures = pattern.search(key)
        if captures is not None:
            return index, captures
    return None


def _limited(patterns, known=None, **limits):
    """Returns a search whose sets have other limits."""
    with pytest.MonkeyPatch.context() as patch:
        for name, limit in limits.items():
            patch.setattr(matching.limits, f"SET_{name.upper()}", limit)
        return FirstMatch(patterns, known=known)


@given(st.lists(st.sampled_from(SOURCES), max_size=8), KEYS)
@example(SOURCES, "/é/x12y")
def test_first_match_agrees_with_a_naive_search(sources, key):
    patterns = [compile_pattern(source) for source in sources]
    expected = _naive_first_match(patterns, key)
    assert FirstMatch(patterns).find(key) == expected
    assert _limited(patterns, instructions=40).find(key) == expected
    assert _limited(patterns, memory=1).find(key) == expected


def test_thousands_of_patterns_are_searched():
    """The first match among three thousand patterns is found, and a key that no pattern matches has none."""
    first_match = FirstMatch([compile_pattern(f"^/old/{number}/(.*)$") for number in range(3000)])
    match = first_match.find("/old/2999/page.html")
    assert (match[0], match[1].groups[1]) == (2999, "page.html")
    assert first_match.find("/new/1/page.html") is None


class _ExhaustedSet:
    """A set that has run out of memory, and reports no match for any key."""

    def Match(self, text):  # noqa: N802 - RE2's name
        return None


@pytest.mark.parametrize(("key", "index"), [("/ab", 1), ("/c", None)])
def test_patterns_are_tried_alone_if_their_set_lacks_memory(key, index):
    first_match = FirstMatch([compile_pattern("^/x"), compile_pattern("^/a")])
    (portion,) = first_match._portions
    first_match._portions = (portion._replace(combined=_ExhaustedSet()),)
    match = first_match.find(key)
    assert (match and match[0]) == index


@given(st.lists(st.sampled_from(SOURCES), max_size=6), st.lists(st.sampled_from(SOURCES), max_size=6), KEYS)
def test_known_portions_do_not_change_the_result(sources, known_sources, key):
    patterns = [compile_pattern(source) for source in sources]
    known = _limited([compile_pattern(source) for source in known_sources], instructions=40)
    assert _limited(patterns, known, instructions=40).find(key) == _naive_first_match(patterns, key)


def test_an_unchanged_portion_is_reused():
    """An edit of the last pattern keeps the earlier sets."""
    patterns = [compile_pattern(f"^/{number}$") for number in range(20)]
    known = _limited(patterns, instructions=40)
    edited = _limited([*patterns[:-1], compile_pattern("^/new$")], known, instructions=40)
    assert edited._portions[0].combined is known._portions[0].combined
    assert edited._portions[-1].combined is not known._portions[-1].combined


def test_a_pattern_that_is_added_builds_the_sets_around_it_only():
    """Thousands of sources do not move from set to set because of one before them."""
    patterns = [compile_pattern(f"^/{'words/' * 9}{number}$") for number in range(4000)]
    known = FirstMatch(patterns)
    edited = FirstMatch([compile_pattern("^/new$"), *patterns], known=known)
    before = {id(each.combined) for each in known._portions}
    new = [each for each in edited._portions if id(each.combined) not in before]
    assert len(before) > 3
    assert len(new) <= 2


def test_texts_count_by_their_length():
    """RE2 writes each character of a text out in a set, which takes time and memory in proportion."""
    first_match = FirstMatch([compile_pattern(f"^/{'a' * 1000}/{number}$") for number in range(200)])
    assert len(first_match._portions) > 2


@pytest.mark.parametrize("source", [r"^/[^/]{1,255}/[^/]{1,255}$", "(a?)" * 100, r"\pL{10}", "a?" * 590])
def test_ordinary_large_sources_are_accepted(source):
    """Two long segments, a hundred groups or a dozen Unicode classes are within the limits."""
    assert compile_source(source) == compile_pattern(source)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (r"\pL{100}", "123,704 RE2 instructions, the limit is 16,000"),
        (r"\pL" * 1100, "more than 16,000 RE2 instructions"),
        (r"\pL" * 5000, "5,000 parts with its counts written out, the limit is 1,200"),
        ("(a)" * 200, "120,800 RE2 instructions times groups, the limit is 100,000"),
        ("(?:a?){1000}", "2,000 parts with its counts written out, the limit is 1,200"),
        ("a?b" * 401, "1,203 parts with its counts written out, the limit is 1,200"),
    ],
)
def test_a_source_that_would_match_slowly_is_refused(source, reason):
    """A source above a limit is refused, because a search blocks all other requests."""
    with pytest.raises(PatternError) as caught:
        compile_source(source)
    assert str(caught.value) == f"expression too slow to match: {reason}"
    assert caught.value.help == "lower its counts, or split it into several"


def test_an_expression_whose_program_is_too_long_is_refused():
    """An expression of a kilobyte is not written out to megabytes for RE2."""
    with pytest.raises(PatternError, match="RE2 cannot compile the expression: its program takes more than 1 MiB"):
        compile_pattern(r"\pL" * 400)


def test_a_pattern_knows_about_how_much_memory_it_takes():
    """Twelve bytes for an instruction, and the text of the program."""
    pattern = compile_pattern("ab")
    assert pattern.memory == 12 * pattern.program_size + 2


def test_captures_may_have_no_names():
    """The names of captures are empty by default and cannot be changed, because captures share the mapping."""
    captures = Captures(("/a", None))
    assert dict(captures.names) == {}
    with pytest.raises(TypeError):
        captures.names["x"] = 1


EXPANSIONS = vectors("expand")


def _rendered(template, groups, names=None):
    return Expansion.read(template).expand(Captures(groups, names or {}))


def _matches(pattern, text):
    """Yields the matches of a pattern as Go does: an empty match right after another one does not count."""
    position, last_end = 0, -1
    while position <= len(text):
        match = re2.compile(pattern).search(text, position)
        if match is None:
            return
        start, end = match.span()
        if end > start or end != last_end:
            yield match
        last_end, position = end, max(end, start + 1)


def _replaced(vector):
    """Returns the result of Go's ReplaceAll, with each match expanded by its template."""
    text, pieces, position = vector["text"], [], 0
    for match in _matches(vector["pattern"], text):
        groups = (match.group(), *match.groups())
        literal = vector["mode"] == "replace_all_literal"
        replacement = vector["template"] if literal else _rendered(vector["template"], groups, match.re.groupindex)
        pieces += text[position : match.start()], replacement
        position = match.end()
    return "".join((*pieces, text[position:]))


def _expanded(vector):
    match = next(_matches(vector["pattern"], vector["text"]))
    return _rendered(vector["template"], (match.group(), *match.groups()), match.re.groupindex)


@pytest.mark.parametrize("vector", EXPANSIONS, ids=lambda vector: vector["id"])
def test_expansions_are_those_of_go(vector):
    assert (_expanded if vector["mode"] == "expand" else _replaced)(vector) == vector["expect"]


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("$3$999999999$9999999999", ""),
        ("${1}0$10", "a0"),
        ("$01", "zero"),
        ("$$1$$", "$1$"),
        ("${}${a-b}${name", "${}${a-b}${name"),
        ("$é${é}", ""),
        ("$\u00b2", "$\u00b2"),
        ("$1\u00b2${1\u00b2}$$", "a\u00b2${1\u00b2}$"),
    ],
)
def test_references_are_expanded_as_in_go(template, result):
    """A name is as long as possible or in braces, two dollars are one, and nothing is trimmed."""
    assert _rendered(template, ("/a", "a", None), {"name": 1, "01": 0, "zero": 0}) == result.replace("zero", "/a")


@pytest.mark.parametrize(
    ("template", "references"),
    [
        ("/a", ()),
        ("/$x/${y_1}/$1", (("x", 1, 3), ("y_1", 4, 10), ("1", 11, 13))),
        ("$$x${}$", ()),
        ("é$x", (("x", 1, 3),)),
    ],
)
def test_references_have_places(template, references):
    assert Expansion.read(template).group_references == references


@given(st.text(st.sampled_from("$a1{}_é "), max_size=12))
def test_any_text_can_be_expanded(template):
    """Any text compiles , with sorted references that begin with a dollar."""
    compiled = Expansion.read(template)
    offsets = [offset for _, start, end in compiled.group_references for offset in (start, end)]
    assert offsets == sorted(offsets)
    assert all(template[start] == "$" and end <= len(template) for _, start, end in compiled.group_references)


@pytest.mark.parametrize(
    ("text", "key", "part", "reached", "failing"),
    [
        (r"^/press/(?P<page>[^/]+)\.html$", "/preview", "^/pre", "/pre", "s"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/", "^/press/", "/press/", "[^/]+"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a/b.html", "^/press/(?P<page>[^/]+)", "/press/a", r"\."),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.htm", r"^/press/(?P<page>[^/]+)\.htm", "/press/a.htm", "l"),
        (r"^/press/(?P<page>[^/]+)\.html$", "/press/a.html5", r"^/press/(?P<page>[^/]+)\.html", "/press/a.html", "$"),
        ("(?i)^/A/(b|c)/d{3}", "/a/c/dd", "(?i)^/A/(b|c)/", "/a/c/", "d{3}"),
        ("^docs/", "/docs/", "^", "", "d"),
        ("foo$", "/foo/x", "foo", "/foo", "$"),
        ("o+x", "/foo/o", "o+", "/foo/o", "x"),
        ("x", "/y", "", "", "x"),
        (r"/\bé", "/é", "/", "/", r"\b"),
        ("^/a/|^/b/c", "/b/x", "^/b/", "/b/", "c"),
        ("(^/a/b|^/a/(c|d)/)", "/a/c", "^/a/(c|d)", "/a/c", "/"),
    ],
)
def test_progress_has_the_longest_matching_part(text, key, part, reached, failing):
    """Progress has the longest leading part that matches, its end in the key, and the part after it that fails."""
    progress = longest_matching_part(text, key)
    start, end = progress.failing
    assert (text[slice(*progress.part)], key[: progress.reached], text[start:end]) == (part, reached, failing)


@pytest.mark.parametrize("text", ["^/a", "", "a|b", "(?:b|a)"])
def test_a_matching_source_has_no_failing_part(text):
    assert longest_matching_part(text, "/a").failing is None


@pytest.mark.parametrize(("expressions", "sets"), [([], 0), (["a"], 1), (["a", "b"], 1)])
def test_a_list_has_the_sets_of_its_portions(expressions, sets):
    """Those of a few patterns are one; a single pattern needs none."""
    made = matching.FirstMatch([matching.compile_pattern(each) for each in expressions]).sets
    assert (len(made), [each is None for each in made]) == (sets, [len(expressions) == 1] * sets)


def test_a_search_leaves_no_states_beside_a_short_program():
    """What a pattern takes does not grow when it is used: 10 KiB for each of 17,000 would be 170 MiB."""
    patterns = [matching.compile_pattern(f"(?i)^/en-US/docs/Web/API/Old_{number}/Name$") for number in range(1000)]
    before = _resident()
    assert all(pattern.search(f"/en-us/docs/web/api/old_{number}/name") for number, pattern in enumerate(patterns))
    assert _resident() - before < 2 << 20


def _resident() -> int:
    """Returns the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
