"""Tests what the language server shows about a position: hovers, definitions and lenses."""

from __future__ import annotations

import re
import textwrap

import pytest
from editing import analysed_at_cursor, site, with_tree
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.regexp.automaton import language
from tornado_proxy.lint.checks import CHECKS
from tornado_proxy.rules.diagnostic import visible
from tornado_proxy.rules.tree import Dialect
from tornado_proxy.tools.lsp.hover import (
    code,
    definitions,
    hover_at,
    lens_places,
    outline,
    page,
    phrase,
    prose,
    reference_at,
    verdict_on,
)

_CHECK = next(check for check in CHECKS if check.name == "unescaped-dot")


def _hover_text(text: str) -> str | None:
    hover = hover_at(*analysed_at_cursor(text))
    return hover[0] if hover else None


def test_the_hover_of_a_pattern_explains_its_parts():
    """The part under the cursor is in bold, and an example shows a matching key."""
    text = _hover_text(
        site(r'rewrite `^/press/(?P<page>[^/]‸+)\.html$` -> "/archive/$page"', 'test "/press/a.html" -> "/archive/a"')
    )
    assert (
        text
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
    ("source", "extent"),
    [
        ("^/a$", "the whole key:"),
        ("^/a", "the beginning of the key:"),
        ("/a$", "the end of the key:"),
        ("/a", "anywhere in the key:"),
    ],
)
def test_the_hover_of_a_pattern_begins_with_its_anchoring(source, extent):
    """Authors often forget to anchor a pattern, so the hover states it first."""
    assert _hover_text(site(f'rewrite `‸{source}` -> "/b"')).startswith(f"Matches {extent}")


