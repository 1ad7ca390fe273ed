import itertools

import pytest
from go_programs import failure

from gotemplate.sprig.semver import compare, parse_version
from gotemplate.template.values import ExecutionError


@pytest.mark.parametrize(
    "text",
    [b"", b"x", b"1.2.3.4", b"1.2.3-", b"1.2.3-01", b"1.2.3-a_b", b"99999999999999999999.0.0", b"18446744073709551616"],
)
def test_invalid_versions_are_refused(text):
    with pytest.raises(ExecutionError):
        parse_version(text)


def test_versions_are_ordered():
    """A pre-release is less than its release, numbers in it come before words, and fewer parts before more."""
    texts = [
        b"0.9.9", b"1.0.0-1", b"1.0.0-9", b"1.0.0-10", b"1.0.0-alpha", b"1.0.0-alpha.1", b"1.0.0-beta", b"1.0.0",
        b"1.0.1", b"1.1.0",
    ]  # fmt: skip
    versions = [parse_version(text) for text in texts]
    for one, other in itertools.pairwise(versions):
        assert (compare(one, other), compare(other, one), compare(one, one)) == (-1, 1, 0)


def test_a_number_out_of_range_is_compared_as_a_word():
    """A number of a pre-release that is too large is greater than any number, as in the Go package."""
    large = parse_version(b"1.0.0-99999999999999999999")
    assert compare(parse_version(b"1.0.0-5"), large) == -1


@pytest.mark.parametrize("suffix", ["a+b", "a_b", "01"])
def test_an_invalid_suffix_is_refused(suffix):
    assert failure(f'{{{{ (semver "1.2.3").SetPrerelease "{suffix}" }}}}')


@pytest.mark.parametrize(
    "constraint",
    ["", "bad", "1.2.3.4", ">>1", "1.2.3 ||", "99999999999999999999", "1.99999999999999999999", "1.2.3-01", "1|2.x"],
)
def test_invalid_constraints_are_refused(constraint):
    assert failure('{{ semverCompare .c "1.2.3" }}', {"c": constraint})


def test_an_invalid_version_is_not_compared():
    """A version that isn't valid is an error even with the constraint `*`."""
    assert "invalid semantic version" in failure('{{ semverCompare "*" "x" }}')


def test_a_long_constraint_is_read_in_linear_time():
    """An invalid constraint with many spaces is refused without trying all ways to divide them."""
    assert failure('{{ semverCompare .c "1.2.3" }}', {"c": "1   " * 40 + "!"})


@pytest.mark.parametrize(
    "template",
    [
        '{{ semver (printf "1.2.3-%s" (repeat 251 "a")) }}',
        '{{ semverCompare (repeat 171 ">1 ") "1.2.3" }}',
        '{{ semverCompare (printf "%s>1" (repeat 32 ">1||")) "1.2.3" }}',
        '{{ (semver "18446744073709551615.0.0").IncMajor }}',
        '{{ (semver "0.18446744073709551615.0").IncMinor }}',
        '{{ (semver "0.0.18446744073709551615").IncPatch }}',
    ],
)
def test_the_limits_of_semver_hold(template):
    """A text that the package refuses for its length, and a number that it cannot raise, are errors."""
    assert failure(template)
