"""A request's address is read once, from what was sent."""

from __future__ import annotations

import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine

from tornado_proxy.gateway.facts import read_facts, shown_path
from tornado_proxy.routing.errors import RequestError


def _request(target: str, **headers: str) -> HTTPServerRequest:
    start = RequestStartLine("GET", target, "HTTP/1.1")
    return HTTPServerRequest(start_line=start, headers=HTTPHeaders({"Host": "Files.Test:8080", **headers}))


def test_the_facts_are_what_was_sent():
    """Path and query are decoded once, the host has no port and is in lower case, headers keep their order."""
    facts = read_facts(_request("/a%20b/?x=1&y=%2F&x=2", Accept="text/html"), "GET")
    assert (facts.path, facts.host, facts.raw_query) == ("/a b/", "files.test", "x=1&y=%2F&x=2")
    assert facts.query == (("x", "1"), ("y", "/"), ("x", "2"))
    assert facts.headers == (("Host", "Files.Test:8080"), ("Accept", "text/html"))


def test_an_absolute_address_names_its_own_host():
    """What a proxy sends counts for more than the Host header."""
    facts = read_facts(_request("http://Other.Test:1/a?b"), "GET")
    assert (facts.host, facts.path, facts.raw_query) == ("other.test", "/a", "b")


def test_the_method_is_the_one_that_was_sent():
    """A method that Tornado does not know is not the one in its request."""
    assert read_facts(_request("/"), "TRACE").method == "TRACE"


@pytest.mark.parametrize("target", ["*", "host:443", "/%zz", "/%ff", "/a/../b", "/a/%2e%2e/b", "/%00", "/a%0ab"])
def test_an_address_that_cannot_be_meant_is_refused(target):
    """Neither a broken address nor a broken path becomes facts."""
    with pytest.raises(RequestError):
        read_facts(_request(target), "GET")


def test_the_log_never_sees_a_query():
    """The shown path ends where the query begins."""
    assert shown_path(_request("/%zz?X-Amz-Signature=abc")) == "/%zz"


@pytest.mark.parametrize(
    ("target", "shown"),
    [
        ("http://ann:pASSw@h/x?y", "http://h/x"),
        ("http://ann:a/p@SSw@h/x", "http://h/x"),
        ("ann:pASSw@h:443", "h:443"),
        ("http:ann:pASSw@h", "h"),
        ("ann@x://b:pASSw@h", "h"),
        ("ftp://ann:pA?SSw@h/x", "ftp://h/x"),
        ("http://h/%zz?email=ann@h", "/%zz"),
        ("ftp://h/x#token", "ftp://h/x"),
        ("/ann@h/%zz", "/ann@h/%zz"),
        ("*", "*"),
    ],
)
def test_the_log_never_sees_user_information(target, shown):
    """What stands before the host of an address is left out; a path is no address, and may hold an `@`."""
    assert shown_path(_request(target)) == shown
