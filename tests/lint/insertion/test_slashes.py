import pytest

from tornado_proxy.lint.insertion.slashes import admits_no_slash, matches_every_slash, matches_no_slash


@pytest.mark.parametrize(
    ("expression", "every"),
    [
        *(("[^a-z]", True), ("[^a-z]+", True), ("([/@])*", True), ("/", True), (r"\W", True), (".", True)),
        *(("[a-z]", False), ("/{2}", False), ("a/", False), ("/a", False), (r"\pL", False), ("(", False), ("", False)),
    ],
)
def test_expressions_that_match_every_slash(expression, every):
    """One character, or a run of any length, with `/` among them, finds each slash of any text."""
    assert matches_every_slash(expression) is every


@pytest.mark.parametrize(
    ("expression", "none"), [("[a-z]+@x", True), (r"(\w)-", True), (".", False), ("a/b", False), ("(", False)]
)
def test_expressions_that_match_no_slash(expression, none):
    """No part of the expression reads a slash."""
    assert matches_no_slash(expression) is none


@pytest.mark.parametrize(
    ("expression", "admits"),
    [("^[a-z]+$", True), (r"\A\w*\z", True), ("[a-z]+", False), ("^a/b$", False), ("(?m)^a$", False), ("(", False)],
)
def test_expressions_that_admit_no_slash(expression, admits):
    """The expression speaks of the whole text, and no part of it reads a slash."""
    assert admits_no_slash(expression) is admits
