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
