import pytest
from go_programs import failure, written

DATA = {"L": [1, 2, 3], "S": ["b", "a"], "E": [], "M": ["", 0, "x", None, 1]}


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('list 1 "a" nil', '[1,"a",null]'),
        ("list", "[]"),
        ("tuple 1", "[1]"),
        ("append .L 4", "[1,2,3,4]"),
        ("push .S 1", '["b","a",1]'),
        ("prepend .L 0", "[0,1,2,3]"),
        ("concat .L .S (list)", '[1,2,3,"b","a"]'),
        ("concat", "null"),
        ("concat .E", "null"),
        ("first .L", "1"),
        ("first .E", "null"),
        ("last .L", "3"),
        ("last .E", "null"),
        ("rest .L", "[2,3]"),
        ("rest .E", "null"),
        ("initial .L", "[1,2]"),
        ("initial .E", "null"),
        ("reverse .L", "[3,2,1]"),
        ("compact .M", '["x",1]'),
        ("uniq (list 1 2 1 .L .L)", "[1,2,[1,2,3]]"),
        ("without .L 1 3", "[2]"),
        ("has 2 .L", "true"),
        ("has 9 .L", "false"),
        ("has 1 nil", "false"),
        ("slice .L 1", "[2,3]"),
        ("slice .L 1 2", "[2]"),
        ('slice .L "1" "3" 9', "[2,3]"),
        ("slice .L", "[1,2,3]"),
        ("slice .E", "null"),
        ("chunk 2 .L", "[[1,2],[3]]"),
        ("chunk 2 .E", "[]"),
        ("sortAlpha .S", '["a","b"]'),
        ("sortAlpha (list 10 9 1.5)", '["1.5","10","9"]'),
        ("sortAlpha 5", '["5"]'),
        ("sortAlpha nil", '["\\u003cnil\\u003e"]'),
        ("mustFirst .L", "1"),
        ("mustPush .L 1", "[1,2,3,1]"),
        ("mustHas 1 .L", "true"),
        ("mustChunk 3 .L", "[[1,2,3]]"),
    ],
)
def test_lists_are_made_and_cut(call, result):
    """What is left of an empty list is an unmade one where sprig makes none."""
    assert written(f"{{{{ {call} | toJson }}}}", DATA) == result


def test_a_list_of_strings_is_sorted_in_its_place():
    """Whoever holds it sees that, as in Go."""
    assert written('{{ $x := splitList "," "b,a" }}{{ sortAlpha $x }}{{ $x }}') == "[a b][a b]"


def test_other_lists_are_not_changed():
    """They are copied."""
    text = "{{ $x := list 2 1 }}{{ $_ := sortAlpha $x }}{{ $_ = append $x 3 }}{{ $_ = reverse $x }}{{ $x }}"
    assert written(text) == "[2 1]"


@pytest.mark.parametrize(
    "call",
    [
        "append 1 2",
        "prepend 1 2",
        "concat 1",
        "first 1",
        "last nil",
        "rest 1",
        "initial 1",
        "reverse 1",
        "compact 1",
        "uniq 1",
    ],
)
def test_what_is_no_list_is_refused(call):
    """With its type."""
    assert "cannot be" in failure(f"{{{{ {call} }}}}")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("without 1 2", "a `int` cannot be reduced"),
        ("has 1 2", "a `int` cannot be searched"),
        ('slice "abc" 1', "a `string` cannot be sliced"),
        ("slice .L 2 1", "the bounds 2 and 1 are out of the list"),
        ("slice .L 0 9", "the bounds 0 and 9 are out of the list"),
        ("chunk 0 .L", "a list cannot be cut into chunks of 0"),
        ("chunk 2 1", "a `int` cannot be cut into chunks"),
    ],
)
def test_what_go_panics_at_fails(call, message):
    """Bounds and sizes that cannot be."""
    assert failure(f"{{{{ {call} }}}}", DATA).startswith(message)
