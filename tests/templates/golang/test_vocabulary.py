import pytest

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.standard import STANDARD
from tornado_proxy.templates.golang.vocabulary import Vocabulary

VOCABULARY = Vocabulary(STANDARD, {"now": "it asks the clock"})
DOT = "data is read with a dot before its name"


def test_a_function_that_exists_is_no_mistake():
    """Nothing is raised."""
    VOCABULARY.check("printf", 0)


@pytest.mark.parametrize(
    ("name", "message", "help"),
    [
        ("now", "the function `now` is refused: it asks the clock", None),
        ("printff", "there is no function `printff`", "did you mean `printf`?"),
        ("User", "there is no function `User`", f"did you mean `.User.Username`? {DOT}"),
        ("key", "there is no function `key`", f"did you mean `.Key`? {DOT}"),
        ("qqqqq", "there is no function `qqqqq`", None),
        ("if", "the keyword `if` cannot stand here", None),
    ],
)
def test_a_name_that_is_none_is_told_why(name, message, help):
    """Refused with the reason, misspelled, or a keyword in the wrong place."""
    with pytest.raises(TemplateMistake) as caught:
        VOCABULARY.check(name, 7)
    assert (str(caught.value), caught.value.help) == (message, help)
    assert (caught.value.offset, caught.value.end) == (7, 7 + len(name))
