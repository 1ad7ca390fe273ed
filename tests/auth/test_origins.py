import pytest

from tornado_proxy.auth.origins import is_same_origin, leads_back, only_reads, opens_page
from tornado_proxy.routing.request import Request


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
def test_a_browser_that_opens_a_page_is_told_from_a_program(request_, opens):
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
