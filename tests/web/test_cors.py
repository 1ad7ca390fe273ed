import pytest

from tornado_proxy.config.server import Cors
from tornado_proxy.web.filters import OPEN, CorsPolicy, is_preflight

ORIGIN = "https://app.test"
ALLOWED = ("Access-Control-Allow-Origin", ORIGIN)
VARY = ("Vary", "Origin")


def _request_headers(**headers):
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _policy(*origins, methods=(), headers=()):
    return CorsPolicy.of(Cors(allow_origins=origins, allow_methods=methods, allow_headers=headers))


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
    answer = _policy(*origins).of_answer("GET", _request_headers(Origin=ORIGIN))
    assert answer == ((VARY, ALLOWED) if is_known else (VARY,))


def test_any_origin_is_allowed_by_a_star():
    for policy in (_policy(), _policy("*", ORIGIN), OPEN):
        assert policy.of_answer("GET", _request_headers(Origin=ORIGIN)) == (VARY, ("Access-Control-Allow-Origin", "*"))


def test_a_request_without_origin_or_with_another_method_gets_no_permission():
    """An answer grants no permission without an origin, or for a method that is not allowed."""
    assert _policy(ORIGIN).of_answer("GET", _request_headers()) == (VARY,)
    assert _policy(ORIGIN).of_answer("DELETE", _request_headers(Origin=ORIGIN)) == (VARY,)
    assert _policy(ORIGIN, methods=("delete",)).of_answer("DELETE", _request_headers(Origin=ORIGIN)) == (VARY, ALLOWED)


def test_credentials_and_exposed_headers_are_announced():
    policy = CorsPolicy((ORIGIN,), frozenset({"GET"}), None, exposed="ETag, X-A", has_credentials=True)
    assert policy.of_answer("GET", _request_headers(Origin=ORIGIN)) == (
        VARY,
        ALLOWED,
        ("Access-Control-Allow-Credentials", "true"),
        ("Access-Control-Expose-Headers", "ETag, X-A"),
    )


PREFLIGHT_VARY = ("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")


def _preflight_headers(method="GET", headers=None, origin=ORIGIN):
    requested = {"Access_Control_Request_Headers": headers} if headers else {}
    return _request_headers(Origin=origin, Access_Control_Request_Method=method, **requested)


def test_a_preflight_is_granted():
    policy = CorsPolicy((ORIGIN,), frozenset({"PUT"}), frozenset({"x-a", "content-type"}), max_age=300)
    assert policy.of_preflight(_preflight_headers("put", "X-A, content-type")) == (
        PREFLIGHT_VARY,
        ALLOWED,
        ("Access-Control-Allow-Methods", "PUT"),
        ("Access-Control-Allow-Headers", "X-A, content-type"),
        ("Access-Control-Max-Age", "300"),
    )


@pytest.mark.parametrize(
    "preflight",
    [_preflight_headers("PUT"), _preflight_headers(headers="X-B"), _preflight_headers(origin="https://b.test")],
)
def test_a_preflight_that_asks_for_more_gets_no_permission(preflight):
    """An unlisted method, header or origin gets no permission, so the browser sends no request."""
    assert _policy(ORIGIN).of_preflight(preflight) == (PREFLIGHT_VARY,)


def test_any_header_is_allowed_by_a_star():
    """`*` allows any header; without a list, only the usual headers are allowed."""
    preflight = _preflight_headers(headers="X-B")
    assert len(_policy(ORIGIN, headers=("*",)).of_preflight(preflight)) == 4
    assert len(_policy(ORIGIN).of_preflight(_preflight_headers(headers="accept, origin,"))) == 4
    assert len(_policy(ORIGIN).of_preflight(_preflight_headers())) == 3


def test_only_options_with_a_requested_method_is_a_preflight():
    assert is_preflight("OPTIONS", _preflight_headers())
    assert not is_preflight("OPTIONS", _request_headers(Origin=ORIGIN))
    assert not is_preflight("GET", _preflight_headers())
