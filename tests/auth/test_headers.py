import asyncio

import pytest

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.headers import HeaderAuthenticator
from tornado_proxy.config.providers import HeaderProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.templates.template import User

PROVIDER = HeaderProvider("proxy", "X-User", "X-Email", "X-Groups")


def _asked(*headers, trusted=True):
    request = Request(headers=headers, remote_address="192.0.2.1", from_trusted_proxy=trusted)
    return asyncio.run(HeaderAuthenticator(PROVIDER).authenticate(request, SignedIn("proxy", None)))


def test_a_trusted_proxy_names_the_user():
    """Groups are separated by commas; names may be UTF-8."""
    found = _asked(("x-user", "änn".encode().decode("latin-1")), ("X-Email", "ann@example.org"), ("X-Groups", "a, b,,"))
    assert found == SignIn(User("änn", "HEADER", "ann@example.org", ("a", "b")))


def test_headers_from_elsewhere_count_for_nothing():
    """Anybody can send them."""
    found = _asked(("X-User", "ann"), ("X-Email", "ann@example.org"), trusted=False)
    assert found == Challenge(401, "`192.0.2.1` is not one of `server.trustedProxies`")


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ((("X-Email", "a@b"),), "the header `X-User` is missing, empty or given twice"),
        ((("X-User", "ann"),), "the header `X-Email` is missing, empty or given twice"),
        ((("X-User", ""), ("X-Email", "a@b")), "the header `X-User` is missing, empty or given twice"),
        (
            (("X-User", "ann"), ("X-User", "eve"), ("X-Email", "a@b")),
            "the header `X-User` is missing, empty or given twice",
        ),
        ((("X-User", ".."), ("X-Email", "a@b")), "the user's name contains a `.` or `..` segment"),
    ],
)
def test_headers_that_name_nobody_sign_nobody_in(headers, reason):
    """A header given twice was forged once, and a name is one segment of a key."""
    found = _asked(*headers)
    assert isinstance(found, Challenge)
    assert found.status == 401
    assert found.reason == reason
