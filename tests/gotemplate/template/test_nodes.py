import pytest

from gotemplate.template.errors import TemplateMistake
from gotemplate.template.nodes import (
    KEYWORDS,
    ActionNode,
    Chain,
    Constant,
    Dot,
    Identifier,
    Pipeline,
    Variable,
    action_parser,
    parse_action,
)
from gotemplate.template.text import number


def test_nodes_are_values():
    """Equal texts have equal nodes with equal places."""
    pipeline = Pipeline(1, 3, (), False, ((Chain(1, 3, Dot(1, 1), ("X",)),),))
    assert action_parser().parse(" .X ") == ActionNode(1, 3, pipeline=pipeline)


def _pipeline(text):
    return action_parser().parse(text).pipeline


def _operand(text):
    ((operand,),) = _pipeline(text).commands
    return operand


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        (".", Dot(0, 1)),
        ("nil", Constant(0, 3, None)),
        ("true", Constant(0, 4, True)),
        ("false", Constant(0, 5, False)),
        ("-1.5", Constant(0, 4, number("-1.5"))),
        (r'"a\n"', Constant(0, 5, b"a\n")),
        (r"`a\n`", Constant(0, 5, rb"a\n")),
        (".X", Chain(0, 2, Dot(0, 0), ("X",))),
        (".X.Y.z1", Chain(0, 7, Dot(0, 0), ("X", "Y", "z1"))),
        ("$", Variable(0, 1, "$")),
        ("$x.Y", Chain(0, 4, Variable(0, 2, "$x"), ("Y",))),
        ("len", Identifier(0, 3, "len")),
        ("len.X", Chain(0, 5, Identifier(0, 3, "len"), ("X",))),
        ("iffy", Identifier(0, 4, "iffy")),
    ],
)
def test_operands_are_parsed(text, operand):
    """Each kind of operand has its node, with its place."""
    assert _operand(text) == operand


def test_a_character_is_parsed_as_a_number():
    """A character constant is an integer, even if the character is a point."""
    assert _operand("'.'").value.integer == 46


def test_a_pipeline_in_parentheses_is_an_operand():
    """The place of the operand includes its parentheses, and fields may follow it."""
    operand = _operand("( .X | len ).Y")
    assert isinstance(operand, Chain)
    assert isinstance(operand.operand, Pipeline)
    assert (operand.operand.start, operand.operand.end, operand.fields) == (0, 12, ("Y",))


def test_commands_of_a_pipeline_are_in_order():
    """A bar at the end of a pipeline is ignored."""
    first, second = _pipeline('.X  1|printf "a" |').commands
    assert [(command[0].start, command[1].end) for command in (first, second)] == [(0, 5), (6, 16)]


@pytest.mark.parametrize(
    ("text", "variables", "assigns"),
    [
        ("$x := 1", ("$x",), False),
        ("$x = 1", ("$x",), True),
        ("$i, $e := .X", ("$i", "$e"), False),
        ("$x:=1", ("$x",), False),
    ],
)
def test_a_pipeline_may_declare_or_assign_variables(text, variables, assigns):
    """A pipeline has the variables before its `:=` or `=`, and whether it assigns to them."""
    pipeline = _pipeline(text)
    assert (pipeline.variables, pipeline.assigns, pipeline.start) == (variables, assigns, 0)


@pytest.mark.parametrize(
    ("text", "keyword", "has_pipeline", "name"),
    [
        (".X", "", True, None),
        ("if .X", "if", True, None),
        ("if(.X)", "if", True, None),
        ("with.X", "with", True, None),
        ("range $i, $e := .X", "range", True, None),
        ("else", "else", False, None),
        ("else if .X", "else if", True, None),
        ("else with .X", "else with", True, None),
        ("end", "end", False, None),
        ("break ", "break", False, None),
        ("continue", "continue", False, None),
        ('define "a"', "define", False, b"a"),
        ("block `b` .", "block", True, b"b"),
        ('template "c"', "template", False, b"c"),
        ('template "c".', "template", True, b"c"),
    ],
)
def test_actions_are_parsed(text, keyword, has_pipeline, name):
    """An action has a keyword, a pipeline and a name, if it needs them."""
    action = action_parser().parse(text)
    assert (action.keyword, action.pipeline is not None, action.name) == (keyword, has_pipeline, name)


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
    """A mistake in a constant or a name has its offset in the action."""
    with pytest.raises(TemplateMistake) as caught:
        action_parser().parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_names_may_have_letters_and_digits_of_any_script():
    """A name may have the characters that Go allows."""
    assert _operand(".日本٣") == Chain(0, 4, Dot(0, 0), ("日本٣",))


def test_keywords_are_those_of_go():
    """The keywords of Go's templates are reserved, and the names of functions are not."""
    assert {"if", "end", "nil", "break"} <= KEYWORDS
    assert "len" not in KEYWORDS


def test_the_parser_is_built_once():
    """All templates share one parser."""
    assert action_parser() is action_parser()


def _mistake(text):
    with pytest.raises(TemplateMistake) as caught:
        parse_action(text, 10)
    return caught.value


def test_equal_actions_share_one_node():
    """Actions with the same text are parsed once, wherever they stand."""
    assert parse_action(" .Key ", 5) is parse_action(" .Key ", 50)


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
    """The offsets of a mistake count from the start of the template."""
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
    """The help about syntax of another language shows the equivalent in Go templates."""
    assert help in (_mistake(text).help or "")


def test_a_field_after_two_dots_has_help():
    """The help writes the fields after a single dot."""
    assert _mistake("..X.Y").help == "write `.X.Y`"
