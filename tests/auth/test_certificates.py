import asyncio

import pytest

from tornado_proxy.auth.authenticator import Challenge, SignIn
from tornado_proxy.auth.certificates import CertificateAuthenticator
from tornado_proxy.config.providers import CertificateProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.request import Request
from tornado_proxy.semantics.forwarded import ClientCertificate
from tornado_proxy.templates.template import User

ANN = ClientCertificate(("ann",), ("ann@example.org",), ("editors", "press"), expires=1000.0)


def _asked(certificate, username="commonName", method="GET", *, trusted=False, **headers):
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    request = Request(
        method, headers=named, authority="files.test", certificate=certificate, from_trusted_proxy=trusted
    )
    provider = CertificateProvider("devices", username)
    return asyncio.run(
        CertificateAuthenticator(provider, lambda: 999.0).authenticate(request, SignedIn("devices", None))
    )


def test_a_certificate_names_the_user():
    """The subject's common name, its organizational units as groups, and the email address."""
    assert _asked(ANN) == SignIn(User("ann", "CERTIFICATE", "ann@example.org", ("editors", "press")))


def test_an_email_address_may_name_the_user():
    """The one among the alternative names."""
    assert _asked(ANN, "email").user.username == "ann@example.org"


@pytest.mark.parametrize(
    ("certificate", "username", "reason"),
    [
        (None, "commonName", "there is no certificate"),
        (ClientCertificate(("ann",), expires=999.0), "commonName", "the certificate has expired since the connection"),
        (ClientCertificate(expires=1000.0), "commonName", "the certificate has 0 common names"),
        (ClientCertificate(("ann", "eve"), expires=1000.0), "commonName", "the certificate has 2 common names"),
        (ClientCertificate(("ann",), expires=1000.0), "email", "the certificate has 0 email addresses"),
        (ClientCertificate(("",), expires=1000.0), "commonName", "the user's name is empty"),
        (ClientCertificate(("a/b",), expires=1000.0), "commonName", "the user's name contains a `/`"),
        (ClientCertificate(("..",), expires=1000.0), "commonName", "the user's name contains a `.` or `..` segment"),
    ],
)
def test_a_certificate_that_names_nobody_signs_nobody_in(certificate, username, reason):
    """Which of two names would be meant is not guessed, and a name is one segment of a key."""
    found = _asked(certificate, username)
    assert isinstance(found, Challenge)
    assert found.status == 401
    assert found.reason.startswith(reason)


def test_the_certificate_of_a_proxy_is_not_the_users():
    """The gateway hands on none of a trusted proxy's; the log says so."""
    assert _asked(None, trusted=True) == Challenge(401, "a proxy's certificate names no user")


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.test"}, {"Sec_Fetch_Site": "cross-site"}])
def test_a_page_of_another_origin_changes_nothing(headers):
    """Browsers send certificates along by themselves."""
    refused = Challenge(403, "a page of another origin made the request")
    assert _asked(ANN, method="DELETE", **headers) == refused
    assert isinstance(_asked(ANN, **headers), SignIn)
    assert isinstance(_asked(ANN, method="DELETE", Origin="http://files.test"), SignIn)
