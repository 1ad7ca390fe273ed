"""What is told of the place under the pointer."""

from __future__ import annotations

import textwrap

import pytest
from editing import asked, site

from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.tools.lsp.hover import hover_at, page

_CHECK = next(check for check in CHECKS if check.name == "unescaped-dot")


def _describe(text: str) -> str | None:
    found = hover_at(*asked(text))
    return found.text if found else None


def test_a_pattern_is_told_part_by_part():
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
        ("^/a", "where the key begins; anything may follow:"),
        ("/a$", "where the key ends; anything may stand before:"),
        ("/a", "anywhere in the key:"),
    ],
)
def test_where_a_pattern_matches_is_told_first(source, reach):
    """Whether it is anchored is what its author forgets."""
    assert _describe(site(f'rewrite `‸{source}` -> "/b"')).startswith(f"Matches {reach}")


def test_an_endless_pattern_is_cut():
    """Nobody reads on."""
    assert _describe(site(f'rewrite `‸^{"/[a-z]" * 50}$` -> "/b"')).count("\n- ") == 61


def test_a_pattern_with_a_mistake_is_not_told():
    """The diagnostic says what is wrong."""
    assert _describe(site('rewrite `^/‸(` -> "/b"')) is None


@pytest.mark.parametrize(
    ("template", "told"),
    [
        ('"/b/$pa‸ge"', "group 1 of the source, `(?P<page>[^/]+)`\n\nIt takes any character but `/`, once or more"),
        ('"/b/$0‸"', "`0`: all that the source matched"),
        ('"/b/${x‸}"', None),
        (
            'jinja "/{{ groups.pa‸ge }}"',
            "group 1 of the source, `(?P<page>[^/]+)`\n\nIt takes any character but `/`, once or more",
        ),
        ('jinja "/{{ user.user‸name }}"', "`user.username`: the name; always one segment of a key"),
        ('jinja "/{{ user.no‸where }}"', None),
        ('go "/{{ .User.GetUser‸name }}"', "`.User.GetUsername`: the name; always one segment of a key"),
        ('"/‸b/$page"', None),
    ],
)
def test_what_a_template_names_is_told(template, told):
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
def test_what_a_test_comes_to_is_told(test, told):
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
def test_what_is_known_of_a_rewrite_and_a_target_is_told(text, told):
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
    assert finding.startswith("**unescaped-dot**: A `.` that stands for any character")
    assert "### Avoid" not in finding


@pytest.mark.parametrize(
    "text", ["‸", "# a com‸ment\n", "target site { ‸ }", "# allow: nothing-kn‸own\ntarget site {}"]
)
def test_where_nothing_stands_nothing_is_told(text):
    """Between statements, in comments."""
    assert "Matches" not in (_describe(text) or "")


def test_of_a_file_that_is_not_there_nothing_is_told():
    """A request may come for a file that was closed."""
    analysis, _, offset = asked("‸")
    assert hover_at(analysis, "other.rules", offset) is None