def test_the_hover_of_a_long_pattern_is_shortened():
    """At most sixty parts are explained."""
    assert _hover_text(site(f'rewrite `‸^{"/[a-z]" * 50}$` -> "/b"')).count("\n- ") == 61


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('"/b/$pa‸ge"', "group 1 of the source, `(?P<page>[^/]+)`\n\nIt matches any character but `/`, once or more"),
        ('"/b/$0‸"', "`0`: all that the source matches"),
        ('"/b/${x‸}"', None),
        ('jinja "/{{ groups.pa‸ge }}"', "group 1 of the source, `(?P<page>[^/]+)`\n\nIt matches any character but `/`, once or more"),
        ('jinja "/{{ user.user‸name }}"', "`user.username`: the name; always one segment of a key"),
        ('jinja "/{{ us‸er.username }}"', "`user`: the user who is signed in; none without one"),
        ('jinja "/{{ user.no‸where }}"', None),
        ('go "/{{ .User.GetUser‸name }}"', "`.User.GetUsername`: the name; always one segment of a key"),
        ('"/‸b/$page"', None),
        ('"/b/$$pa‸ge"', None),
        ("jinja \"/{{ 'us‸er' }}\"", None),
        ('jinja "/us‸er/{{ key }}"', None),
        ('go "/{{ up‸per .Key }}"', None),
    ],
)  # fmt: skip
def test_the_hover_of_a_reference_explains_it(template, expected):
    """A group has its definition, and a variable has its meaning."""
    text = _hover_text(
        f"# allow-file: unknown-group, unsafe-insertion, untested-rewrite\n{site(f'rewrite `^/a/(?P<page>[^/]+)$` -> {template}')}"
    )
    assert text == expected


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ('test "/a"‸ -> "/b"', "✓ `move` takes the key, it becomes `/b`"),
        ('test "/a"‸ -> "/c"', "✗ `move` takes the key, it becomes `/b`"),
        ('test "/c"‸ -> unchanged', "✓ No rewrite matches the key"),
        ('test "/u"‸ -> error', "✓ `#2` takes the key: the template reads `user.username`, but nobody is signed in"),
    ],
)
def test_the_hover_of_a_test_has_its_result(test, expected):
    """The result is the rewrite that matches and the key that results."""
    rules = 'rewrite move `^/a$` -> "/b"', 'rewrite `^/u$` -> jinja "/{{ user.username }}"', 'test "/y" -> unchanged'
    text = _hover_text(site(*rules, test))
    assert text.split("\n\n---\n\n")[0] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (site('rewr‸ite move `^/a$` -> "/b"', 'test "/a" -> "/b"'), "rewrite 1 of `site` `move`: 1 test passes"),
        (site('rewr‸ite `^/a$` -> "/b"', 'test "/a" -> "/b"', "test 7"), "rewrite 1 of `site`"),
        ('target si‸te { rewrite `^/a$` -> "/b" test "/a" -> "/b" }', "target `site`: 1 rewrite, 1 test passes"),
        ("target si‸te { test 7 }", "target `site`: 0 rewrites"),
    ],
)
def test_the_hover_of_a_rewrite_or_target_counts_its_tests(text, expected):
    """A rewrite has its number, and tests are counted unless a mistake prevents their run."""
    assert _hover_text(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (site('redir‸ect 301 `^/a$` -> "/b"', 'test "/a" -> redirect 301 "/b"'), "redirect 1 of `site`: 1 test passes"),
        (site('redirect `^/a$` -> "/b"', 'test "/a"‸ -> gone'), "✗ `#1` takes the key, the answer is `redirect 302 /b`"),
        (site("redirects 301 `mo‸ved.txt`"), "redirects 2 addresses"),
        (site("redirects 301 `no‸ne.txt`"), None),
    ],
)  # fmt: skip
def test_the_hover_of_what_moved(text, expected, tmp_path, monkeypatch):
    """A redirect is a rule as a rewrite is; a list has its number of addresses, if it can be read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moved.txt").write_text("/a /b\n/c /d\n")
    assert (_hover_text(text) or "\n").split("\n")[0] == (expected or "")


def test_the_hover_of_a_check_in_a_comment_is_its_manual_page():
    """The manual page includes the examples."""
    assert _hover_text(site('rewrite `^/a.b$` -> "/c"  # allow: unescaped-‸dot')) == page(_CHECK)
    assert page(_CHECK).startswith("## unescaped-dot\n\ndoubts, warning\n\n")


def test_the_hover_of_a_finding_has_its_manual_page():
    """The page is below the explanation of the pattern, without the examples."""
    text = _hover_text(site('rewrite `^/a‸.b$` -> "/c"', 'test "/a.b" -> "/c"'))
    meaning, finding = text.split("\n\n---\n\n")
    assert meaning.startswith("Matches the whole key")
    assert finding.startswith("**unescaped-dot**: A `.` that matches any character")
    assert "### Avoid" not in finding


@pytest.mark.parametrize(
    "text",
    [
        "‸",
        "# a com‸ment\n",
        "target site { ‸ }",
        "# allow: nothing-kn‸own\ntarget site {}",
        "target site { rewrite `^/‸(` }",
    ],
)
def test_comments_blanks_and_invalid_patterns_have_no_hover(text):
    assert "Matches" not in (_hover_text(text) or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tar‸get site {}", "site"),
        ("target si‸te {}", "site"),
        ('target site { rewr‸ite a `^/a` -> "/b" }', 'rewrite a `^/a` -> "/b"'),
        ('target site { rewrite a `^/‸a` -> "/b" }', "`^/a`"),
        ('target site { rewrite a `^/(a)` -> "/$‸1" }', "$1"),
        ('target site { rewrite a `^/(a)` -> "\\u002f$‸1" }', "$1"),
        ('target site { rewrite a `^/(a)` -> "/${1‸}b" }', "${1}"),
        ("target site { rewrite a `^/(?P<p>a)` -> jinja `/{{ groups['p‸'] }}` }", "groups['p']"),
        ("target site { rewrite a `^/a` -> jinja `/{{ user.user‸name }}` }", "username"),
        ("target site { rewrite a `^/a` -> jinja `{% if us‸er` }", "user"),
        ('target site { rewrite a `^/(?P<p>a)` -> go `/{{ index .Groups "p‸" }}` }', '.Groups "p"'),
        ("target site { rewrite a `^/a` -> go `/{{ $.User.GetUser‸name }}` }", "GetUsername"),
        ('target site { test "/a" ‸-> "/b" }', 'test "/a" -> "/b"'),
        ("target site { ‸ }", None),
        ("target site {}\n‸\n", None),
    ],
)
def test_a_hover_has_the_span_of_its_subject(text, expected):
    """The span covers a target's name, a rewrite, its source, a reference in its template, or a test."""
    hover = hover_at(*analysed_at_cursor(text))
    assert (hover[1].text if hover else None) == expected


@given(st.sampled_from(Dialect), st.text(alphabet="{}%$. groupsGuser1[]'\"|\\", max_size=60), st.data())
def test_references_of_any_template_can_be_found(dialect, text, data):
    reference = reference_at(dialect, text, data.draw(st.integers(0, len(text))))
    assert reference is None or 0 <= reference.start <= reference.end <= len(text)


def _definition_texts(text: str, **other_files: str) -> list[str]:
    return [f"{span.source.name}: {span.text}" for span in definitions(*analysed_at_cursor(text, **other_files))]


@pytest.mark.parametrize(
    ("template", "expected"),
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
def test_a_group_is_defined_in_the_source(template, expected):
    assert _definition_texts(site(f"rewrite `^/(a)/(?P<page>[^/]+)$` -> {template}")) == [
        f"site.rules: {text}" for text in expected
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (site('test "/a"‸ -> "/b"'), ["other.rules: move"]),
        (site('test "/c"‸ -> "/d"'), ["other.rules: `^/c$`"]),
        (site('test "/x"‸ -> unchanged'), []),
        (site('rewr‸ite here `^/z$` -> "/b"'), ["site.rules: here"]),
        (site('rewrite `^/‸a$` -> "/b"'), []),
        ("target si‸te {}\n", ["site.rules: site", "other.rules: site"]),
        ("‸", []),
    ],
)
def test_a_test_leads_to_the_matching_rewrite_and_a_target_to_its_blocks(text, expected):
    """The definition is the name of the rewrite, or its source if it has no name; it may be in another file."""
    other = site('rewrite move `^/a$` -> "/b"', 'rewrite `^/c$` -> "/d"')
    assert _definition_texts(text, other=other) == expected


