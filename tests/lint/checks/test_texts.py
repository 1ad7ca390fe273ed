import pytest
from linting import findings, fixed, marked_texts

PERCENT_ENCODING = "percent-encoding"
QUERY_IN_RULE = "query-in-rule"
MISSING_DIALECT = "missing-dialect"


def test_percent_signs_that_encode_nothing():
    """A percent sign is a character like another."""
    assert marked_texts(PERCENT_ENCODING, 'rewrite `^/100%$` -> "/a%zz"\ntest "/5%" -> unchanged') == []


def test_all_places_where_keys_are_written():
    """Sources, plain templates, keys of tests and expected keys are looked at; other templates may print anything."""
    text = (
        'rewrite `^/a%20b$` -> "/c%20d"\nrewrite `^/x$` -> jinja "/%20"\ntest "/e%20f" -> "/g%20h"\ntest "/x" -> error'
    )
    assert marked_texts(PERCENT_ENCODING, text) == ["%20"] * 4


@pytest.mark.parametrize(
    ("written", "after", "cure"),
    [
        ("^/a%20b$", "^/a b$", "write a space"),
        ("^/%C3%A4$", "^/ä$", "write `ä`"),
        ("^/a%2Eb$", r"^/a\.b$", r"write `\.`"),
    ],
)
def test_the_fix_decodes(written, after, cure):
    """Bytes of one character are taken together, and what means something in an expression is escaped."""
    statement = f"rewrite `{written}` -> `/x`"
    assert findings(PERCENT_ENCODING, statement)[0].help == cure
    assert fixed(PERCENT_ENCODING, statement) == f"rewrite `{after}` -> `/x`"


@pytest.mark.parametrize("encoded", ["%00", "%FF", "%0A"])
def test_what_no_key_holds_is_not_decoded(encoded):
    """Control characters and broken UTF-8 have no place in a key."""
    (found,) = findings(PERCENT_ENCODING, f"rewrite `^/{encoded}$` -> `/x`")
    assert (found.help, found.fixes) == ("remove it: no key contains such a character", ())


@pytest.mark.parametrize(
    ("source", "template", "queries"),
    [
        (r"^/show\?page=(.*)$", "`/$1`", [r"\?page="]),
        ("^/show[?]page=(.*)$", "`/$1`", ["[?]page="]),
        ("^/a$", "`/b?x=1`", ["?x="]),
        (r"^/what\?$", "`/b?`", []),
        ("^/a?b=$", "`/b`", []),
        ("^/a$", "jinja `/b?x={{ key }}`", []),
    ],
)
def test_a_question_mark_with_a_name_and_a_value(source, template, queries):
    """What looks like a query is found in sources and plain templates; a question mark alone is none."""
    assert marked_texts(QUERY_IN_RULE, f"rewrite `{source}` -> {template}") == queries


@pytest.mark.parametrize(
    ("rewrite", "queries"), [("rewrite `^/a$` -> `/b`", ["?x="]), (r"rewrite `^/a\?x=1$` -> `/b`", [r"\?x="])]
)
def test_a_test_whose_key_has_a_query(rewrite, queries):
    """The slip is the test's, unless a rewrite asks for the same."""
    assert marked_texts(QUERY_IN_RULE, f'{rewrite} test "/a?x=1" -> unchanged') == queries


@pytest.mark.parametrize("template", ['"/{a}"', '"/{{"', 'jinja "/{{ key }}"', 'go "/{{ .Key }}"', '"/%7B%7B"'])
def test_templates_without_foreign_holes(template):
    """Single braces and templates with a dialect are left alone."""
    assert marked_texts(MISSING_DIALECT, f"rewrite `^/a$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "dialect"),
    [
        ("/{{ user.username }}", "jinja"),
        ("/{% if user %}a{% endif %}", "jinja"),
        ("/{{ .User.Username }}", "go"),
        ("/{{- .Key -}}", "go"),
        ("/{{ if .User }}a{{ end }}", "go"),
        ("/{{ lower .User.GetUsername }}", "go"),
        ('/{{ printf "x" }}', "go"),
    ],
)
def test_the_dialect_is_recognised_by_its_holes(template, dialect):
    """The fix writes the dialect that the template seems to be in."""
    assert fixed(MISSING_DIALECT, f"rewrite `^/a$` -> `{template}`") == f"rewrite `^/a$` -> {dialect} `{template}`"


@pytest.mark.parametrize(("hole", "groups"), [("{{ key }}", "`groups.name`"), ("{{ .Key }}", "`.Groups.name`")])
def test_references_to_groups_would_lose_their_meaning(hole, groups):
    """Where a dollar refers to a group the author has to write it anew, and is told how."""
    (found,) = findings(MISSING_DIALECT, f"rewrite `^/(a)$` -> `/{hole}/$1`")
    assert found.fixes == ()
    assert groups in found.help
