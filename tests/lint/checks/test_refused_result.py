import pytest
from linting import findings, places

NAME = "refused-result"


@pytest.mark.parametrize(
    "template",
    [
        *('"/a"', '"a"', '"/..a"', '"/..$1"', '"/.$1."', '"$1"', '"/a/$1/.b"', '"$$"', 'jinja "/{{ key }}/.."'),
        *("jinja `\n  /a\n`", "go `{{ .Key }}`", f'"/{"a" * 1000}$1"'),
    ],
)
def test_results_that_may_be_keys_are_left_alone(template):
    """What a group or a hole decides is not a finding, nor is a result that is a key."""
    assert places(NAME, f"rewrite `^/(.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ('""', "is empty"),
        ("jinja ` \n `", "is empty"),
        ('"/../x"', "contains a `.` or `..` segment"),
        ('".."', "contains a `.` or `..` segment"),
        ('go "/a/./b"', "contains a `.` or `..` segment"),
        ('"/$1/../x"', "contains a `.` or `..` segment"),
        ('"$1/."', "contains a `.` or `..` segment"),
        (r'"/a\tb"', "contains a control character"),
        (r'"/a\tb$1"', "contains a control character"),
        (f'"/{"a" * 1100}"', "is longer than 1024 bytes"),
    ],
)
def test_results_that_never_are_keys(template, reason):
    """The message says what is wrong with every result."""
    (found,) = findings(NAME, f"rewrite `^/(.*)$` -> {template}")
    assert found.message == f"the result is always refused: it {reason}"


def test_a_refusal_that_a_test_expects_is_meant():
    """Who says that it is an error knows; a test of another rewrite says nothing of this one."""
    assert places(NAME, 'rewrite `^/a/` -> ""\ntest "/a/b" -> error') == []
    assert places(NAME, 'rewrite `^/a/` -> ""\nrewrite `^/b$` -> ""\ntest "/b" -> error') == ['""']