def test_a_list_leads_to_its_file(tmp_path, monkeypatch):
    """The definition of a list is the file, that of a test the line."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moved.txt").write_text("# old\n/a /b\n")
    places = [
        [each.place for each in definitions(*analysed_at_cursor(site(*statements)))]
        for statements in (["redir‸ects `moved.txt`"], ["redirects `moved.txt`", 'test "/a‸" -> redirect "/b"'])
    ]
    assert places == [["moved.txt:1:1"], ["moved.txt:2:1"]]


def _titles(text: str) -> list[str]:
    return [f"{span.text[:14]}: {verdict_on(tests)}" for span, tests in lens_places(*with_tree(text))]


def test_the_lens_of_a_rewrite_counts_its_tests():
    """Tests count for the rewrite that matches their key, and for the target."""
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


def test_a_file_with_mistakes_has_no_lenses():
    """The results of tests are unknown while a file has mistakes."""
    assert _titles(site('rewrite a `^/a` -> "/b"', "test 7")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("/a", "`/a`"), ("a`b", "``a`b``"), ("`x", "`` `x ``"), ("", "` `"), ("a\nb", "`a␊b`"), (" a ", "`  a  `")],
)
def test_the_fence_of_code_does_not_occur_in_it(text, expected):
    """Backticks are fenced by longer runs of backticks, and control characters are replaced."""
    assert code(text) == expected


@given(st.text(alphabet=st.one_of(st.sampled_from("` a"), st.characters()), min_size=1, max_size=40))
def test_the_fence_of_any_code_occurs_only_at_both_ends(text):
    """No run of backticks in the text has the length of the fence."""
    fenced = code(text)
    runs = re.findall("`+", fenced)
    assert runs[0] == runs[-1]
    assert runs[0] not in runs[1:-1]
    assert visible(text) in fenced


def test_prose_escapes_all_markdown_but_backticks():
    """Text between backticks is code, and an underscore is not emphasis."""
    assert prose("`a_b` is *no* key_") == "`a_b` is \\*no\\* key\\_"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("", "nothing"),
        ("abc", "`abc`"),
        (r"a\.b", "`a.b`"),
        ("(?i)ab", "from here on: in any case, then `ab` in any case"),
        ("(?-i)", "from here on: no longer in any case"),
        (r"^\A", "the beginning of the key, then the beginning of the key"),
        ("(?m)^$", "from here on: `^` and `$` match at every line, then the beginning of a line, then the end of a line"),
        (r"\b\B", "the edge of a word, then not the edge of a word"),
        ("a|b", "`a` or `b`"),
        ("a*", "`a`, any number of times"),
        ("a+?", "`a`, once or more, as few as possible"),
        ("a?", "`a`, once or not at all"),
        ("a{3}", "`a`, 3 times"),
        ("a{1}", "`a`, once"),
        ("a{2,}", "`a`, 2 times or more"),
        ("a{2,4}", "`a`, 2 to 4 times"),
        ("[^/]+", "any character but `/`, once or more"),
        ("[a-z0-9_]", "one of `a` to `z`, `0` to `9` and `_`"),
        ("[a-z]", "one of `a` to `z`"),
        ("[a]", "`a`"),
        (r"\d\W", "a digit, then anything but a letter, a digit or `_` (ASCII)"),
        (r"\pL\P{Greek}", "a character of `L`, then a character not of `Greek`"),
        ("[[:alpha:][:^digit:]]", "one of a character of `alpha` and a character not of `digit`"),
        (".", "any character"),
        ("(a)", "group 1: `a`"),
        ("(?P<page>[^/]+)", "group 1, `page`: any character but `/`, once or more"),
        ("(?:a)", "`a`"),
    ],
)  # fmt: skip
def test_every_construct_has_a_phrase(expression, expected):
    assert phrase(language(expression).tree) == expected


def test_the_outline_has_nested_lines_for_compound_parts():
    """Groups, alternatives and repetitions with several parts have a line for each part."""
    parts = outline(language("^/(?P<all>a(?:b.|c|)+)$").tree)
    assert [f"{'  ' * part.depth}{part.meaning}" for part in parts] == [
        "the beginning of the key",
        "`/`",
        "group 1, `all`:",
        "  `a`",
        "  once or more:",
        "    one of these:",
        "      all of this:",
        "        `b`",
        "        any character",
        "      `c`",
        "      nothing",
        "the end of the key",
    ]


@given(st.text(alphabet="ab/.*+?|()[]^$\\d{2,}iP<>:-", max_size=40))
def test_every_valid_expression_has_a_phrase_and_an_outline(expression):
    """Every extent of the outline lies within the text."""
    tree = language(expression).tree
    if tree is not None:
        assert phrase(tree)
        assert all(0 <= part.extent.start <= part.extent.end <= len(expression) for part in outline(tree))
