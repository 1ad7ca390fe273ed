import re
from base64 import b64decode

import pytest
from go_programs import failure, rendered

from gotemplate.sprig import REFUSED
from gotemplate.sprig.basics import RANDOM
from gotemplate.template.errors import LimitError, RenderError, RenderLimits, TemplateMistake
from tornado_proxy.templates.go import PAGE_LIMITS, compile_page, compile_template


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
def test_empty_values_are_replaced(call, result):
    """Nil, zero, false, and values without elements are empty."""
    assert rendered(f"{{{{ {call} }}}}", {}) == result


def test_a_template_may_fail_with_its_own_message():
    """The error of `fail` has the message of the template."""
    assert failure('{{ fail "no key for you" }}') == 'no key for you, in `fail "no key for you"`'


@pytest.mark.parametrize(
    ("value", "int_text", "float_text"),
    [
        ("5", "5", "5"),
        ("1.9", "1", "1.9"),
        ("-1.9", "-1", "-1.9"),
        ('"42"', "42", "42"),
        ('"0x10"', "16", "0"),
        ('"010"', "8", "10"),
        ('"3.00"', "3", "3"),
        ('"3.7"', "3", "3.7"),
        ('"3."', "3", "3"),
        ('"+5.5"', "5", "5.5"),
        ('"-.5"', "0", "-0.5"),
        ('"08.5"', "0", "8.5"),
        ('"0x10.0"', "0", "0"),
        ('"1.0.0"', "0", "0"),
        ('"1e3"', "0", "1000"),
        ('"x"', "0", "0"),
        ("true", "1", "1"),
        ("nil", "0", "0"),
        ("(list 1)", "0", "0"),
        ('(semver "5.0.0").Major', "5", "5"),
        ("1e300", "-9223372036854775808", "1e+300"),
    ],
)
def test_any_value_is_converted_to_a_number(value, int_text, float_text):
    """A value that isn't a number is converted to zero."""
    operand = value if value == "nil" else f"({value})"
    assert rendered(f"{{{{ int {operand} }}}} {{{{ int64 {operand} }}}}") == f"{int_text} {int_text}"
    assert rendered(f"{{{{ float64 {operand} }}}}") == float_text


