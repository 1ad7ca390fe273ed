import pytest
from linting import places

NAME = "query-in-rule"


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
    assert places(NAME, f"rewrite `{source}` -> {template}") == queries


@pytest.mark.parametrize(
    ("rewrite", "queries"), [("rewrite `^/a$` -> `/b`", ["?x="]), (r"rewrite `^/a\?x=1$` -> `/b`", [r"\?x="])]
)
def test_a_test_whose_key_has_a_query(rewrite, queries):
    """The slip is the test's, unless a rewrite asks for the same."""
    assert places(NAME, f'{rewrite} test "/a?x=1" -> unchanged') == queries
