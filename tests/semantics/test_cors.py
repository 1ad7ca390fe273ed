import pytest

from tornado_proxy.semantics.cors import CorsPolicy, is_cross_origin, is_preflight

ORIGIN = "https://app.test"
ALLOWED = ("Access-Control-Allow-Origin", ORIGIN)
VARY = ("Vary", "Origin")


def _ask(**headers):
    named = {name.replace("_", "-").lower(): value for name, value in headers.items()}
    return lambda name: named.get(name.lower(), "")


def _policy(*origins, methods=(), headers=()):
    return CorsPolicy.of(origins, methods, headers)


@pytest.mark.parametrize(
    ("origins", "is_known"),
    [
        ((ORIGIN,), True),
        (("https://other.test",), False),
        (("https://*.test",), True),
        (("https://app.*",), True),
        (("https://*app.test",), True),
        (("https://app.test*app.test",), False),
        (("https://a.test", ORIGIN), True),
    ],
)
def test_an_answer_names_the_origin_that_may_read_it(origins, is_known):
    """An unknown origin gets nothing but `Vary`."""
    found = _policy(*origins).of_answer("GET", _ask(Origin=ORIGIN))
    assert found == ((VARY, ALLOWED) if is_known else (VARY,))


def test_every_origin_is_a_star():
    """Any origin is allowed if the list is empty or has `*`."""
    for policy in (_policy(), _policy("*", ORIGIN), CorsPolicy.of_everyone()):
        assert policy.of_answer("GET", _ask(Origin=ORIGIN)) == (VARY, ("Access-Control-Allow-Origin", "*"))


def test_a_request_of_no_page_gets_no_permission():
    """An answer allows nothing without an origin, or for another method."""
    assert _policy(ORIGIN).of_answer("GET", _ask()) == (VARY,)
    assert _policy(ORIGIN).of_answer("DELETE", _ask(Origin=ORIGIN)) == (VARY,)
    assert _policy(ORIGIN, methods=("delete",)).of_answer("DELETE", _ask(Origin=ORIGIN)) == (VARY, ALLOWED)


def test_credentials_and_headers_are_reported():
    """The headers say what a page may read, and whether cookies may be used."""
    policy = CorsPolicy((ORIGIN,), frozenset({"GET"}), None, exposed="ETag, X-A", has_credentials=True)
    assert policy.of_answer("GET", _ask(Origin=ORIGIN)) == (
        VARY,
        ALLOWED,
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Expose-Headers", "ETag, X-A"),
    )


VARIES = ("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")


def _preflight(method="GET", headers=None, origin=ORIGIN):
    more = {"Access_Control_Request_Headers": headers} if headers else {}
    return _ask(Origin=origin, Access_Control_Request_Method=method, **more)


def test_a_preflight_is_answered_with_what_it_asks_for():
    """The answer names the method, the headers, and how long the permission holds."""
    policy = CorsPolicy((ORIGIN,), frozenset({"PUT"}), frozenset({"x-a", "content-type"}), max_age=300)
    assert policy.of_preflight(_preflight("put", "X-A, content-type")) == (
        VARIES,
        ALLOWED,
        ("Access-Control-Allow-Methods", "PUT"),
        ("Access-Control-Allow-Headers", "X-A, content-type"),
        ("Access-Control-Max-Age", "300"),
    )


@pytest.mark.parametrize("asked", [_preflight("PUT"), _preflight(headers="X-B"), _preflight(origin="https://b.test")])
def test_a_preflight_that_asks_for_more_gets_no_permission(asked):
    """Without permission, the browser sends no request."""
    assert _policy(ORIGIN).of_preflight(asked) == (VARIES,)


def test_any_header_is_allowed_by_a_star():
    """Without a list, the usual headers are allowed."""
    asked = _preflight(headers="X-B")
    assert len(_policy(ORIGIN, headers=("*",)).of_preflight(asked)) == 4
    assert len(_policy(ORIGIN).of_preflight(_preflight(headers="accept, origin,"))) == 4
    assert len(_policy(ORIGIN).of_preflight(_preflight())) == 3


def test_a_preflight_names_a_method():
    """Any other OPTIONS request is not a preflight."""
    assert is_preflight("OPTIONS", _preflight())
    assert not is_preflight("OPTIONS", _ask(Origin=ORIGIN))
    assert not is_preflight("GET", _preflight())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, False),
        ({"Origin": "https://Files.example"}, False),
        ({"Origin": "https://files.example:8443"}, True),
        ({"Origin": "null"}, True),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://other.example"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "same-site"}, True),
        ({"Sec-Fetch-Site": "cross-site"}, True),
    ],
)
def test_a_browser_says_for_whom_it_asks(headers, expected):
    """Sec-Fetch-Site decides; without it, the origin is compared with the host."""
    assert is_cross_origin(lambda name: headers.get(name, ""), "files.example") is expected
