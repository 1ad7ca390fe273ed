import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.goregex.language import language
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.tools.convert.proofs import PossibleCaptures, disjoint, never_begins, never_found, quoted


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
def test_a_quoted_text_stands_for_itself(text):
    """Whatever it holds."""
    found = compile_pattern(rf"\A{quoted(text)}\z").search(text)
    assert found is not None


@pytest.mark.parametrize(
    ("source", "never"), [("^//a", True), ("^a", True), ("//", True), ("^/a", False), (".*", False)]
)
def test_a_source_of_keys_with_empty_segments_is_never_found(source, never):
    """Those keys are no matter here."""
    assert never_found(source) is never


@pytest.mark.parametrize(
    ("source", "texts", "never"),
    [
        ("a", ("",), True),
        ("/a", ("",), False),
        (".*", ("",), False),
        ("/(?:x)", ("/folder1/", "/1/"), True),
        ("/(?:f)", ("/1/", "/folder1/"), False),
    ],
)
def test_a_source_may_never_match_from_the_start(source, texts, never):
    """Of any key, or of those that begin with some texts."""
    assert never_begins(source, texts) is never


def test_sources_without_a_common_key_are_disjoint():
    """And what cannot be proved is not."""
    assert disjoint(language("^/a"), language("^/b"))
    assert not disjoint(language("^/a"), language("b$"))


CAPTURES = {
    r"^/docs(.*)$": (True, True, True),
    r"^/docs/(.*)$": (False, True, True),
    r"^/(\w+)$": (False, False, False),
    r"^/(\w*)/x$": (False, False, False),
    r"^/(a)?b": (False, False, True),
    r"^/(?:(a)|b)": (False, False, True),
    r"^/(?:(/\w+)+)": (True, True, True),
    r"^/a(/b/)?c": (True, True, True),
    r"^/a(?:(/b))?": (True, False, True),
    r"^(\b/)": (True, True, True),
    r"^/\Q.\E(a)": (True, True, True),
    r"^/(?:x(y)){1}": (False, False, False),
}


@pytest.mark.parametrize(("source", "expected"), CAPTURES.items())
def test_what_a_group_may_capture_is_known_as_far_as_slashes_go(source, expected):
    """Whether it may begin or end with one, or be empty; what is not proved may be."""
    captures = PossibleCaptures(source)
    found = (captures.may_begin_with_slash(1), captures.may_end_with_slash(1), captures.may_be_empty(1))
    assert found == expected


def test_the_whole_match_may_be_anything():
    """Nothing is proved of the group 0."""
    assert PossibleCaptures("^/a").may_begin_with_slash(0)
