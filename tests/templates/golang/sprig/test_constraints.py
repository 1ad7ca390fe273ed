import pytest
from go_programs import failure, written

CASES = [
    ("1.2.3", "1.2.3", True),
    ("=1.2.3", "1.2.4", False),
    ("!=1.2.3", "1.2.4", True),
    ("!=1.2.3", "1.2.3-rc", True),
    ("!=1.x", "1.5.0", False),
    ("!=1.x", "2.0.0", True),
    ("!=1.2.x", "1.3.0", True),
    ("!=1.2.x", "1.2.9", False),
    ("!=1.2.x", "1.2.9-rc", False),
    ("!=1.2.x-rc", "1.2.9-alpha", True),
    ("!=*", "0.0.0", False),
    ("!=*", "0.0.1", True),
    (">1.2.3", "1.2.4", True),
    (">1.2", "1.2.9", False),
    (">1.2", "1.3.0", True),
    (">1", "1.9.0", False),
    (">1", "2.0.0", True),
    (">*", "0.0.1", True),
    ("<1.2.3", "1.2.2", True),
    ("<1.2.3", "1.2.2-rc", False),
    (">=1.2.3", "1.2.3", True),
    ("=>1.2.3", "1.2.2", False),
    ("<=1.2", "1.2.9", True),
    ("=<1.2.3", "1.2.4", False),
    ("<=1.2", "1.3.0", False),
    ("<=1", "2.0.0", False),
    ("<=1", "1.9.9", True),
    ("~1.2.3", "1.2.9", True),
    ("~1.2.3", "1.3.0", False),
    ("~1", "1.9.0", True),
    ("~>1.2.3", "1.2.2", False),
    ("~0.0.0", "5.0.0", True),
    ("~1.2", "2.0.0", False),
    ("1.x", "1.9.9", True),
    ("*", "5.6.7", True),
    ("^1.2.3", "1.9.0", True),
    ("^1.2.3", "2.0.0", False),
    ("^1.2.3", "1.2.2", False),
    ("^0.2.3", "0.2.9", True),
    ("^0.2.3", "0.3.0", False),
    ("^0.0.3", "0.0.3", True),
    ("^0.0.3", "0.0.4", False),
    ("^0.0.3", "0.1.0", False),
    ("^0.0", "0.0.9", True),
    ("^0.2.3", "1.0.0", False),
    ("^0", "0.9.0", True),
    (">=1.0, <2.0", "1.5.0", True),
    (">=1.0 <2.0", "2.5.0", False),
    ("<1 || >3", "4.0.0", True),
    ("<1 || >3", "2.0.0", False),
    ("1.0 - 2.0", "1.5.0", True),
    ("1.0 - 2.0", "2.1.0", False),
    (">=1.2.3-beta", "1.2.3-rc", True),
    ("v1.2.X", "1.2.7", True),
]


@pytest.mark.parametrize(("constraint", "version", "fulfilled"), CASES)
def test_constraints_admit_versions(constraint, version, fulfilled):
    """One before a release only where the constraint speaks of such."""
    assert written("{{ semverCompare .c .v }}", {"c": constraint, "v": version}) == str(fulfilled).lower()


@pytest.mark.parametrize(
    "constraint",
    ["", "bad", "1.2.3.4", ">>1", "1.2.3 ||", "99999999999999999999", "1.99999999999999999999", "1.2.3-01", "1|2.x"],
)
def test_what_is_no_constraint_is_refused(constraint):
    """Whatever the version."""
    assert failure('{{ semverCompare .c "1.2.3" }}', {"c": constraint})


def test_what_is_no_version_is_refused():
    """Whatever the constraint."""
    assert "is no semantic version" in failure('{{ semverCompare "*" "x" }}')


def test_a_long_constraint_is_read_in_linear_time():
    """Spaces between versions would have Python's own expressions try all ways to part them."""
    assert failure('{{ semverCompare .c "1.2.3" }}', {"c": "1   " * 40 + "!"})
