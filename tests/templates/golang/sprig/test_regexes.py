import pytest
from go_programs import failure, written


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('regexMatch "^a" "abc"', "true"),
        ('regexMatch "(" "abc"', "false"),
        ('regexMatch "x" "abc"', "false"),
        ('mustRegexMatch "b" "abc"', "true"),
        ('regexFind "[0-9]+" "a12b3"', "12"),
        ('regexFind "x" "abc"', ""),
        ('regexFindAll "[0-9]" "a1b2c3" 2', "[1 2]"),
        ('regexFindAll "[0-9]" "a1b2" -1', "[1 2]"),
        ('regexFindAll "x" "abc" -1 | toJson', "null"),
        ('regexFindAll "b" "abc" 0 | toJson', "null"),
        ('regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W"', "-W-xxW-"),
        ('regexReplaceAll "a(?P<n>x*)b" "-ab-axxb-" "<$n>"', "-<>-<xx>-"),
        ('regexReplaceAll "x*" "ab" "-"', "-a-b-"),
        ('regexReplaceAll "é" "aé" "\\xff" | quote', '"a\\xff"'),
        ('regexReplaceAllLiteral "a" "abc" "$1"', "$1bc"),
        ('regexSplit "/" "a//b" -1 | toJson', '["a","","b"]'),
        ('regexSplit "a" "banana" 2 | toJson', '["b","nana"]'),
        ('regexSplit "z" "banana" -1 | toJson', '["banana"]'),
        ('regexSplit "" "ab" -1 | toJson', '["a","b"]'),
        ('regexSplit "x*" "axb" -1 | toJson', '["a","b"]'),
        ('regexSplit "a" "" -1 | toJson', '[""]'),
        ('regexSplit "" "" -1 | toJson', "[]"),
        ('regexSplit "a" "ba" -1 | toJson', '["b",""]'),
        ('regexSplit "a" "bab" 0 | toJson', "null"),
        ('regexSplit "a" "bab" 1 | toJson', '["bab"]'),
        ('regexSplit "b$" "ab" -1 | toJson', '["a",""]'),
        ('regexQuoteMeta "a.b*[c]"', "a\\.b\\*\\[c\\]"),
        ('mustRegexFind "b" "abc"', "b"),
        ('mustRegexSplit "b" "abc" -1', "[a c]"),
    ],
)
def test_expressions_find_replace_and_split(call, result):
    """As Go's package regexp does."""
    assert written(f"{{{{ {call} }}}}") == result


@pytest.mark.parametrize(
    "call",
    [
        'regexFind "(" "a"',
        'mustRegexMatch "(" "a"',
        'regexReplaceAll "(?=a)" "a" "b"',
        'regexSplit "[" "a" 1',
        'regexFind "\\xff" "a"',
    ],
)
def test_what_is_no_expression_fails(call):
    """Only `regexMatch` takes it for one that is not found."""
    assert "is not a regular expression" in failure(f"{{{{ {call} }}}}")


def test_a_constant_expression_may_be_larger_than_one_that_is_made():
    """It is compiled with the template, where it holds up no request."""
    assert written(r'{{ regexMatch "\\pL{300}" (repeat 300 "a") }}') == "true"
    assert "more than 2 MiB" in failure(r'{{ regexMatch (print "\\pL{300}") "a" }}')
    assert "more than 16 MiB" in failure(r'{{ regexMatch "\\pL{1000}" "a" }}')
