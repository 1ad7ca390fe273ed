import pytest
from go_programs import GO, HELM, budget, failure, mistake, rendered

from gotemplate.template.errors import LimitError
from gotemplate.template.operands import Run
from gotemplate.template.program import Program


def test_the_output_is_charged_as_one_text():
    """A short piece of the output costs no steps, and a long piece costs steps by its length."""
    run = Run({}, budget(steps=100, text=400))
    run.write(b"ab")
    assert (run.budget.left, run.out, run.size) == (100, [b"ab"], 2)
    run.write(b"x" * 256)
    assert run.budget.left == 84
    with pytest.raises(LimitError):
        run.write(b"x" * 200)


def test_unnecessary_arguments_are_not_evaluated():
    """Variables that a skipped argument declares are not set."""
    assert failure("{{and 0 ($x := 1)}}{{$x}}", None, GO).startswith("the variable `$x` is not set yet")
    text = "{{range .}}{{and . ($x := 1)}}{{$x}};{{end}}"
    assert failure(text, [True, False], GO).startswith("the variable `$x` is not set yet")


def test_a_skipped_declaration_hides_no_outer_variable():
    """A round of a loop that skips a declaration reads the variable outside of the loop."""
    text = '{{$x := "o"}}{{range .}}{{$y := and . ($x := 1)}}{{$x}}{{end}}{{$x}}'
    assert rendered(text, [True, False, True], GO) == "1o1o"
    assert rendered('{{$x := "o"}}{{$y := and . (or $x ($x := 1))}}{{$x}}', True, GO) == "o"


DATA = {"S": "str", "I": 3, "L": [1, None, {"k": "v"}], "M": {"a": 1, "n": None, "m": {"x": "y"}}, "N": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{.N.x}}", "`x` is read from nil, in `.N.x`"),
        ("{{range .L}}{{.k}}{{end}}", "`int` has no field `k`, in `.k`"),
        ("{{.S.x}}", "`string` has no field `x`, in `.S.x`"),
        ("{{.S 1}}", "`S` is not a method, but has arguments, in `.S 1`"),
        ("{{1 | .S}}", "`S` is not a method, but has arguments, in `1 | .S`"),
        ("{{.S.x 1}}", "`string` has no field `x`, in `.S.x 1`"),
        ("{{with .M}}{{.m.x.y}}{{end}}", "`string` has no field `y`, in `.m.x.y`"),
        ("{{hello.x}}", "`string` has no field `x`, in `hello.x`"),
        ("{{if false}}{{$x := 1}}{{else}}{{$x}}{{end}}", "the variable `$x` is not set yet, in `$x`"),
        ("{{$x = 1}}", "the variable `$x` is not set yet, in `$x = 1`"),
        ("{{print (index .L 7)}}", "the index 7 is out of range, in `(index .L 7)`"),
        ('{{(semver "1.2.3").Compare}}', 'wrong number of arguments for the method `Compare`: 0, in `(semver "1.2.3").Compare`'),
        ('{{(semver "1.2.3").Equal 1 2}}', 'wrong number of arguments for the method `Equal`: 2, in `(semver "1.2.3").Equal 1 2`'),
        ('{{(semver "1.2.3").Equal .S}}', 'expected `*semver.Version`, found `string`, in `(semver "1.2.3").Equal .S`'),
    ],
)  # fmt: skip
def test_a_failure_names_its_pipeline(text, message):
    """The message of a failure has the innermost pipeline that failed."""
    assert failure(text, DATA) == message


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("{{upper}}", "wrong number of arguments for `upper`: 0", "upper"),
        ("a{{1 | upper 2}}", "wrong number of arguments for `upper`: 2", "upper 2"),
        ("{{upper 1}}", "expected `string`, found a number", "1"),
        ("{{$x := 1}}{{$x 2}}", "only a function takes arguments", "$x 2"),
        ("{{1 2}}", "only a function takes arguments", "1 2"),
        ("{{$x := 1}}{{3 | $x}}", "only a function takes arguments", "$x"),
        ("{{nil}}", "`nil` is not a command", "nil"),
        ("{{print 18446744073709551615}}", "`18446744073709551615` overflows an int", "18446744073709551615"),
        ('{{template "nope"}}', "unknown template `nope`", 'template "nope"'),
        ("{{(.S) 1}}", "only a function takes arguments", "(.S) 1"),
    ],
)
def test_certain_failures_are_found_at_load(text, message, place):
    """A failure that Go would find at execution is found at load, if it is certain."""
    (certain_failure,) = Program(text, HELM).certain_failures
    assert (str(certain_failure), text[certain_failure.offset : certain_failure.end]) == (message, place)
    assert failure(text, DATA).startswith(message)


def test_the_arguments_of_a_method_are_compiled_once():
    """A literal argument is converted to the type of the method's parameter in each round of a loop."""
    text = '{{range list (toDate "2006" "2001") (toDate "2006" "2002")}}{{.Format "06"}} {{end}}'
    assert rendered(text) == "01 02 "


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("{{$x}}", "unknown variable `$x`", 2),
        ("{{with $x := 1}}{{end}}{{$x.Y}}", "unknown variable `$x`", 25),
        ('{{$x := 1}}{{define "a"}}{{$x}}{{end}}', "unknown variable `$x`", 27),
        ("{{print (len $x).y}}", "unknown variable `$x`", 13),
        ("{{nope}}", "unknown function `nope`", 2),
        ("{{print if}}", "the keyword `if` is not allowed here", 8),
        ("{{$x, $y := .}}", "two variables are declared by a `range` only", 2),
        ("{{range ($x, $y := .)}}{{end}}", "two variables are declared by a `range` only", 8),
        ("{{1 | 2}}", "a constant takes no piped value", 6),
        ("{{1 | print | .}}", "a constant takes no piped value", 14),
    ],
)
def test_an_unknown_name_is_a_mistake_with_its_place(text, message, offset):
    """An unknown name or a wrong command that Go's parser refuses is a mistake with its offset."""
    caught = mistake(text, GO)
    assert (str(caught), caught.offset) == (message, offset)
