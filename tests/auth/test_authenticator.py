import asyncio

import pytest

from tornado_proxy.auth.authenticator import (
    CertificateAuthenticator,
    HeaderAuthenticator,
    SignIn,
    is_cross_origin,
    leads_back,
    opens_page,
)
from tornado_proxy.config.providers import CertificateProvider, HeaderProvider
from tornado_proxy.routing.access import SignedIn
from tornado_proxy.routing.plan import Refuse
from tornado_proxy.semantics.request import ClientCertificate, Request, User

PROVIDER = HeaderProvider("proxy", "X-User", "X-Email", "X-Groups")


def _authenticate_with_headers(*headers, trusted=True):
    request = Request(headers=headers, remote_address="192.0.2.1", from_trusted_proxy=trusted)
    return asyncio.run(HeaderAuthenticator(PROVIDER).authenticate(request, SignedIn("proxy", None)))


def test_a_trusted_proxy_names_the_user():
    """Headers of a trusted proxy name the user; groups are separated by commas, and names may be UTF-8."""
    answer = _authenticate_with_headers(
        ("x-user", "änn".encode().decode("latin-1")), ("X-Email", "ann@example.org"), ("X-Groups", "a, b,,")
    )
    assert answer == SignIn(User("änn", "HEADER", "ann@example.org", ("a", "b")))


def test_headers_of_an_untrusted_peer_are_refused():
    answer = _authenticate_with_headers(("X-User", "ann"), ("X-Email", "ann@example.org"), trusted=False)
    assert answer == Refuse(401, "`192.0.2.1` is not one of `server.trustedProxies`")


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
def test_missing_or_ambiguous_headers_are_refused(headers, reason):
    """A header may be forged if it is sent twice, and a user's name must be one segment of a key."""
    answer = _authenticate_with_headers(*headers)
    assert isinstance(answer, Refuse)
    assert answer.status == 401
    assert answer.reason == reason


ANN = ClientCertificate(("ann",), ("ann@example.org",), ("editors", "press"), expires=1000.0)


def _authenticate_with_certificate(certificate, username="commonName", method="GET", *, trusted=False, **headers):
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    request = Request(
        method, headers=fields, authority="files.test", certificate=certificate, from_trusted_proxy=trusted
    )
    provider = CertificateProvider("devices", username)
    return asyncio.run(
        CertificateAuthenticator(provider, lambda: 999.0).authenticate(request, SignedIn("devices", None))
    )


@pytest.mark.parametrize(("option", "name"), [("commonName", "ann"), ("email", "ann@example.org")])
def test_a_certificate_names_the_user(option, name):
    """By its common name or its email address; it has the groups in its organizational units."""
    user = User(name, "CERTIFICATE", "ann@example.org", ("editors", "press"))
    assert _authenticate_with_certificate(ANN, option) == SignIn(user)


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
def test_a_missing_or_ambiguous_certificate_is_refused(certificate, username, reason):
    """A certificate must have exactly one name, which is one segment of a key, and must not have expired."""
    answer = _authenticate_with_certificate(certificate, username)
    assert isinstance(answer, Refuse)
    assert answer.status == 401
    assert answer.reason.startswith(reason)


def test_the_certificate_of_a_proxy_is_refused():
    """The certificate of a trusted proxy signs nobody in, and the reason for the log states this."""
    assert _authenticate_with_certificate(None, trusted=True) == Refuse(401, "a proxy's certificate names no user")


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.test"}, {"Sec_Fetch_Site": "cross-site"}])
def test_a_page_of_another_origin_cannot_write_with_a_certificate(headers):
    """A cross-origin request that writes is refused, because browsers send certificates with every request."""
    refused = Refuse(403, "a page of another origin made the request")
    assert _authenticate_with_certificate(ANN, method="DELETE", **headers) == refused
    assert isinstance(_authenticate_with_certificate(ANN, **headers), SignIn)
    assert isinstance(_authenticate_with_certificate(ANN, method="DELETE", Origin="http://files.test"), SignIn)


def _request(method="GET", **headers):
    fields = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Request(method, headers=fields, scheme="https", authority="files.test:8443")


@pytest.mark.parametrize(
    ("headers", "is_cross"),
    [
        ({}, False),
        ({"Origin": "https://Files.test:8443"}, False),
        ({"Sec_Fetch_Site": "same-origin", "Origin": "https://public.test"}, False),
        ({"Sec_Fetch_Site": "none"}, False),
        ({"Origin": "http://files.test:8443"}, True),
        ({"Origin": "https://files.test"}, True),
        ({"Origin": "https://evil.test"}, True),
        ({"Origin": "null"}, True),
        ({"Sec_Fetch_Site": "same-site"}, True),
        ({"Sec_Fetch_Site": "cross-site", "Origin": "https://files.test:8443"}, True),
    ],
)
def test_a_cross_origin_request_is_recognized(headers, is_cross):
    """Sec-Fetch-Site decides; without this header, the scheme, host and port of Origin do."""
    assert is_cross_origin(_request("PUT", **headers)) is is_cross


@pytest.mark.parametrize(("scheme", "is_cross"), [("http", False), ("https", False), ("ftp", True)])
def test_a_proxy_may_end_tls_without_being_trusted(scheme, is_cross):
    """A page that came by HTTPS may write to its own host, though the proxy sends the request by HTTP."""
    request = Request("PUT", headers=(("Origin", f"{scheme}://files.test"),), authority="files.test")
    assert is_cross_origin(request) is is_cross


@pytest.mark.parametrize(
    ("incoming", "opens"),
    [
        (_request(), True),
        (_request(Accept="text/html,*/*;q=0.8"), True),
        (_request(Accept="*/*"), True),
        (_request(Accept="image/avif,image/webp,*/*;q=0.8"), False),
        (_request(Accept="text/css,*/*;q=0.1"), False),
        (_request(Accept="application/json"), False),
        (_request(Sec_Fetch_Mode="navigate"), True),
        (_request(Sec_Fetch_Mode="cors"), False),
        (_request(Authorization="Basic YTpi"), False),
        (_request(Authorization="Basic YTpi", Sec_Fetch_Mode="navigate"), True),
        (_request(X_Requested_With="XMLHttpRequest"), False),
        (_request("PUT"), False),
    ],
)
def test_a_browser_that_opens_a_page_is_distinguished_from_a_program(incoming, opens):
    """A GET of a browser that opens a page can be redirected to a login; a program's request cannot."""
    assert opens_page(incoming) is opens


@pytest.mark.parametrize(
    ("address", "leads"),
    [
        ("/a?b=c", True),
        ("https://files.test:8443/a", True),
        ("https://FILES.test:8443/a", True),
        ("http://files.test:8443/a", False),
        ("//evil.test/", False),
        ("https://evil.test/", False),
        ("https://files.test:8443@evil.test/", False),
        ("https://files.test:8443.evil.test/", False),
        ("https://files.test:8443\\@evil.test/", False),
        ("https:evil.test", False),
        (" https://evil.test/", False),
        ("/\\evil.test", False),
        ("\\\\evil.test", False),
        ("/\t/evil.test", False),
        ("javascript:alert(1)", False),
        ("javascript://files.test:8443/%0aalert(1)", False),
        ("https://[", False),
        ("/" + "a" * 2000, False),
    ],
)
def test_only_addresses_of_this_site_lead_back(address, leads):
    """An address leads back if every browser reads it as an address of this origin."""
    assert leads_back(address, _request()) is leads
