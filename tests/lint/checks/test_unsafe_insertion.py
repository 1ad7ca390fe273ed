import pytest
from linting import findings, places

NAME = "unsafe-insertion"


@pytest.mark.parametrize(
    "template", ['"/$1"', 'jinja "/{{ user.username }}/{{ groups[1] }}"', 'go "/{{ .User.GetUsername }}{{ .Key }}"']
)
def test_what_spans_one_segment_or_is_part_of_the_key(template):
    """A user's name, the key and its groups are no finding."""
    assert places(NAME, f"rewrite `^/(.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "what", "cure"),
    [
        ("jinja `/{{ request.headers['X-Team'] }}`", "this inserts a header", '| replace("/", "")'),
        ('go `/{{ .Request.Header.Get "X-Team" }}`', "this inserts a header", '| replace "/" ""'),
    ],
)
def test_what_a_client_chooses_is_found_in_both_dialects(template, what, cure):
    """The message says what is inserted, the help how its slashes go in this dialect."""
    (found,) = findings(NAME, f"rewrite `^/a$` -> {template}")
    assert found.message.startswith(what)
    assert cure in found.help


def test_carets_are_under_the_value():
    """The place is that of the value in the template, wherever it is on its lines."""
    assert places(NAME, "rewrite `^/a$` -> jinja `\n  /{{ user.email }}\n`") == ["user.email"]


def test_a_list_that_is_inserted_as_it_is():
    """All groups of a user have no text: the help says how one has it, or all."""
    (found,) = findings(NAME, "rewrite `^/a$` -> jinja `/{{ user.groups }}`")
    assert found.message == "this inserts all groups of the user: a list has no text, so that the template always fails"
    assert found.help == 'write one of them, `user.groups[0]`, or join them: `user.groups | join("-")`'
