from __future__ import annotations

import pytest
from editing import after, pointed, site
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.lang.diagnostic import Edit
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.templates.golang import view
from tornado_proxy.templates.jinja.views import NAMES, RECORDS
from tornado_proxy.tools.lsp.completion import GO, JINJA, Completion, completions, fields, group_names


def _template_items(text: str) -> list[Completion]:
    return completions(*pointed(text), ["site", "team"])


def _template_labels(text: str) -> list[str]:
    return [each.label for each in _template_items(text)]


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ('"/b/$‸"', ["1", "page"]),
        ('"/b/$pa‸"', ["1", "page"]),
        ('"/b/${‸"', ["1}", "page}"]),
        ('"/b/${‸}"', ["1", "page"]),
        ('"/b/${pa‸ge}"', ["1", "page"]),
        ('"/b/${‸/c"', ["1}", "page}"]),
        ('"/b/$$‸"', []),
        ('"/b/$$$‸"', ["1", "page"]),
        ('"/b‸"', []),
        ("`/b/$‸", ["1", "page"]),
        ('jinja "/{{ groups.‸ }}"', ["page"]),
        ("jinja \"/{{ groups['‸'] }}\"", ["1", "page"]),
        ('jinja "/{{ groups[\\"pa‸', ["1", "page"]),
        ('jinja "/‸{{ key }}"', []),
        ('go "/{{ .Groups.‸ }}"', ["page"]),
        ('go "/{{ $.Groups.pa‸', ["page"]),
        ('go `/{{ index .Groups "‸" }}`', ["1", "page"]),
        ('go "/{{ index $.Groups `p‸', ["1", "page"]),
        ('go `/{{ .Request.Header.Get "‸" }}`', []),
        ("jinja \"/{{ request.headers['‸'] }}\"", []),
        ('jinja `/{{ "it\\"s" ~ groups["‸"] }}`', ["1", "page"]),
        ('go "/‸"', []),
    ],
)
def test_groups_of_the_source_are_proposed_in_the_template(template, labels):
    """Whether the string is closed already or not."""
    assert _template_labels(f"target site {{ {_PAGE}{template}") == labels


@pytest.mark.parametrize(
    ("template", "some"),
    [
        ('jinja "/{{ ‸ }}"', {"user", "request", "target", "key", "groups"}),
        ('jinja "{% if us‸', {"user", "groups"}),
        ('jinja "/{{ user.‸ }}"', {"username", "email", "groups"}),
        ('jinja "/{{ target.bucket.na‸ }}"', {"name", "prefix", "region"}),
        ('jinja "/{{ key | ‸ }}"', {"lower", "replace"}),
        ('go "/{{ ‸ }}"', {".User", ".Key", ".Groups", "lower"}),
        ('go "/{{ .‸ }}"', {"User", "Key", "Groups"}),
        ('go "/{{ .User.Get‸ }}"', {"GetUsername", "GetEmail"}),
        ('go "/{{ .Request.URL.‸ }}"', {"Path", "RawQuery"}),
        ('jinja "/{{ key is ‸ }}"', {"defined", "none"}),
        ('jinja "/{{ key is not de‸ }}"', {"defined"}),
        ('jinja "/{{ key is defined and ‸ }}"', {"user", "key"}),
        ('jinja "{% ‸ %}"', {"if", "for", "set", "endif"}),
        ('jinja "{%- end‸', {"endif", "endfor"}),
        ('go "/{{ .Key | lo‸ }}"', {"lower"}),
    ],
)
def test_variables_and_functions_are_proposed_in_templates(template, some):
    """The variables and functions of the dialect at that place."""
    assert some <= set(_template_labels(f"target site {{ {_PAGE}{template}"))


def test_variables_that_a_go_template_declares_are_proposed():
    """Each is proposed once, and replaces the dollar sign."""
    text = f"target site {{ {_PAGE}go `{{{{ $a := 1 }}}}{{{{ range $i, $x := .Groups }}}}{{{{ $a = 2 }}}}{{{{ $‸ }}}}"
    found = _template_items(text)
    assert [each.label for each in found] == ["$a", "$i", "$x"]
    assert all(each.span.end - each.span.start == 1 for each in found)


_PAGE = "rewrite `^/(a)/(?P<page>[^/]+)$` -> "


def _proposed(text: str) -> list[Completion]:
    return completions(*pointed(text), ["site", "team"])


def _labels(text: str) -> list[str]:
    return [each.label for each in _proposed(text)]


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
    """Keywords and names are proposed where the parser accepts them."""
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
    """A string that is there already would be written twice."""
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
    """The typed word is replaced."""
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
    """Every proposal replaces text before the cursor."""
    source, _ = pointed(before + text.replace("‸", ""))
    offset = data.draw(st.integers(0, len(source.text)))
    for each in completions(source, offset):
        assert 0 <= each.span.start <= each.span.end == offset


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("^/(?P<a>x)/(y)/(?<b>z)", ["a", "2", "b"]),
        ("^/(?:x)", []),
        ("^/(?P<a>x)|(?P<a>y)", ["a"]),
        ("^/(?P<a>x)/(?P<b>[^/", ["a", "b"]),
    ],
)
def test_groups_have_their_name_or_else_their_number(source, names):
    """Of an unfinished expression, those with names are known."""
    assert group_names(source) == names


_GO_TYPES = {
    "": (view.ROOT,),
    "User": tuple(view.USERS.values()),
    "Request": (view.REQUEST,),
    "Request.URL": (view.URL,),
    "Target": (view.TARGET,),
    "Target.Bucket": (view.BUCKET,),
    "Target.Mount": (view.MOUNT,),
}


def test_every_variable_of_jinja_templates_has_words():
    """The table says what the views show, all of it and no more."""
    real = {*NAMES, *(f"{path}.{name}" for path, names in RECORDS.items() for name in names)}
    assert set(JINJA) == real


def test_every_variable_of_go_templates_has_words():
    """The table says what the view shows, all of it and no more."""
    members = {
        f"{path}.{name.decode()}".removeprefix(".")
        for path, types in _GO_TYPES.items()
        for of in types
        for name in (*of.getters, *of.methods)
    }
    assert set(GO) == members


def test_the_fields_of_a_variable_are_those_directly_below_it():
    """Neither the variable itself nor deeper fields."""
    assert [name for name, _ in fields(Dialect.JINJA, "target.mount")] == ["host", "path"]
    assert [name for name, _ in fields(Dialect.GO, "")] == ["User", "Request", "Target", "Key", "Groups"]
    assert list(fields(Dialect.PLAIN, "")) == []
