import errno

import pytest

from tornado_proxy.semantics.request import Request, RequestPath, StatusError, User, groups_of, shortage


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


@pytest.mark.parametrize(("status", "by_client"), [(304, True), (404, True), (499, True), (500, False), (503, False)])
def test_the_status_says_who_caused_an_error(status, by_client):
    """The service and the store cause the statuses from 500 on, the client all others."""
    error = type("Each", (StatusError,), {"status": status})("x")
    assert (error.by_client, error.public_message) == (by_client, None)


def _raised_from(cause: BaseException) -> BaseException:
    error = ValueError("it did not work")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS])
def test_a_shortage_is_found_among_causes(number):
    """The system's error about a shortage may be the cause of another exception."""
    error = OSError(number, "the system's words")
    assert shortage(error) == shortage(_raised_from(_raised_from(error))) == "the system's words"


@pytest.mark.parametrize("error", [None, ValueError("x"), OSError(errno.ENOENT, "x"), _raised_from(KeyError("x"))])
def test_other_errors_are_not_shortages(error):
    """Any other error is not a shortage."""
    assert shortage(error) is None


def test_a_circle_of_causes_is_searched_once():
    """A chain of causes may be a circle."""
    error, cause = ValueError("one"), ValueError("other")
    error.__context__, cause.__context__ = cause, error
    assert shortage(error) is None


def test_the_public_path_of_a_request_is_what_its_client_knows():
    """Proxies have taken its beginning off."""
    assert Request(path=RequestPath("/a"), public_path="/files").public("/a") == "/files/a"
