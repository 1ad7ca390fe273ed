import pytest
from jinja2 import StrictUndefined, UndefinedError

from tornado_proxy.templates.errors import RenderError
from tornado_proxy.templates.jinja.texts import backticked, described, written
from tornado_proxy.templates.jinja.views import Groups, UserView


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (1, "1"), (-0.5, "-0.5"), (True, "True"), ("", "")])
def test_texts_numbers_and_truth_values_have_a_text(value, text):
    """These may stand in a key."""
    assert written(value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "`none` has no text"),
        ([1], "a list has no text"),
        ((1,), "a list has no text"),
        ({}, "a mapping has no text"),
        (UserView(None), "`user` has no text"),
        (Groups(None), "`groups` has no text"),
        (object(), "this has no text"),
    ],
)
def test_other_values_have_no_text_that_a_key_could_mean(value, message):
    """Nobody means `None` or `['a']` to be part of a key."""
    with pytest.raises(RenderError) as caught:
        written(value)
    assert str(caught.value) == message


def test_what_is_undefined_says_so():
    """Its own message comes through."""
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        written(StrictUndefined(name="x"))


@pytest.mark.parametrize(
    ("value", "words"), [("a", "a text"), (1, "a number"), (True, "a truth value"), ({}, "a mapping")]
)
def test_values_are_described_in_the_words_of_authors(value, words):
    """Messages do not speak of Python's types."""
    assert described(value) == words


def test_messages_of_jinja_take_the_form_of_ours():
    """Names in backticks, no capital, no full stop."""
    assert backticked("Encountered unknown tag 'foo'.") == "encountered unknown tag `foo`"
