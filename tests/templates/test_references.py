import pytest

from tornado_proxy.templates.references import group_number


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("0", 0),
        ("1", 1),
        ("10", 10),
        ("999999999", 999_999_999),
        ("1000000000", None),
        ("01", None),
        ("00", None),
        ("1x", None),
        ("x", None),
        ("", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_a_reference_of_digits_is_a_number(reference, number):
    """Leading zeros, other digits and more than nine make a name, as in Go's regexp.extract."""
    assert group_number(reference) == number
