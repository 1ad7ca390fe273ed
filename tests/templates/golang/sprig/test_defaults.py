import pytest
from go_programs import failure, written


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('default "d" ""', "d"),
        ('default "d" "x"', "x"),
        ('default "d"', "d"),
        ('.Missing | default "d"', "d"),
        ("empty 0", "true"),
        ('empty "x"', "false"),
        ('empty (semver "1.0.0")', "false"),
        ('coalesce "" 0 nil "x" "y"', "x"),
        ("coalesce", "<no value>"),
        ("all 1 2 0", "false"),
        ("all 1 2", "true"),
        ("all", "true"),
        ('any "" 0 1', "true"),
        ('any ""', "false"),
        ("ternary 1 2 true", "1"),
        ("false | ternary 1 2", "2"),
    ],
)
def test_what_is_empty_is_replaced(call, result):
    """Nil, zero, false, and what has no elements."""
    assert written(f"{{{{ {call} }}}}", {}) == result


def test_a_template_may_fail_on_purpose():
    """With its own words."""
    assert failure('{{ fail "no key for you" }}') == 'no key for you, in `fail "no key for you"`'


@pytest.mark.parametrize(
    ("value", "integer", "floating"),
    [
        ("5", "5", "5"),
        ("1.9", "1", "1.9"),
        ("-1.9", "-1", "-1.9"),
        ('"42"', "42", "42"),
        ('"0x10"', "16", "0"),
        ('"010"', "8", "10"),
        ('"3.00"', "3", "3"),
        ('"1e3"', "0", "1000"),
        ('"x"', "0", "0"),
        ("true", "1", "1"),
        ("nil", "0", "0"),
        ("(list 1)", "0", "0"),
        ('(semver "5.0.0").Major', "5", "5"),
        ("1e300", "-9223372036854775808", "1e+300"),
    ],
)
def test_any_value_is_a_number(value, integer, floating):
    """Zero where it is none."""
    operand = value if value == "nil" else f"({value})"
    assert written(f"{{{{ int {operand} }}}} {{{{ int64 {operand} }}}}") == f"{integer} {integer}"
    assert written(f"{{{{ float64 {operand} }}}}") == floating


def test_numbers_have_the_type_that_their_function_names():
    """Which other functions may ask for."""
    assert written('{{ printf "%T %T %T" (int 1.5) (int64 1) (float64 1) }}') == "int int64 float64"


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('atoi "010"', "10"),
        ('atoi "x"', "0"),
        ('atoi "99999999999999999999"', "9223372036854775807"),
        ("toDecimal 777", "511"),
        ('toDecimal "755"', "493"),
        ("toDecimal 8", "0"),
        ("toDecimal 10.0", "8"),
    ],
)
def test_digits_are_read_in_a_base(call, result):
    """Ten, or eight."""
    assert written(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('typeOf "a"', "string"),
        ("typeOf (list)", "[]interface {}"),
        ("typeOf nil", "<nil>"),
        ("kindOf 1", "int"),
        ("kindOf (dict)", "map"),
        ("kindOf nil", "invalid"),
        ('typeIs "int" 1', "true"),
        ('kindIs "string" 1', "false"),
        ('typeIsLike "*semver.Version" (semver "1.0.0")', "true"),
        ('typeIsLike "semver.Version" (semver "1.0.0")', "true"),
        ('typeIsLike "int" "a"', "false"),
        ("deepEqual (list 1 2) (list 1 2)", "true"),
        ("deepEqual 1 (add 0 1)", "false"),
    ],
)
def test_types_are_named(call, result):
    """As Go names them."""
    assert written(f"{{{{ {call} }}}}") == result
