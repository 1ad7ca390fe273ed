import pytest

from gotemplate.template.calling import INT, STRING, Vocabulary, function
from gotemplate.template.standard import STANDARD


def test_a_function_counts_its_arguments():
    """A function takes as many arguments as it has parameters, or more if its last parameter repeats."""
    exact, variadic = function(print, INT, STRING), function(print, INT, rest=STRING)
    assert [exact.accepts(count) for count in (1, 2, 3)] == [False, True, False]
    assert [variadic.accepts(count) for count in (0, 1, 5)] == [False, True, True]
    assert (variadic.parameter(0), variadic.parameter(4)) == (INT, STRING)


VOCABULARY = Vocabulary(STANDARD, {"now": "it asks the clock"}, {"User", "Key"})
DOT = "data is read with a dot before its name"


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("now", "the function `now` is refused: it asks the clock", None),
        ("printff", "unknown function `printff`", "did you mean `printf`?"),
        ("User", "unknown function `User`", f"did you mean `.User`? {DOT}"),
        ("key", "unknown function `key`", f"did you mean `.Key`? {DOT}"),
        ("qqqqq", "unknown function `qqqqq`", None),
        ("if", "the keyword `if` is not allowed here", None),
    ],
)
def test_an_unknown_name_is_reported_with_a_reason(name, message, help):
    mistake = VOCABULARY.unknown(name, 7)
    assert (str(mistake), mistake.help) == (message, help)
    assert (mistake.offset, mistake.end) == (7, 7 + len(name))
