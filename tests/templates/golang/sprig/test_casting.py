import pytest
from go_programs import written


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
