import pytest

from tornado_proxy.lint.phrases import counted, listed


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
