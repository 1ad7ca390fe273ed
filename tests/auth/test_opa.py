from tornado_proxy.auth.authenticator import policy_input
from tornado_proxy.semantics.request import Request, RequestPath, User

ANN = User("ann", "OIDC", "ann@example.org", ("editors",), "Ann Lee", "Ann", "Lee", email_verified=True)


def test_the_policy_gets_the_user_the_request_and_the_tags():
    """The policy's input has the names that policies of s3-proxy read."""
    headers = (("Accept", "text/html"), ("X-A", "1"), ("x-a", "2"))
    request = Request(
        "GET",
        "files.example",
        RequestPath("/v2/a b"),
        headers=headers,
        raw_query="x=1",
        remote_address="192.0.2.1",
        protocol="HTTP/2.0",
    )
    assert policy_input(ANN, request, {"team": "a"}) == {
        "user": {
            "preferred_username": "ann",
            "name": "Ann Lee",
            "groups": ["editors"],
            "given_name": "Ann",
            "family_name": "Lee",
            "email": "ann@example.org",
            "email_verified": True,
        },
        "request": {
            "method": "GET",
            "protocol": "HTTP/2.0",
            "headers": {"accept": "text/html", "x-a": "1"},
            "remoteAddr": "192.0.2.1",
            "scheme": "http",
            "host": "files.example",
            "path": "/v2/a b?x=1",
            "parsed_path": ["v2", "a b"],
        },
        "tags": {"team": "a"},
    }
    user = policy_input(User("ben", "HEADER", "b@c", ("x",)), Request(), {})["user"]
    assert user == {"username": "ben", "email": "b@c", "groups": ["x"]}
