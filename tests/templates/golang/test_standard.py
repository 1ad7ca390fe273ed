import pytest
from go_programs import GO, HELM, failure, written

DATA = {"L": [1, [2, 3]], "M": {"a": {"b": 5}}, "S": "aé", "N": None, "E": {}}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{index .L 1 0}}", "2"),
        ('{{index .M "a" "b"}}', "5"),
        ('{{index .M "x"}}', "<no value>"),
        ("{{index .S 1}}", "195"),
        ("{{index .L}}", "[1 [2 3]]"),
        ('{{index (split "," "a") "x"}}', ""),
        ("{{len .L}}{{len .M}}{{len .S}}", "213"),
        ("{{not .N}}{{not 1}}", "truefalse"),
        ("{{eq 1 1}}{{ne 1 1}}{{lt 1 2}}{{le 1 1}}{{gt 1 2}}{{ge 1 2}}", "truefalsetruetruefalsefalse"),
        ('{{print 1 2}}{{println 1}}{{printf "%d" 3}}', "1 21\n3"),
        ('{{html "<" .N}}|{{html .L}}', "&lt;&lt;no value&gt;|[1 [2 3]]"),
        ('{{js "\'"}}{{urlquery "a b" 1}}', "\\'a+b1"),
        ("{{urlquery .N}}", "%3Cno+value%3E"),
    ],
)
def test_go_s_functions_answer_as_in_go(text, result):
    """On lists, maps, strings and what is missing."""
    assert written(text, DATA) == result


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{slice .S}}", "aé"),
        ("{{slice .S 1}}", "é"),
        ("{{slice .S 0 2}}", "a\ufffd"),
        ("{{slice .L 1}}", "[[2 3]]"),
        ("{{slice .L 0 1 2}}", "[1]"),
        ("{{slice .L 2}}", "[]"),
    ],
)
def test_slices_are_of_bytes_and_elements(text, result):
    """A third index is checked, and limits nothing that a template sees."""
    assert written(text, DATA, GO) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{index nil 1}}", "there is no value to index"),
        ("{{index .L 2}}", "the index 2 is out of range"),
        ("{{index .L -1}}", "the index -1 is out of range"),
        ('{{index .L "a"}}', "an index is an integer, not a `string`"),
        ("{{index .L true}}", "an index is an integer, not a `bool`"),
        ("{{index .L nil}}", "an index is an integer, not a `<nil>`"),
        ("{{index .M 1}}", "a map's key is a string, not a `int`"),
        ("{{index .L 0 0}}", "a `int` cannot be indexed"),
        ('{{index .M "x" 1}}', "a `<nil>` cannot be indexed"),
        ("{{len 1}}", "a `int` has no length"),
        ("{{len .N}}", "a `<nil>` has no length"),
        ("{{slice nil}}", "a `<nil>` cannot be sliced"),
        ("{{slice .M}}", "a `map[string]interface {}` cannot be sliced"),
        ("{{slice .S 1 2 3}}", "3 indexes are too many"),
        ("{{slice .L 1 2 2 2}}", "4 indexes are too many"),
        ("{{slice .L 2 1}}", "the indexes of a slice must not fall"),
        ("{{slice .L 3}}", "the index 3 is out of range"),
        ("{{slice .L 0 2 1}}", "the indexes of a slice must not fall"),
        ("{{call .N}}", "a `<nil>` is no function"),
        ("{{call .S 1}}", "a `string` is no function"),
    ],
)
def test_go_s_functions_fail_as_in_go(text, message):
    """And say why."""
    assert failure(text, DATA, GO).startswith(message)


def test_every_function_of_the_evaluator_has_its_place_in_the_vocabulary():
    """So that its arguments are counted and known."""
    assert {"and", "or"} <= set(GO.functions)
    assert {"include", "tpl"} <= set(HELM.functions)
