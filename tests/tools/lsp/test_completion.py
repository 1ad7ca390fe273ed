"""What may be written next."""

from __future__ import annotations

import pytest
from editing import after, pointed, site
from hypothesis import given, settings
from hypothesis import strategies as st

from tornado_proxy.lang.diagnostic import Edit
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.tools.lsp.completion import Proposal, completions
from tornado_proxy.tools.lsp.ideas import Kind

_PAGE = "rewrite `^/(a)/(?P<page>[^/]+)$` -> "


def _proposed(text: str) -> list[Proposal]:
    return completions(*pointed(text), ["site", "team"])


def _labels(text: str, *kinds: Kind) -> list[str]:
    return [each.label for each in _proposed(text) if not kinds or each.kind in kinds]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("‸", ["target"]),
        ("tar‸", ["target"]),
        ("target ‸", ["site", "team"]),
        ("target si‸ {}", ["site", "team"]),
        ("target site { ‸ }", ["rewrite", "test"]),
        ("target site { rew‸ }", ["rewrite", "test"]),
        ("target site { rewrite ‸", []),
        ("target site { rewrite `^/a` ‸", ["->"]),
        ("target site { rewrite `^/a` -> ‸", ["jinja", "go"]),
        ("target site { rewrite `^/a` -> j‸", ["jinja", "go"]),
        ("target site { rewrite `^/a` -> jinja ‸", []),
        ('target site { test "/a" ‸', ["as", "method", "host", "header", "user-groups", "email", "->"]),
        ('target site { test "/a" user-‸', ["as", "method", "host", "header", "user-groups", "email"]),
        ('target site { test "/a" method ‸', ["GET", "HEAD", "PUT", "DELETE"]),
        ('target site { test "/a" method PUT -> ‸', ["unchanged", "error"]),
        ('target site { test "/a" -> "/b" ‸', ["rewrite", "test"]),
        ("# ‸", ["allow:", "allow-file:"]),
        ("# al‸", ["allow:", "allow-file:"]),
        ("# some words ‸", []),
        ("# allow: a (rea‸", []),
    ],
)
def test_what_fits_is_proposed(text, labels):
    """Keywords where the parser accepts them, names where names stand."""
    assert _labels(text) == labels


@pytest.mark.parametrize("comment", ["# allow: ‸", "# allow: no-effect, un‸", "#allow-file:‸"])
def test_checks_are_proposed_where_one_may_be_allowed(comment):
    """Each with its summary and its manual page."""
    found = _proposed(comment)
    assert [each.label for each in found] == [check.name for check in CHECKS]
    assert all(each.detail and each.manual for each in found)


@pytest.mark.parametrize(
    "text", ["tar‸ {}", 'target site { rew‸ `^/a` -> "/b" }', "target site { rewrite `a` -> j‸ `b`"]
)
def test_a_keyword_whose_texts_are_there_brings_no_other_ones(text):
    """A string that the author, or the editor, has written already would stand twice."""
    assert [each.snippet for each in _proposed(text)] == ["" for _ in _proposed(text)]
    assert _proposed(text)


def test_an_arrow_that_is_there_is_not_proposed():
    """A second one would be a mistake."""
    assert _labels('target site { rewrite `^/a` ‸ -> "/b"') == []


def test_nothing_is_proposed_in_other_strings():
    """A source, a key and a user's name are the author's own."""
    assert _labels("target site { rewrite `^/$‸") == []
    assert _labels('target site { test "/a" as "‸') == []
    assert _labels('target site { test "/a" -> "/$‸') == []


def test_a_proposal_takes_the_place_of_the_word_before_the_cursor():
    """What has been typed is not doubled."""
    text = site(f'{_PAGE}jinja "/{{{{ user.user‸ }}}}"')
    (found,) = [each for each in _proposed(text) if each.label == "username"]
    source, _ = pointed(text)
    assert "{{ user.username }}" in after(source.text, [Edit(found.span, found.label)])


def test_keywords_bring_their_shape():
    """An editor that knows snippets puts the cursor where the first text belongs."""
    (found,) = [each for each in _proposed("target site { ‸ }") if each.label == "rewrite"]
    assert found.snippet == 'rewrite `^/$1$` -> "/$2"'


def test_of_a_source_with_a_mistake_the_named_groups_are_known():
    """A template may be written before its source is finished."""
    assert _labels('target site { rewrite `^/(?P<page>[^/` -> "/$‸') == ["page"]


@settings(max_examples=60, deadline=None)
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("target{}rewrite`\"->#$.|: \njinjago(?P<a>)'["), st.characters()),
        max_size=60,
    ),
    st.sampled_from(
        ["", "target site { ", 'target site { rewrite `^/(?P<a>.)` -> "', "target s { rewrite `a` -> go `{{ "]
    ),
    st.data(),
)
def test_no_text_makes_it_fail(text, before, data):
    """Every proposal takes the place of something that stands before the cursor."""
    source, _ = pointed(before + text.replace("‸", ""))
    offset = data.draw(st.integers(0, len(source.text)))
    for each in completions(source, offset):
        assert 0 <= each.span.start <= each.span.end == offset
