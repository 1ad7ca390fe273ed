"""The base of the errors that have an answer."""

import pytest

from tornado_proxy.semantics.errors import StatusError


@pytest.mark.parametrize(("status", "by_client"), [(304, True), (404, True), (499, True), (500, False), (503, False)])
def test_the_status_says_who_caused_an_error(status, by_client):
    """The service and the store cause the statuses from 500 on, the client all others."""
    error = type("Each", (StatusError,), {"status": status})("x")
    assert (error.by_client, error.public_message) == (by_client, None)
