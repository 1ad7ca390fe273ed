import pytest
from linting import findings, places

NAME = "chained-rewrite"


def test_a_result_that_another_matches():
    """The message shows a key, its result, and who matches that."""
    (found,) = findings(NAME, "rewrite `^/a/(.*)$` -> `/b/$1`\nrewrite second `^/b/(.*)$` -> `/c/$1`")
    assert found.message == "`/a/` becomes `/b/`, which `second` matches: it is not applied to results"
    assert found.notes[0].span.text == "`^/b/(.*)$`"


@pytest.mark.parametrize(
    "statements",
    [
        "rewrite `^/a/(.*)$` -> `/b/$1`",
        "rewrite `^/a/(.*)$` -> `/a/b/$1`",  # itself
        "rewrite `^/docs/latest/(.*)$` -> `/docs/4.2/$1`\nrewrite `^/docs/(.*)$` -> `/manual/$1`",  # both match the key
        "rewrite `^/a$` -> jinja `/{{ user.username }}`\nrewrite `^/b` -> `/c`",  # nobody is signed in
        "rewrite `^a` -> `/b`\nrewrite `^/b` -> `/c`",  # no key reaches it
    ],
)
def test_results_that_nobody_expects_to_go_on(statements):
    """Nothing is said of a rewrite itself, of one that matched the key before, and of what has no result."""
    assert places(NAME, statements) == []
