from dataclasses import replace

import pytest

from tornado_proxy.routing.errors import BadAddress, RequestError, status_of
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.request import (
    Address,
    Request,
    host_name,
    query_pairs,
    read_address,
    read_request,
    shown_path,
)


def test_a_request_is_what_was_sent():
    """Path and query are decoded once, the host has no port and is in lower case, headers keep their order."""
    headers = (("Host", "Files.Test:8080"), ("Accept", "text/html"))
    found = read_request("/a%20b/?x=1&y=%2F&x=2", "GET", "Files.Test:8080", headers, "https", "192.0.2.1")
    query = (("x", "1"), ("y", "/"), ("x", "2"))
    wanted = Request("GET", "files.test", "/a b/", "x=1&y=%2F&x=2", query, headers, "https", "192.0.2.1")
    assert found == replace(wanted, authority="Files.Test:8080")


def test_an_absolute_address_has_its_own_host():
    """What a proxy sends counts for more than the Host header."""
    found = read_request("http://Other.Test:1/a?b", host="files.test")
    assert (found.host, found.path, found.raw_query) == ("other.test", "/a", "b")


@pytest.mark.parametrize("target", ["*", "host:443", "/%zz", "/%ff", "/a/../b", "/a/%2e%2e/b", "/%00", "/a%0ab"])
def test_an_invalid_address_is_refused(target):
    """Neither a broken address nor a broken path becomes a request."""
    with pytest.raises(RequestError):
        read_request(target)


@pytest.mark.parametrize(("path", "is_directory"), [("/", True), ("/a/", True), ("/a", False), ("/a%2F", True)])
def test_a_path_that_ends_in_a_slash_is_a_directory(path, is_directory):
    """Whether a directory is asked for is decided by the decoded path alone."""
    assert Request("GET", path=parse_request_path(path)).is_directory is is_directory


@pytest.mark.parametrize(
    ("raw", "pairs"),
    [
        ("", ()),
        ("a=1&b=2&a=3", (("a", "1"), ("b", "2"), ("a", "3"))),
        ("a&b=", (("a", ""), ("b", ""))),
        ("a=x+y%2Bz", (("a", "x y+z"),)),
        ("%C3%A9=%E6%97%A5", (("é", "日"),)),
        ("a=%ff", (("a", "\ufffd"),)),
        ("a=\xc3\xa9", (("a", "é"),)),
        ("a=%zz", (("a", "%zz"),)),
    ],
)
def test_a_query_is_decoded_in_order(raw, pairs):
    """Names repeat and may have no value; what cannot be decoded is kept visible, never an error."""
    assert query_pairs(raw) == pairs


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("/", Address("/")),
        ("/a/b.html", Address("/a/b.html")),
        ("/a?x=1&y=2", Address("/a", "x=1&y=2")),
        ("/a??x", Address("/a", "?x")),
        ("/a?", Address("/a")),
        ("//evil.example/x", Address("//evil.example/x")),
        ("/http://example.com/", Address("/http://example.com/")),
        ("http://example.com/a?x", Address("/a", "x", "example.com")),
        ("HTTPS://Example.com:8443/a", Address("/a", "", "Example.com:8443")),
        ("http://[::1]:80/a", Address("/a", "", "[::1]:80")),
        ("http://example.com", Address("/", "", "example.com")),
        ("http://example.com?x=/", Address("/", "x=/", "example.com")),
        ("http://example.com//a", Address("//a", "", "example.com")),
    ],
)
def test_a_path_or_an_absolute_address_is_taken_apart(target, address):
    """A request line names a path, or a whole address whose host then stands in for the Host header."""
    assert read_address(target) == address


@pytest.mark.parametrize(
    "target",
    [
        *("", "*", "example.com:443", "a/b", "ftp://example.com/", "http:///a", "http://ann:pw@example.com/", "?x"),
        *("http://ann:a/pw@example.com/", "http://a:b:80/", "http://:80/", "http://[::1/", "http://::1/"),
    ],
)
def test_any_other_form_is_refused(target):
    """What names neither a path nor a host to ask is refused with 400."""
    with pytest.raises(BadAddress) as caught:
        read_address(target)
    assert status_of(caught.value) == 400


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("example.com", "example.com"),
        ("Example.COM:8080", "example.com"),
        ("example.com:", "example.com"),
        ("example.com.", "example.com"),
        ("example.com.:80", "example.com"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:8080", "::1"),
        ("[2001:DB8::1]", "2001:db8::1"),
        ("2001:db8::1", "2001:db8::1"),
        ("*.example.com", "*.example.com"),
        ("", ""),
    ],
)
def test_a_host_is_read_without_its_port(header, name):
    """A Host header names a host in any case, with a port or without, IPv6 addresses in brackets."""
    assert host_name(header) == name


def test_the_log_never_sees_a_query():
    """The shown path ends where the query begins."""
    assert shown_path("/%zz?X-Amz-Signature=abc") == "/%zz"


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
    """What stands before the host of an address is left out; a path is not an address, and may hold an `@`."""
    assert shown_path(target) == shown


def test_a_query_has_an_end():
    """More parameters than anyone sends are refused, however short they are."""
    with pytest.raises(BadAddress, match="more than 1000 parameters"):
        read_request(f"/?{'a&' * 1000}", "GET", "h")
