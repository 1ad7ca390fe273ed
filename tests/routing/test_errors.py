import pytest

from tornado_proxy.routing import errors

KINDS = [errors.BadAddress, errors.BadPath, errors.BadFileName, errors.KeyTooLong, errors.UnknownFormat]


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_that_cannot_be_read_is_bad(kind):
    """An error without a row of its own has its parent's."""
    assert issubclass(kind, errors.RequestError)
    assert errors.status_of(kind("x")) == 400


def test_a_defect_has_no_status():
    """What no row names is a mistake of ours, even where it looks like a client's."""
    assert [errors.status_of(error) for error in (KeyError("x"), ValueError("x"), TimeoutError())] == [None] * 3
