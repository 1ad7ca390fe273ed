from __future__ import annotations

import pytest
from editing import NAME, analysed, asked, site
from rule_texts import document

from tornado_proxy.tools.lsp.navigation import definitions, lenses, symbols


def _defined(text: str, **others: str) -> list[str]:
    return [f"{span.source.name}: {span.text}" for span in definitions(*asked(text, **others))]


@pytest.mark.parametrize(
    ("template", "defined"),
    [
        ('"/b/$pa‸ge"', ["(?P<page>[^/]+)"]),
        ('"/b/$2‸"', ["(?P<page>[^/]+)"]),
        ('"/b/$0‸"', ["`^/(a)/(?P<page>[^/]+)$`"]),
        ('"/b/$no‸where"', []),
        ('jinja "/{{ groups.pa‸ge }}"', ["(?P<page>[^/]+)"]),
        ('jinja "/{{ ke‸y }}"', []),
        ('go "/{{ .Groups.pa‸ge }}"', ["(?P<page>[^/]+)"]),
        ('"/‸b"', []),
    ],
)
def test_a_group_is_defined_in_the_source(template, defined):
    """From a reference to the parentheses that take the text."""
    assert _defined(site(f"rewrite `^/(a)/(?P<page>[^/]+)$` -> {template}")) == [
        f"site.rules: {each}" for each in defined
    ]


@pytest.mark.parametrize(
    ("test", "defined"),
    [
        ('test "/a"‸ -> "/b"', ["site.rules: move"]),
        ('test "/c"‸ -> "/d"', ["site.rules: `^/c$`"]),
        ('test "/x"‸ -> unchanged', []),
    ],
)
def test_a_test_leads_to_the_rewrite_that_takes_its_key(test, defined):
    """To its name, or where it has none to its source."""
    assert _defined(site('rewrite move `^/a$` -> "/b"', 'rewrite `^/c$` -> "/d"', test)) == defined


def test_a_rewrite_that_takes_a_tests_key_may_stand_in_another_file():
    """Files that are read together are one."""
    assert _defined(site('test "/a‸" -> "/b"'), other=site('rewrite move `^/a$` -> "/b"')) == ["other.rules: move"]


def test_a_target_leads_to_all_its_blocks():
    """Blocks of one target add up across files."""
    assert _defined("target si‸te {}\n", other="target site {}\n") == ["site.rules: site", "other.rules: site"]


@pytest.mark.parametrize(
    ("text", "defined"),
    [(site('rewr‸ite move `^/a$` -> "/b"'), ["site.rules: move"]), (site('rewrite `^/‸a$` -> "/b"'), []), ("‸", [])],
)
def test_elsewhere_there_is_little_to_go_to(text, defined):
    """A rewrite is defined where it stands."""
    assert _defined(text) == defined


def test_targets_hold_their_rewrites():
    """By their names, or else by their sources; tests are not part of the outline."""
    text = 'target site { rewrite move `^/a$` -> "/b" rewrite `^/c$` -> "/d" test "/a" -> "/b" }\ntarget "" {}\n'
    site, nameless = symbols(document(text))
    assert (site.name, site.name_span.text, nameless.name) == ("site", "site", "(no name)")
    assert [(each.name, each.detail) for each in site.children] == [("move", "^/a$ → /b"), ("^/c$", "/d")]


def test_a_symbol_holds_what_is_gone_to():
    """The protocol demands that the name lies within the whole."""
    (site,) = symbols(document('target site { rewrite `^/a$` -> "/b" }'))
    for each in (site, *site.children):
        assert each.span.start <= each.name_span.start <= each.name_span.end <= each.span.end


def _titles(text: str) -> list[str]:
    return [f"{lens.span.text[:14]}: {lens.title}" for lens in lenses(analysed(text), NAME)]


def test_each_rewrite_shows_what_its_tests_come_to():
    """Tests count for the rewrite that takes their key, and for the target."""
    text = site(
        'rewrite a `^/a` -> "/b"',
        'rewrite c `^/c` -> "/d"',
        'rewrite e `^/e` -> "/f"',
        'test "/a1" -> "/b"',
        'test "/a2" -> "/x"',
        'test "/a3" -> "/b"',
        'test "/c" -> "/d"',
        'test "/y" -> unchanged',
    )
    assert _titles(text) == [
        "site: 1 of 5 tests fails",
        "rewrite a `^/a: 1 of 3 tests fails",
        "rewrite c `^/c: 1 test passes",
        "rewrite e `^/e: no tests",
    ]


def test_several_tests_are_spoken_of_in_the_plural():
    """Two fail, two pass."""
    failing = site('rewrite a `^/a` -> "/b"', 'test "/a1" -> "/x"', 'test "/a2" -> "/x"')
    assert _titles(failing)[1] == "rewrite a `^/a: 2 of 2 tests fail"
    assert _titles(failing.replace("/x", "/b"))[1] == "rewrite a `^/a: 2 tests pass"


def test_a_lens_leads_to_the_first_test_that_fails():
    """Or, where all pass, to the first."""
    text = site('rewrite a `^/a` -> "/b"', 'test "/a1" -> "/b"', 'test "/a2" -> "/x"')
    target, rewrite = lenses(analysed(text), NAME)
    assert target.test == rewrite.test
    assert rewrite.test.text == 'test "/a2" -> "/x"'


def test_while_there_are_mistakes_there_are_no_lenses():
    """What tests come to is not known."""
    assert _titles(site('rewrite a `^/a` -> "/b"', "test 7")) == []
    assert list(lenses(analysed(""), "other.rules")) == []
