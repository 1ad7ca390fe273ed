"""Each error of a request has a status."""

from __future__ import annotations

import pytest

from tornado_proxy.gateway import errors
from tornado_proxy.routing.errors import RequestError, status_of


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        (errors.MalformedMessage, 400),
        (errors.MalformedForm, 400),
        (errors.BodyTimeout, 408),
        (errors.FormTooLarge, 413),
        (errors.NotAForm, 415),
        (errors.HeadTooLarge, 431),
        (errors.ClientDisconnected, 499),
    ],
)
def test_an_error_of_a_request_has_a_status(kind, status):
    """Each is a request error, with a row of its own or its parent's."""
    assert issubclass(kind, RequestError)
    assert status_of(kind("x")) == status
