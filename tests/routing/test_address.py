import pytest

from tornado_proxy.routing.address import Address, read_address
from tornado_proxy.routing.errors import BadAddress


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
    assert caught.value.status == 400