def test_converted_numbers_have_the_type_of_their_function():
    """The functions `int`, `int64` and `float64` return values of these types."""
    assert rendered('{{ printf "%T %T %T" (int 1.5) (int64 1) (float64 1) }}') == "int int64 float64"


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('atoi "010"', "10"),
        ('atoi "x"', "0"),
        ('atoi "99999999999999999999"', "9223372036854775807"),
        ('atoi "-99999999999999999999x"', "-9223372036854775808"),
        ('atoi "9999999999999999999x"', "0"),
        ("toDecimal 777", "511"),
        ('toDecimal "755"', "493"),
        ("toDecimal 8", "0"),
        ("toDecimal 10.0", "8"),
    ],
)
def test_digits_are_read_in_a_base(call, result):
    """The function `atoi` reads digits in base ten, and `toDecimal` in base eight."""
    assert rendered(f"{{{{ {call} }}}}") == result


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
    """Types and kinds have the names of Go."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("add 1 2 3", "6"),
        ("add", "0"),
        ('add "1" 2', "3"),
        ("add1 5", "6"),
        ("sub 5 7", "-2"),
        ("mul 2 3 4", "24"),
        ("div 7 2", "3"),
        ("div -7 2", "-3"),
        ("mod 7 3", "1"),
        ("mod -7 3", "-1"),
        ("mod 7 -3", "1"),
        ("max 1 5 3", "5"),
        ("biggest 1 5", "5"),
        ("min 4 2 8", "2"),
        ("add 9223372036854775807 1", "-9223372036854775808"),
        ("mul 9223372036854775807 2", "-2"),
        ("div -9223372036854775808 -1", "-9223372036854775808"),
    ],
)
def test_integers_are_calculated_in_64_bits(call, result):
    """Results wrap at 64 bits, and a division truncates towards zero."""
    assert rendered(f"{{{{ {call} }}}}") == result


def test_calculated_integers_are_int64():
    """The result of an addition is an int64, which functions with an int parameter refuse, as in Go."""
    assert rendered('{{ printf "%T" (add 1 2) }}') == "int64"
    assert failure("{{ until (add 1 2) }}").startswith("expected `int`, found `int64`")


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("addf 0.1 0.2", "0.3"),
        ("addf", "0"),
        ("add1f 1.5", "2.5"),
        ("subf 7.5 2 3", "2.5"),
        ("mulf 1.1 1.1", "1.21"),
        ("divf 10 2 4", "1.25"),
        ("divf 2 3", "0.6666666666666667"),
        ("divf -2 3", "-0.6666666666666667"),
        ("divf 1 -3", "-0.3333333333333333"),
        ("divf 0 5", "0"),
        ("mulf 1e308 10", "+Inf"),
        ("mulf -1e308 10", "-Inf"),
    ],
)
def test_decimals_are_calculated_exactly(call, result):
    """A division has 16 decimal places, and a result that is too large is infinite."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("maxf 1.5 3 2", "3"),
        ("minf 1.5 3 2", "1.5"),
        ('maxf 1 "nan"', "NaN"),
        ('maxf "nan" "+inf"', "+Inf"),
        ('minf "nan" "-inf"', "-Inf"),
        ("maxf -0.0 0", "0"),
        ("maxf -0.0 -0.0", "-0"),
        ("minf 0 -0.0", "-0"),
        ("minf 0 0", "0"),
        ("floor 1.8", "1"),
        ("floor -1.2", "-2"),
        ("ceil 1.2", "2"),
        ("ceil -0.5", "-0"),
        ('floor "+inf"', "+Inf"),
        ("round 3.14159 2", "3.14"),
        ("round 1e-7 175", "9.999999999999998e-08"),  # the last bit of 10**175 is that of Go
        ("round 2.5 0", "3"),
        ("round 2.4 0 0.3", "3"),
        ("round -3.7 0", "-4"),
        ("round 1234.5 -2", "1200"),
        ('round "nan" 1', "NaN"),
        ("round 5.5 400", "NaN"),
        ("round 5.5 -400", "NaN"),
        ('round "+inf" 1', "+Inf"),
        ('round "inf" -400', "NaN"),
        ("round -5.5 -400", "NaN"),
    ],
)
def test_floats_are_compared_and_rounded(call, result):
    """Minus zero, infinity and NaN have the results of Go."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("until 3", "[0 1 2]"),
        ("until -2", "[0 -1]"),
        ("until 0", "[]"),
        ("untilStep 0 10 4", "[0 4 8]"),
        ("untilStep 3 0 -1", "[3 2 1]"),
        ("untilStep 3 99 0", "[]"),
        ("untilStep 3 0 1", "[]"),
        ("untilStep 0 3 -1", "[]"),
        ("untilStep 3 3 1", "[]"),
        ("untilStep 3 3 -1", "[]"),
        ("seq 3", "1 2 3"),
        ("seq -2", "1 0 -1 -2"),
        ("seq 2 4", "2 3 4"),
        ("seq 4 2", "4 3 2"),
        ("seq 0 3 10", "0 3 6 9"),
        ("seq 10 -4 0", "10 6 2"),
        ("seq 10 4 0", ""),
        ("seq", ""),
        ("seq 1 2 3 4", ""),
    ],
)
def test_sequences_are_lists_of_numbers(call, result):
    """A sequence whose step has the wrong direction is empty."""
    assert rendered(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("div 7 0", "division by zero"),
        ("mod 7 0", "division by zero"),
        ("divf 7 0", "division by zero"),
        ('addf 1 "nan"', "`nan` is not a decimal"),
        ('mulf 1 "inf"', "`inf` is not a decimal"),
    ],
)
def test_calculations_that_panic_in_go_fail(call, message):
    """A division by zero and a decimal of NaN or infinity are errors."""
    assert failure(f"{{{{ {call} }}}}").startswith(message)


def _rendered(text, limits=PAGE_LIMITS):
    return compile_page(text).render({}, limits)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("{{ uuidv4 }}", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ("{{ randAlpha 40 }}", r"[A-Za-z]{40}"),
        ("{{ randAlphaNum 40 }}", r"[A-Za-z0-9]{40}"),
        ("{{ randAscii 40 }}", r"[ -~]{40}"),
        ("{{ randNumeric 40 }}", r"[0-9]{40}"),
        ("{{ randAlpha 0 }}{{ randAlpha -1 }}", ""),
        ("{{ randInt 5 7 }}{{ randInt -1 0 }}", r"[56]-1"),
    ],
)
def test_a_random_text_has_its_form(text, form):
    """Length and alphabet are those of sprig."""
    assert re.fullmatch(form, _rendered(text))


def test_each_rendering_draws_again():
    """A compiled page keeps no random text."""
    page = compile_page("{{ uuidv4 }}")
    assert page.render({}) != page.render({})


def test_random_bytes_are_in_base64():
    """The number is that of the bytes, not of the text."""
    assert len(b64decode(_rendered("{{ randBytes 17 }}"))) == 17


def test_a_shuffled_text_has_the_same_characters():
    """Characters are moved, not bytes."""
    assert sorted(_rendered('{{ shuffle "aéñz" }}')) == sorted("aéñz")


@pytest.mark.parametrize("text", ["{{ randInt 3 3 }}", "{{ randInt 3 1 }}", "{{ randBytes -1 }}"])
def test_what_panics_in_go_fails(text):
    """An empty range and a negative number of bytes have no result."""
    with pytest.raises(RenderError):
        _rendered(text)


@pytest.mark.parametrize("text", ["{{ randAlpha 5000 }}", "{{ randBytes 5000 }}", '{{ shuffle (repeat 900 "a") }}'])
def test_random_texts_are_limited(text):
    """Drawing costs a step for each character, and the text counts like any other."""
    with pytest.raises(LimitError):
        _rendered(text, RenderLimits(steps=800, text=4000))


@pytest.mark.parametrize("name", sorted(RANDOM))
def test_rules_have_no_random_function(name):
    """A key must be found again."""
    assert name in REFUSED
    with pytest.raises(TemplateMistake, match="its result is random"):
        compile_template(f"{{{{ {name} }}}}", {}, 0)
