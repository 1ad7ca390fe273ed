"""What is told of the place under the pointer."""

from __future__ import annotations

import textwrap

import pytest
from editing import CURSOR, NAME, analysed, asked, site
from hypothesis import given
from hypothesis import strategies as st
from rule_texts import document, statement

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.tools.lsp.hover import (
    TemplateReference,
    definitions,
    group_of,
    hover_at,
    lenses,
    page,
    reference_at,
    symbols,
)

_CHECK = next(check for check in CHECKS if check.name == "unescaped-dot")


def _describe(text: str) -> str | None:
    found = hover_at(*asked(text))
    return found[0] if found else None


def test_a_pattern_is_reported_part_by_part():
    """The part under the pointer is in bold, and an example shows what matches."""
    told = _describe(
        site(r'rewrite `^/press/(?P<page>[^/]‸+)\.html$` -> "/archive/$page"', 'test "/press/a.html" -> "/archive/a"')
    )
    assert (
        told
        == textwrap.dedent(r"""
        Matches the whole key:

        - `^` the beginning of the key
        - `/press/` this text
        - **`(?P<page>[^/]+)` group 1, `page`: any character but `/`, once or more**
        - `\.html` `.html`
        - `$` the end of the key

        For example `/press/a.html`""").strip()
    )


@pytest.mark.parametrize(
    ("source", "reach"),
    [
        ("^/a$", "the whole key:"),
        ("^/a", "the beginning of the key:"),
        ("/a$", "the end of the key:"),
        ("/a", "anywhere in the key:"),
    ],
)
def test_where_a_pattern_matches_is_reported_first(source, reach):
    """Whether it is anchored is what its author forgets."""
    assert _describe(site(f'rewrite `‸{source}` -> "/b"')).startswith(f"Matches {reach}")


def test_an_endless_pattern_is_cut():
    """A long text is cut."""
    assert _describe(site(f'rewrite `‸^{"/[a-z]" * 50}$` -> "/b"')).count("\n- ") == 61


def test_a_pattern_with_a_mistake_is_not_reported():
    """The diagnostic reports the mistake."""
    assert _describe(site('rewrite `^/‸(` -> "/b"')) is None


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ('"/b/$pa‸ge"', "group 1 of the source, `(?P<page>[^/]+)`\n\nIt matches any character but `/`, once or more"),
        ('"/b/$0‸"', "`0`: all that the source matches"),
        ('"/b/${x‸}"', None),
        (
            'jinja "/{{ groups.pa‸ge }}"',
            "group 1 of the source, `(?P<page>[^/]+)`\n\nIt matches any character but `/`, once or more",
        ),
        ('jinja "/{{ user.user‸name }}"', "`user.username`: the name; always one segment of a key"),
        ('jinja "/{{ user.no‸where }}"', None),
        ('go "/{{ .User.GetUser‸name }}"', "`.User.GetUsername`: the name; always one segment of a key"),
        ('"/‸b/$page"', None),
    ],
)
def test_what_a_template_names_is_reported(template, told):
    """A group by its definition, a variable by what it holds."""
    text = _describe(
        f"# allow-file: unknown-group, unsafe-insertion, untested-rewrite\n{site(f'rewrite `^/a/(?P<page>[^/]+)$` -> {template}')}"
    )
    assert text == told


@pytest.mark.parametrize(
    ("test", "told"),
    [
        ('test "/a"‸ -> "/b"', "✓ `move` takes the key, it becomes `/b`"),
        ('test "/a"‸ -> "/c"', "✗ `move` takes the key, it becomes `/b`"),
        ('test "/c"‸ -> unchanged', "✓ No rewrite matches the key"),
        ('test "/u"‸ -> error', "✓ `#2` takes the key: the template reads `user.username`, but nobody is signed in"),
    ],
)
def test_what_a_test_gives_is_reported(test, told):
    """Which rewrite takes the key, and what becomes of it."""
    text = _describe(site('rewrite move `^/a$` -> "/b"', 'rewrite `^/u$` -> jinja "/{{ user.username }}"', test))
    assert text.split("\n\n---\n\n")[0] == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (site('rewr‸ite move `^/a$` -> "/b"', 'test "/a" -> "/b"'), "rewrite 1 of `site` `move`: 1 test passes"),
        (site('rewr‸ite `^/a$` -> "/b"', 'test "/a" -> "/b"', "test 7"), "rewrite 1 of `site`"),
        ('target si‸te { rewrite `^/a$` -> "/b" test "/a" -> "/b" }', "target `site`: 1 rewrite, 1 test passes"),
        ("target si‸te { test 7 }", "target `site`: 0 rewrites"),
    ],
)
def test_what_is_known_of_a_rewrite_and_a_target_is_reported(text, told):
    """Its number and its tests, unless a mistake keeps them from being run."""
    assert _describe(text) == told


def test_the_name_of_a_check_in_a_comment_shows_its_manual_page():
    """With the examples."""
    assert _describe(site('rewrite `^/a.b$` -> "/c"  # allow: unescaped-‸dot')) == page(_CHECK)
    assert page(_CHECK).startswith("## unescaped-dot\n\ndoubts, warning\n\n")


