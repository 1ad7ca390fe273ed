import pytest
from go_programs import written


@pytest.mark.parametrize(
    ("call", "result"),
    [
        ('typeOf "a"', "string"),
        ("typeOf (list)", "[]interface {}"),
        ("typeOf nil", "<nil>"),
        ("kindOf 1", "int"),
        ("kindOf (dict)", "map"),
        ("kindOf nil", "invalid"),
        ('typeIs "int" 1', "true"),
        ('kindIs "string" 1', "false"),
        ('typeIsLike "*semver.Version" (semver "1.0.0")', "true"),
        ('typeIsLike "semver.Version" (semver "1.0.0")', "true"),
        ('typeIsLike "int" "a"', "false"),
        ("deepEqual (list 1 2) (list 1 2)", "true"),
        ("deepEqual 1 (add 0 1)", "false"),
    ],
)
def test_types_are_named(call, result):
    """As Go names them."""
    assert written(f"{{{{ {call} }}}}") == result
