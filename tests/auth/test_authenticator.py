import asyncio

import pytest

from tornado_proxy.auth.authenticator import (
    Authenticator,
    CertificateAuthenticator,
    HeaderAuthenticator,
    SignIn,
    is_same_origin,
    leads_back,
    only_reads,
    opens_page,
)
from tornado_proxy.auth.basic import BasicAuthenticator, Verifier
from tornado_proxy.config.providers import BasicProvider, CertificateProvider, HeaderProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.routing.request import Request
from tornado_proxy.semantics.forwarded import ClientCertificate
from tornado_proxy.templates.template import User


def test_basic_authentication_is_a_way_to_sign_in():
    """The shipped authenticator offers what the protocol asks."""
    authenticator: Authenticator = BasicAuthenticator(BasicProvider("staff", "Files"), [], Verifier())
    assert callable(authenticator.authenticate)


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
    assert found == Refuse(401, "`192.0.2.1` is not one of `server.trustedProxies`")


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
    assert isinstance(found, Refuse)
    assert found.status == 401
    assert found.reason == reason


ANN = ClientCertificate(("ann",), ("ann@example.org",), ("editors", "press"), expires=1000.0)


def _with_certificate(certificate, username="commonName", method="GET", *, trusted=False, **headers):
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
    assert _with_certificate(ANN) == SignIn(User("ann", "CERTIFICATE", "ann@example.org", ("editors", "press")))


def test_an_email_address_may_name_the_user():
    """The one among the alternative names."""
    assert _with_certificate(ANN, "email").user.username == "ann@example.org"


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
    found = _with_certificate(certificate, username)
    assert isinstance(found, Refuse)
    assert found.status == 401
    assert found.reason.startswith(reason)


def test_the_certificate_of_a_proxy_is_not_the_users():
    """The gateway hands on none of a trusted proxy's; the log says so."""
    assert _with_certificate(None, trusted=True) == Refuse(401, "a proxy's certificate names no user")


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.test"}, {"Sec_Fetch_Site": "cross-site"}])
def test_a_page_of_another_origin_changes_nothing(headers):
    """Browsers send certificates along by themselves."""
    refused = Refuse(403, "a page of another origin made the request")
    assert _with_certificate(ANN, method="DELETE", **headers) == refused
    assert isinstance(_with_certificate(ANN, **headers), SignIn)
    assert isinstance(_with_certificate(ANN, method="DELETE", Origin="http://files.test"), SignIn)


def _request(method="GET", **headers):
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, headers=named, scheme="https", authority="files.test:8443")


@pytest.mark.parametrize(
    ("headers", "is_same"),
    [
        ({}, True),
        ({"Origin": "https://files.test:8443"}, True),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "https://files.test:8443"}, True),
        ({"Sec_Fetch_Site": "none"}, True),
        ({"Origin": "http://files.test:8443"}, False),
        ({"Origin": "https://files.test"}, False),
        ({"Origin": "https://evil.test"}, False),
        ({"Origin": "null"}, False),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "https://files.test:8443"}, False),
    ],
)
def test_a_page_of_another_origin_is_known_by_its_headers(headers, is_same):
    """Scheme, host and port make an origin; programs send neither header."""
    assert is_same_origin(_request("PUT", **headers)) is is_same


@pytest.mark.parametrize(("method", "reads"), [("GET", True), ("HEAD", True), ("PUT", False), ("DELETE", False)])
def test_reading_changes_nothing(method, reads):
    """Whoever made the request."""
    assert only_reads(_request(method)) is reads


@pytest.mark.parametrize(
    ("request_", "opens"),
    [
        (_request(), True),
        (_request(Accept="text/html,*/*;q=0.8"), True),
        (_request(Accept="application/json"), False),
        (_request(Sec_Fetch_Mode="navigate"), True),
        (_request(Sec_Fetch_Mode="cors"), False),
        (_request(X_Requested_With="XMLHttpRequest"), False),
        (_request("PUT"), False),
    ],
)
def test_a_browser_that_opens_a_page_is_distinguished_from_a_program(request_, opens):
    """Only the first can go to a login."""
    assert opens_page(request_) is opens


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("/a?b=c", True),
        ("https://files.test:8443/a", True),
        ("http://FILES.test:8443/a", True),
        ("//evil.test/", False),
        ("https://evil.test/", False),
        ("https://files.test:8443@evil.test/", False),
        ("/\\evil.test", False),
        ("/\t/evil.test", False),
        ("javascript:alert(1)", False),
        ("javascript://files.test:8443/%0aalert(1)", False),
        ("https://[", False),
        ("/" + "a" * 2000, False),
    ],
)
def test_only_addresses_of_this_site_lead_back(address, leads):
    """As every browser reads them."""
    assert leads_back(address, _request()) is leads
