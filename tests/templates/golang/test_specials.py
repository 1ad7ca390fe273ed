import pytest
from go_programs import GO, failure, written


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ("and 1 0 2", "0"),
        ("and 1 2", "2"),
        ("and 0", "0"),
        ("or 0 2 1", "2"),
        ('or 0 ""', ""),
        ("not (and true (or false true))", "false"),
    ],
)
def test_and_and_or_give_the_argument_that_decides(call, result):
    """Not a bool."""
    assert written(f"{{{{ {call} }}}}", None, GO) == result


def test_what_need_not_be_evaluated_is_not():
    """Nor what it would declare."""
    assert failure("{{and 0 ($x := 1)}}{{$x}}", None, GO).startswith("there is no variable `$x` yet")


def test_a_template_can_be_a_value():
    """With its own variables, and its dot."""
    assert written('{{$x := 1}}{{include "a" 5 | repeat 2}}{{$x}}{{define "a"}}{{$x := .}}{{$x}}{{end}}') == "551"
