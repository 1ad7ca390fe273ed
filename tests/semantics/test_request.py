import pytest

from tornado_proxy.semantics.request import Request, User, groups_of


@pytest.mark.parametrize(
    ("header", "groups"), [("", ()), ("staff", ("staff",)), (" staff,press , ", ("staff", "press")), (",", ())]
)
def test_groups_in_a_header_are_separated_by_commas(header, groups):
    """Spaces around a group and empty groups are left out."""
    assert groups_of(header) == groups


def test_the_data_of_a_request_is_frozen():
    """The fields of a user cannot be changed."""
    with pytest.raises(AttributeError):
        User("ann").username = "bob"


def test_the_identifier_of_a_user_is_a_name_or_an_address():
    """The identifier of a user is the user name, or else the email address."""
    assert User("ann", email="ann@example.org").identifier == "ann"
    assert User("", email="ann@example.org").identifier == "ann@example.org"


def test_the_first_of_several_parameters_of_a_name_counts():
    assert Request(query=(("a", "1"), ("b", ""), ("a", "2"))).parameters == {"a": "1", "b": ""}
