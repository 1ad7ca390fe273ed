import pytest

from tornado_proxy.rules.hosts import host_objection


@pytest.mark.parametrize("host", ["", "www.example.com", "WWW.example.com:8080", "[::1]:80", "192.0.2.1", "a_b", "%41"])
def test_what_a_host_header_may_hold_is_a_host(host):
    """With its port, or as an address."""
    assert host_objection(host) is None


@pytest.mark.parametrize(
    ("host", "objection"),
    [
        ("a/b", "contains `/`"),
        ("http://a", "contains `/`"),
        ("a b", "contains ` `"),
        ("a,b", "contains `,`"),
        ("100%", "contains `%`"),
        ("ä.example", "contains `ä`"),
        ("a\n", "contains a control character"),
    ],
)
def test_what_the_service_refuses_is_none(host, objection):
    """The reason is a fact that a sentence can end with."""
    assert host_objection(host) == objection
