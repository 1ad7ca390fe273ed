import pytest
from go_programs import GO, budget, failure, written

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.limits import ExecutionError
from tornado_proxy.templates.golang.running import Run


def _run(**limits):
    return Run({}, budget(**limits))


def test_what_is_written_counts_as_one_text():
    """Short pieces cost nothing of their own, long ones by their length."""
    run = _run(steps=100, text=400)
    run.write(b"ab")
    assert (run.budget.left, run.out, run.size) == (100, [b"ab"], 2)
    run.write(b"x" * 256)
    assert run.budget.left == 84
    with pytest.raises(LimitError):
        run.write(b"x" * 200)


def test_the_variable_declared_last_is_the_one():
    """It hides another of its name until it is forgotten."""
    run = _run()
    run.declare("$x", 1)
    run.declare("$x", 2)
    run.assign("$x", 3)
    assert run.lookup("$x") == 3
    run.forget(1)
    assert run.lookup("$x") == 1
    with pytest.raises(ExecutionError, match=r"the variable `\$y` is not set yet"):
        run.lookup("$y")


def test_looking_for_one_of_many_variables_is_work():
    """With a handful it is none."""
    run = _run(steps=100)
    for number in range(40):
        run.declare(f"${number}", number)
    assert run.lookup("$0") == 0
    assert run.budget.left == 98


def test_a_template_sees_its_own_variables_only():
    """Its `$` is what it was handed."""
    run = _run(depth=1)
    run.declare("$x", 1)
    seen = []
    run.invoke(lambda run, dot: seen.append((run.names, run.values, run.depth, dot)), 5)
    assert (seen, run.names, run.depth) == ([(["$"], [5], 1, 5)], ["$x"], 0)


def test_what_a_template_writes_can_be_a_value():
    """Nothing of it goes to the output."""
    run = _run()
    run.write(b"before")
    assert run.capture(lambda run, dot: run.write(dot), b"inside") == b"inside"
    assert (run.out, run.size) == ([b"before"], 6)


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
    assert failure("{{and 0 ($x := 1)}}{{$x}}", None, GO).startswith("the variable `$x` is not set yet")


def test_a_template_can_be_a_value():
    """With its own variables, and its dot."""
    assert written('{{$x := 1}}{{include "a" 5 | repeat 2}}{{$x}}{{define "a"}}{{$x := .}}{{$x}}{{end}}') == "551"
