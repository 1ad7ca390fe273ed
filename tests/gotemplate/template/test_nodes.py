import pytest

from gotemplate.template.errors import TemplateMistake
from gotemplate.template.nodes import KEYWORDS, Chain, Dot, action_parser, parse_action


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (r'print "a\q"', r"invalid escape `\q`", 8),
        ("print 'ab'", "a character constant has one character", 7),
        ("1__0", "invalid number `1__0`", 0),
        ("true.X", "a constant has no fields", 0),
        ('print "a".X', "a constant has no fields", 6),
        ("..X", "unexpected second dot", 0),
        (".X².Y", "`²` is not allowed in a name", 2),
    ],
)
def test_a_wrong_constant_or_name_is_a_mistake(text, message, offset):
    with pytest.raises(TemplateMistake) as caught:
        action_parser().parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_names_may_have_letters_and_digits_of_any_script():
    ((operand,),) = action_parser().parse(".日本٣").pipeline.commands
    assert operand == Chain(0, 4, Dot(0, 0), ("日本٣",))


def test_keywords_are_those_of_go():
    """The keywords of Go's templates are reserved, and the names of functions are not."""
    assert {"if", "end", "nil", "break"} <= KEYWORDS
    assert "len" not in KEYWORDS


def test_the_parser_is_built_once():
    assert action_parser() is action_parser()


def _mistake(text):
    with pytest.raises(TemplateMistake) as caught:
        parse_action(text, 10)
    return caught.value


@pytest.mark.parametrize(
    ("text", "message", "offset", "end"),
    [
        ("", "the action is empty", 10, 10),
        ("  ", "the action is empty", 10, 12),
        (".X | ( ", "the action ends where a value is expected", 15, 16),
        ("if ", "the action ends where a value is expected", 11, 12),
        (".X | | .Y", "`|` is not allowed here", 15, 16),
        ("print(1)", "`(` is not allowed here", 15, 16),
        ('"a" "b""c"', '`"c"` is not allowed here', 17, 20),
        ("break .X", "`.X` is not allowed here", 16, 18),
        ("$x := ", "the action ends where a value is expected", 14, 15),
        ("define .X", "`.X` is not allowed here", 17, 19),
        (".X + 1", "`+` is not allowed here", 13, 14),
        ("#", "`#` is not allowed here", 10, 11),
        ("$x=1", "`=` cannot follow `$x` without white space", 12, 13),
        ('.X"a"', '`"` cannot follow `.X` without white space', 12, 13),
        ('if"a"', '`"` cannot follow `if` without white space', 12, 13),
        ("else iffy", "`iffy` is not allowed here", 15, 19),
        (".+", "`+` cannot follow `.` without white space", 11, 12),
        ("(.X) (.Y)(.Z)", "`(` is not allowed here", 19, 20),
        ("print 1__0", "invalid number `1__0`", 16, 20),
    ],
)
def test_a_syntax_error_is_reported_with_its_place(text, message, offset, end):
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
        ("{{.X", "an action cannot contain another action"),
        ("", "a comment is written"),
    ],
)
def test_syntax_of_other_languages_has_help(text, help):
    assert help in (_mistake(text).help or "")


def test_a_field_after_two_dots_has_help():
    assert _mistake("..X.Y").help == "write `.X.Y`"
