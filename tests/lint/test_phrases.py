import pytest

from tornado_proxy.lint.phrases import counted, listed, shown


@pytest.mark.parametrize(("words", "sentence"), [("a", "a"), ("ab", "a and b"), ("abc", "a, b and c")])
def test_lists_as_sentences_have_them(words, sentence):
    """The last word is joined by `and`."""
    assert listed(words) == sentence


@pytest.mark.parametrize(("number", "said"), [(0, "0 files"), (1, "1 file"), (2, "2 files")])
def test_numbers_of_things(number, said):
    """One is singular, all else plural."""
    assert counted(number, "file") == said


def test_an_irregular_plural():
    """A plural that does not end in `s` alone is given."""
    assert counted(2, "fix", "fixes") == "2 fixes"


def test_a_key_is_shown_as_far_as_it_helps():
    """What is longer than a line holds ends in an ellipsis."""
    assert [shown("/a" * count) for count in (40, 41)] == [f"`{'/a' * 40}`", f"`{'/a' * 40}…`"]
