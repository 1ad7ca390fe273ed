import pytest
from linting import findings, fixed, places

NAME = "missing-dialect"


@pytest.mark.parametrize("template", ['"/{a}"', '"/{{"', 'jinja "/{{ key }}"', 'go "/{{ .Key }}"', '"/%7B%7B"'])
def test_templates_without_foreign_holes(template):
    """Single braces and templates with a dialect are left alone."""
    assert places(NAME, f"rewrite `^/a$` -> {template}") == []


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
def test_the_dialect_is_told_from_its_holes(template, dialect):
    """The fix writes the dialect that the template seems to be in."""
    assert fixed(NAME, f"rewrite `^/a$` -> `{template}`") == f"rewrite `^/a$` -> {dialect} `{template}`"


@pytest.mark.parametrize(("hole", "groups"), [("{{ key }}", "`groups.name`"), ("{{ .Key }}", "`.Groups.name`")])
def test_references_to_groups_would_lose_their_meaning(hole, groups):
    """Where a dollar refers to a group the author has to write it anew, and is told how."""
    (found,) = findings(NAME, f"rewrite `^/(a)$` -> `/{hole}/$1`")
    assert found.fixes == ()
    assert groups in found.help
