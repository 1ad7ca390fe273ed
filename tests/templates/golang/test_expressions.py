import pytest

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.golang.constants import number
from tornado_proxy.templates.golang.expressions import KEYWORDS
from tornado_proxy.templates.golang.grammar import action_parser
from tornado_proxy.templates.golang.nodes import (
    BoolLiteral,
    Chain,
    Dot,
    FieldChain,
    Identifier,
    NilLiteral,
    NumberLiteral,
    Pipeline,
    StringLiteral,
    Variable,
)


def _pipeline(text):
    return action_parser().parse(text).pipeline


def _operand(text):
    (command,) = _pipeline(text).commands
    (operand,) = command.operands
    return operand


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        (".", Dot(0, 1)),
        ("nil", NilLiteral(0, 3)),
        ("true", BoolLiteral(0, 4, True)),
        ("false", BoolLiteral(0, 5, False)),
        ("-1.5", NumberLiteral(0, 4, number("-1.5"))),
        (r'"a\n"', StringLiteral(0, 5, b"a\n")),
        (r"`a\n`", StringLiteral(0, 5, rb"a\n")),
        (".X", FieldChain(0, 2, ("X",))),
        (".X.Y.z1", FieldChain(0, 7, ("X", "Y", "z1"))),
        ("$", Variable(0, 1, "$")),
        ("$x.Y", Variable(0, 4, "$x", ("Y",))),
        ("len", Identifier(0, 3, "len")),
        ("len.X", Chain(0, 5, Identifier(0, 3, "len"), ("X",))),
        ("iffy", Identifier(0, 4, "iffy")),
    ],
)
def test_operands_are_read(text, operand):
    """Each kind of them, with its place."""
    assert _operand(text) == operand


def test_a_character_is_a_number():
    """Its spelling makes no float of it."""
    assert _operand("'.'").number.integer == 46


def test_a_pipeline_in_parentheses_is_an_operand():
    """Its place has the parentheses in it; fields may follow."""
    operand = _operand("( .X | len ).Y")
    assert isinstance(operand, Chain)
    assert isinstance(operand.operand, Pipeline)
    assert (operand.operand.start, operand.operand.end, operand.fields) == (0, 12, ("Y",))


def test_commands_follow_one_another():
    """A closing bar means nothing."""
    first, second = _pipeline('.X  1|printf "a" |').commands
    assert (len(first.operands), len(second.operands)) == (2, 2)
    assert (first.start, first.end, second.start, second.end) == (0, 5, 6, 16)


@pytest.mark.parametrize(
    ("text", "variables", "assigns"),
    [
        ("$x := 1", ("$x",), False),
        ("$x = 1", ("$x",), True),
        ("$i, $e := .X", ("$i", "$e"), False),
        ("$x:=1", ("$x",), False),
    ],
)
def test_variables_take_the_result(text, variables, assigns):
    """They are declared, or assigned."""
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
def test_actions_are_read(text, keyword, has_pipeline, name):
    """A keyword, a name, a pipeline: what each has."""
    action = action_parser().parse(text)
    assert (action.keyword, action.pipeline is not None, action.name) == (keyword, has_pipeline, name)


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        (r'print "a\q"', r"`\q` is no escape that Go knows", 8),
        ("print 'ab'", "a character constant holds one character", 6),
        ("1__0", "`1__0` is no number", 0),
        ("true.X", "a constant, or the cursor, has no fields", 0),
        ('print "a".X', "a constant, or the cursor, has no fields", 6),
        ("..X", "a constant, or the cursor, has no fields", 0),
        (".X².Y", "`²` cannot stand in a name", 2),
    ],
)
def test_a_wrong_constant_or_name_is_a_mistake(text, message, offset):
    """With its place in the action."""
    with pytest.raises(TemplateMistake) as caught:
        action_parser().parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_names_may_have_letters_and_digits_of_any_script():
    """As Go's names do."""
    assert _operand(".日本٣") == FieldChain(0, 4, ("日本٣",))


def test_keywords_are_go_s():
    """They cannot be functions."""
    assert {"if", "end", "nil", "break"} <= KEYWORDS
    assert "len" not in KEYWORDS
