import re
from base64 import b64decode

import pytest
from go_programs import failure, rendered

from gotemplate.sprig import REFUSED
from gotemplate.sprig.basics import RANDOM
from gotemplate.template.errors import LimitError, RenderError, RenderLimits, TemplateMistake
from tornado_proxy.templates.go import compile_page, compile_template
from tornado_proxy.templates.template import PAGE_LIMITS


def test_a_template_may_fail_with_its_own_message():
    assert failure('{{ fail "no key for you" }}') == 'no key for you, in `fail "no key for you"`'


@pytest.mark.parametrize(
    ("value", "int_text", "float_text"),
    [
        ("1.9", "1", "1.9"),
        ('"0x10"', "16", "0"),
        ('"3.7"', "3", "3.7"),
        ('"08.5"', "0", "8.5"),
        ('"1.0.0"', "0", "0"),
        ('"x"', "0", "0"),
        ("true", "1", "1"),
        ("nil", "0", "0"),
        ('(semver "5.0.0").Major', "5", "5"),
        ("1e300", "-9223372036854775808", "1e+300"),
    ],
)
def test_any_value_is_converted_to_a_number(value, int_text, float_text):
    """A value that isn't a number is converted to zero."""
    operand = value if value == "nil" else f"({value})"
    assert rendered(f"{{{{ int {operand} }}}} {{{{ int64 {operand} }}}}") == f"{int_text} {int_text}"
    assert rendered(f"{{{{ float64 {operand} }}}}") == float_text


def test_calculated_integers_are_int64():
    """The result of an addition is an int64, which functions with an int parameter refuse, as in Go."""
    assert rendered('{{ printf "%T" (add 1 2) }}') == "int64"
    assert failure("{{ until (add 1 2) }}").startswith("expected `int`, found `int64`")


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
