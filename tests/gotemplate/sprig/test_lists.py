import pytest
from go_programs import failure, rendered

DATA = {"L": [1, 2, 3], "S": ["b", "a"], "E": [], "M": ["", 0, "x", None, 1]}


def test_other_lists_are_not_changed():
    """Functions return copies of lists, except `sortAlpha` of a list of strings."""
    text = "{{ $x := list 2 1 }}{{ $_ := sortAlpha $x }}{{ $_ = append $x 3 }}{{ $_ = reverse $x }}{{ $x }}"
    assert rendered(text) == "[2 1]"


@pytest.mark.parametrize(
    "call",
    [
        "append 1 2", "prepend 1 2", "concat 1", "first 1", "last nil", "rest 1", "initial 1", "reverse 1",
        "compact 1", "uniq 1",
    ],
)  # fmt: skip
def test_values_that_are_not_lists_are_refused(call):
    assert "is not a list" in failure(f"{{{{ {call} }}}}")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("without 1 2", "`int` is not a list"),
        ("has 1 2", "`int` is not a list"),
        ('slice "abc" 1', "`string` is not a list"),
        ("slice .L 2 1", "the bounds 2 and 1 are outside of the list"),
        ("slice .L 0 9", "the bounds 0 and 9 are outside of the list"),
        ("chunk 0 .L", "chunks of 0 elements are not possible"),
        ("chunk 2 1", "`int` is not a list"),
    ],
)
def test_list_functions_that_panic_in_go_fail(call, message):
    assert failure(f"{{{{ {call} }}}}", DATA).startswith(message)


SETUP = '{{ $d := dict "a" 1 "b" (dict "c" 2) }}'


def test_a_deep_copy_shares_no_values():
    text = SETUP + '{{ $e := deepCopy $d }}{{ $_ := set $e.b "c" 9 }}{{ $d.b.c }}{{ $e.b.c }}'
    assert rendered(text) == "29"


@pytest.mark.parametrize(
    ("target", "source", "merged", "overwritten"),
    [
        ('dict "a" 1', 'dict "a" 2 "b" 3', '{"a":1,"b":3}', '{"a":2,"b":3}'),
        ('dict "a" 1', 'dict "a" nil', '{"a":1}', '{"a":null}'),
        ('dict "m" (dict "x" 1)', 'dict "m" (dict "x" 2 "y" 3)', '{"m":{"x":1,"y":3}}', '{"m":{"x":2,"y":3}}'),
        ('dict "m" (dict)', 'dict "m" (dict)', '{"m":{}}', '{"m":{}}'),
        ('dict "m" 1', 'dict "m" (dict "y" 3)', '{"m":1}', '{"m":{"y":3}}'),
        ('dict "l" (list 1)', 'dict "l" (list 2)', '{"l":[1]}', '{"l":[2]}'),
    ],
)
def test_dictionaries_are_merged(target, source, merged, overwritten):
    """Empty entries are filled, or all entries are overwritten, in nested dictionaries too."""
    assert rendered(f"{{{{ merge ({target}) ({source}) | toJson }}}}") == merged
    assert rendered(f"{{{{ mergeOverwrite ({target}) ({source}) | toJson }}}}") == overwritten


@pytest.mark.parametrize(
    ("target", "source", "merged", "overwritten"),
    [
        ('(semver "1.0.0")', '"a"', '"1.0.0"', '"a"'),
        ("0", '(semver "1.0.0")', '"1.0.0"', '"1.0.0"'),
        ('(toDate "2006" "2024")', '(toDate "2006" "2025")', '"2024-01-01T00:00:00Z"', '"2025-01-01T00:00:00Z"'),
    ],
)
def test_structures_are_replaced_as_a_whole(target, source, merged, overwritten):
    """What has fields is one value to a merge, unless both are pointers."""
    values = f'(dict "v" {target}) (dict "v" {source})'
    assert rendered(f"{{{{ (merge {values}).v | toJson }}}}") == merged
    assert rendered(f"{{{{ (mergeOverwrite {values}).v | toJson }}}}") == overwritten


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('set nil "a" 1', "a nil map cannot be changed"),
        ('dig "a" $d', "`dig` takes at least three arguments"),
        ('dig "a" "x" 0 $d', "`int` is not a dictionary"),
        ('dig "a" 0 (list)', "`[]interface {}` is not a dictionary"),
        ("dig 1 0 $d", "a key of `dig` is a string, not `int`"),
        ("deepCopy nil", "`<nil>` cannot be copied"),
        ('deepCopy (semver "1.0.0")', "`*semver.Version` cannot be copied"),
        ('get (split "," "a") "_0"', "expected `map[string]interface {}`, found `map[string]string`"),
        ('merge (dict "m" (split "," "a")) (dict "m" (dict "b" 1))', "`map[string]interface {}` cannot be merged into `map[string]string`"),
        (
            'merge (dict "v" (semver "1.0.0")) (dict "v" (dict "Major" 2))',
            "`map[string]interface {}` cannot be merged into `*semver.Version`: only dictionaries can",
        ),
        (
            'mergeOverwrite (dict "v" (semver "1.0.0")) (dict "v" (semver "2.0.0"))',
            "`*semver.Version` cannot be merged into `*semver.Version`: only dictionaries can",
        ),
        (
            'mergeOverwrite (dict "m" (split "," "a")) (dict "m" (dict "b" nil))',
            "`map[string]interface {}` cannot be merged into `map[string]string`",
        ),
    ],
)  # fmt: skip
def test_dictionary_functions_that_panic_in_go_fail(call, message):
    assert failure(SETUP + f"{{{{ {call} }}}}").startswith(message)


def test_nested_maps_of_other_types_are_merged():
    """Maps of strings take entries of maps of strings, and any entries that change nothing; general maps take all."""
    text = '{{ merge (dict "m" (split "," "a")) (dict "m" (split "," "b,c")) | toJson }}'
    assert rendered(text) == '{"m":{"_0":"a","_1":"c"}}'
    text = '{{ merge (dict "m" (split "," "a")) (dict "m" (dict "_0" 1 "b" nil)) | toJson }}'
    assert rendered(text) == '{"m":{"_0":"a"}}'
    assert (
        rendered('{{ merge (dict "m" (dict "x" 1)) (dict "m" (split "," "b")) | toJson }}') == '{"m":{"_0":"b","x":1}}'
    )