def test_a_finding_shows_what_the_manual_says_of_it():
    """Below what the place means itself, and without the examples."""
    told = _describe(site('rewrite `^/a‸.b$` -> "/c"', 'test "/a.b" -> "/c"'))
    meaning, finding = told.split("\n\n---\n\n")
    assert meaning.startswith("Matches the whole key")
    assert finding.startswith("**unescaped-dot**: A `.` that matches any character")
    assert "### Avoid" not in finding


@pytest.mark.parametrize(
    "text", ["‸", "# a com‸ment\n", "target site { ‸ }", "# allow: nothing-kn‸own\ntarget site {}"]
)
def test_where_nothing_stands_nothing_is_reported(text):
    """Between statements, in comments."""
    assert "Matches" not in (_describe(text) or "")


def test_of_a_file_that_is_not_there_nothing_is_reported():
    """A request may come for a file that was closed."""
    analysis, _, offset = asked("‸")
    assert hover_at(analysis, "other.rules", offset) is None


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("tar‸get site {}", "site"),
        ("target si‸te {}", "site"),
        ('target site { rewr‸ite a `^/a` -> "/b" }', 'rewrite a `^/a` -> "/b"'),
        ('target site { rewrite a `^/‸a` -> "/b" }', "`^/a`"),
        ('target site { rewrite a `^/(a)` -> "/$‸1" }', "$1"),
        ('target site { rewrite a `^/(a)` -> "\\u002f$‸1" }', "$1"),
        ('target site { test "/a" ‸-> "/b" }', 'test "/a" -> "/b"'),
        ("target site { ‸ }", None),
        ("target site {}\n‸\n", None),
    ],
)
def test_a_hover_is_about_a_span(text, about):
    """It covers a target's name, a rewrite, its source, a reference in its template, or a test."""
    found = hover_at(*asked(text))
    assert (found[1].text if found else None) == about


@pytest.mark.parametrize(
    ("name", "extent"), [("page", (6, 21)), ("2", (6, 21)), ("1", (2, 5)), ("3", None), ("x", None)]
)
def test_a_group_is_found_by_name_and_by_number(name, extent):
    """Its extent is a part of the source."""
    found = group_of(statement('rewrite `^/(a)/(?P<page>[^/]+)` -> "/$1"'), name)
    assert (found.extent if found else None) == extent


def test_a_source_with_a_mistake_has_no_groups():
    """It has no tree."""
    assert group_of(statement('rewrite `^/(` -> "/a"'), "1") is None


@pytest.mark.parametrize(
    ("dialect", "text", "found"),
    [
        (Dialect.PLAIN, "/a/$pa‸ge/b", TemplateReference("page", 3, 8, is_group=True)),
        (Dialect.PLAIN, "/a/${1‸}b", TemplateReference("1", 3, 7, is_group=True)),
        (Dialect.PLAIN, "/a/$$pa‸ge", None),
        (Dialect.JINJA, "/{{ groups.pa‸ge }}", TemplateReference("page", 4, 15, is_group=True)),
        (Dialect.JINJA, "/{{ groups['pa‸ge'] }}", TemplateReference("page", 4, 18, is_group=True)),
        (Dialect.JINJA, "/{{ us‸er.username }}", TemplateReference("user", 4, 8)),
        (Dialect.JINJA, "/{{ user.user‸name }}", TemplateReference("user.username", 9, 17)),
        (Dialect.JINJA, "/{{ 'us‸er' }}", None),
        (Dialect.JINJA, "/us‸er/{{ key }}", None),
        (Dialect.JINJA, "{% if us‸er", TemplateReference("user", 6, 10)),
        (Dialect.GO, "/{{ .Groups.pa‸ge }}", TemplateReference("page", 4, 16, is_group=True)),
        (Dialect.GO, '/{{ index .Groups "pa‸ge" }}', TemplateReference("page", 10, 24, is_group=True)),
        (Dialect.GO, "/{{ $.User.GetUser‸name }}", TemplateReference("User.GetUsername", 11, 22)),
        (Dialect.GO, "/{{ up‸per .Key }}", None),
    ],
)
def test_a_reference_is_found_at_a_place_of_a_template(dialect, text, found):
    """It is a group or a variable with its path; plain text and strings have none."""
    assert reference_at(dialect, text.replace(CURSOR, ""), text.index(CURSOR)) == found


@given(st.sampled_from(Dialect), st.text(alphabet="{}%$. groupsGuser1[]'\"|\\", max_size=60), st.data())
def test_templates_with_mistakes_have_references_too(dialect, text, data):
    """No text makes the search fail."""
    found = reference_at(dialect, text, data.draw(st.integers(0, len(text))))
    assert found is None or 0 <= found.start <= found.end <= len(text)


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
    """To its name, or to its source if it has no name."""
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
    """A rewrite is its own definition."""
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
    """The results of tests are unknown."""
    assert _titles(site('rewrite a `^/a` -> "/b"', "test 7")) == []
    assert list(lenses(analysed(""), "other.rules")) == []
