"""Each error of a request knows its status."""

from __future__ import annotations

import pytest

from tornado_proxy.gateway import errors
from tornado_proxy.routing.errors import RequestError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.MalformedMessage, 400),
        (errors.MalformedForm, 400),
        (errors.BodyTimeout, 408),
        (errors.FormTooLarge, 413),
        (errors.NotAForm, 415),
        (errors.HeadTooLarge, 431),
        (errors.Departed, 499),
    ],
)
def test_an_error_of_a_request_has_a_status(error, status):
    """The status is the class's, and the class is one of `RequestError`'s."""
    assert issubclass(error, RequestError)
    assert error.status == status
