import pytest

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.actions import parse_action
from tornado_proxy.templates.golang.scanner import Inside


def _mistake(text):
    with pytest.raises(TemplateMistake) as caught:
        parse_action(Inside(text, 10, 8))
    return caught.value


def test_equal_actions_share_one_node():
    """A set of rules repeats its actions: each text is parsed once."""
    assert parse_action(Inside(" .Key ", 5, 3)) is parse_action(Inside(" .Key ", 50, 48))


@pytest.mark.parametrize(
    ("text", "message", "offset", "end"),
    [
        ("", "the action is empty", 10, 10),
        ("  ", "the action is empty", 10, 12),
        (".X | ( ", "the action ends where a value is expected", 15, 16),
        ("if ", "the action ends where a value is expected", 11, 12),
        (".X | | .Y", "`|` cannot stand here", 15, 16),
        ("print(1)", "`(` cannot stand here", 15, 16),
        ('"a" "b""c"', '`"c"` cannot stand here', 17, 20),
        ("break .X", "`.X` cannot stand here", 16, 18),
        ("$x := ", "the action ends where a value is expected", 14, 15),
        ("define .X", "`.X` cannot stand here", 17, 19),
        (".X + 1", "`+` cannot stand here", 13, 14),
        ("#", "`#` cannot stand here", 10, 11),
        ("$x=1", "`=` cannot follow `$x` without white space", 12, 13),
        ('.X"a"', '`"` cannot follow `.X` without white space', 12, 13),
        ('if"a"', '`"` cannot follow `if` without white space', 12, 13),
        ("else iffy", "`iffy` cannot stand here", 15, 19),
        (".+", "`+` cannot follow `.` without white space", 11, 12),
        ("(.X) (.Y)(.Z)", "`(` cannot stand here", 19, 20),
        ("print 1__0", "`1__0` is no number", 16, 20),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(text, message, offset, end):
    """Offsets count from the start of the template."""
    mistake = _mistake(text)
    assert (str(mistake), mistake.offset, mistake.end) == (message, offset, end)


@pytest.mark.parametrize(
    ("text", "help"),
    [
        (".X == 1", "values are compared by functions"),
        (".X && .Y", "conditions are joined by functions"),
        (".X[0]", "elements are read by a function"),
        ("print(1)", "arguments follow their function after white space"),
        (".Groups.1", 'write `index .Groups "1"`'),
        (".Request.Header.X-Tenant-Id", 'write `.Request.Header.Get "X-Tenant-Id"`'),
        (".Request.Header.A | printf .B-C", "arithmetic is done by functions"),
        ("{{.X", "an action cannot stand in an action"),
        ("", "a comment is written"),
    ],
)
def test_habits_of_other_languages_are_answered(text, help):
    """The cure is said."""
    assert help in (_mistake(text).help or "")
