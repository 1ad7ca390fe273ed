import pytest
from msgspec.structs import replace

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.request import (
    BadAddress,
    KeyTooLong,
    UnknownFormat,
    host_name,
    object_key,
    parse_request_path,
    query_pairs,
    read_address,
    read_request,
    shown_path,
    upload_path,
)
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.request import Request, RequestPath


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ("/", "/"),
        ("/file.html", "/file.html"),
        ("/a%20b", "/a b"),
        ("/a+b", "/a+b"),
        ("/a%2Bb", "/a+b"),
        ("/a%2fb", "/a/b"),
        ("/a%3Fb%23c", "/a?b#c"),
        ("/a//b/", "/a//b/"),
        ("//a", "//a"),
        ("/100%25.txt", "/100%.txt"),
        ("/a%252Bb", "/a%2Bb"),
        ("/%252e%252e/x", "/%2e%2e/x"),
        ("/%C3%A9", "/é"),
        ("/%F0%9F%A6%80", "/🦀"),
        ("/a\\b", "/a\\b"),
        ("/...", "/..."),
        ("/..a/b..", "/..a/b.."),
        ("/a;v=1/b", "/a;v=1/b"),
        ("/%EF%BC%8E%EF%BC%8E/x", "/．．/x"),
        ("/./a", "/a"),
        ("/a/././b", "/a/b"),
        ("/a/.", "/a/"),
        ("/.", "/"),
        ("/.a/b./c", "/.a/b./c"),
    ],
)
def test_escapes_are_decoded_exactly_once(raw, path):
    """A path is decoded once, as UTF-8; `+`, `//`, dots in names and double escapes stay, and a segment that is sent as `.` means nothing."""
    assert parse_request_path(raw) == path


@pytest.mark.parametrize(
    "raw",
    [
        *("/%", "/%4", "/%zz", "/%+1", "/% 1", "/a%2", "/%u0041", "/%%20", "/%\xb2\xb2"),
        *("/\u20ac", "/%ff", "/%C3", "/%C0%AE%C0%AE/x", "/%ED%A0%80", "/\xe9", "/%F5%80%80%80"),
        *("/..", "/../x", "/x/..", "/x/../y", "/./..", "/.%2e", "/%2e/x", "/x/%2E", "/x/%2e/y"),
        *("/%2e%2e/x", "/%2E./x", "/.%2e/x", "/x%2f..%2fy", "/x/..%2f", "/%2e", "/..%2fx"),
        *("/%00", "/a%0Ab", "/a%0D%0Ab", "/%7F", "/a%09", "/%C2%85", "/%1b[31m"),
        *("", "a", "*", "%2Fa", "?", "http://example.com/"),
    ],
)
def test_a_path_that_no_key_can_have_is_refused(raw):
    """Malformed escapes, invalid UTF-8, control characters and dot segments, in any encoding, get 400."""
    with pytest.raises(BadAddress) as caught:
        parse_request_path(raw)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("bucket", "key", "expected"),
    [
        (Bucket("b"), "/file.html", "file.html"),
        (Bucket("b"), "/", ""),
        (Bucket("b"), "//file.html", "/file.html"),
        (Bucket("b", prefix="folder1/"), "/redirected/file.html", "folder1/redirected/file.html"),
        (Bucket("b", prefix="folder1/"), "/", "folder1/"),
        (Bucket("b", prefix="a/b/"), "//c", "a/b//c"),
        (Bucket("b", leading_slash=True), "/file.html", "/file.html"),
        (Bucket("b", prefix="folder1/", leading_slash=True), "/x/", "/folder1/x/"),
    ],
)
def test_an_object_key_begins_with_the_prefix(bucket, key, expected):
    """An object key is the prefix with the key, without a leading slash unless the bucket has `leadingSlash`."""
    assert object_key(bucket, Key(key)) == expected


@pytest.mark.parametrize("bucket", [Bucket("b"), Bucket("b", prefix="p/"), Bucket("b", leading_slash=True)])
def test_an_object_key_has_at_most_1024_bytes(bucket):
    """Prefix and key together may have 1024 bytes of UTF-8, and not one more."""
    room = 1024 - len(object_key(bucket, Key("/")))
    key = Key("/" + "é" * (room // 2) + "x" * (room % 2))
    assert len(object_key(bucket, key).encode()) == 1024
    with pytest.raises(KeyTooLong) as caught:
        object_key(bucket, Key(key + "x"))
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("file_name", "path"),
    [
        ("a.txt", "/d/a.txt"),
        ("/etc/passwd", "/d/passwd"),
        ("../../a.txt", "/d/a.txt"),
        (r"C:\docs\a.txt", r"/d/C:\docs\a.txt"),
        ("..a", "/d/..a"),
        ("é %2e", "/d/é %2e"),
    ],
)
def test_a_file_name_is_cut_after_its_last_slash(file_name, path):
    """A file's name is the part after the last slash of the sent name; a backslash is an ordinary character."""
    assert upload_path(RequestPath("/d/"), file_name) == path


def test_a_request_is_read():
    """Path and query are decoded once, the host is in lower case without a port, and headers keep their order."""
    headers = (("Host", "Files.Test:8080"), ("Accept", "text/html"))
    request = read_request("/a%20b/?x=1&y=%2F&x=2", "GET", "Files.Test:8080", headers, "https", "192.0.2.1")
    query = (("x", "1"), ("y", "/"), ("x", "2"))
    expected = Request("GET", "files.test", "/a b/", "x=1&y=%2F&x=2", query, headers, "https", "192.0.2.1")
    assert request == replace(expected, authority="Files.Test:8080")


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
    """Names may repeat and may have no value; malformed escapes are kept, without an error."""
    assert query_pairs(raw) == pairs


@pytest.mark.parametrize(
    ("target", "address"),
    [
        ("/", ("/", "", None)),
        ("/a/b.html", ("/a/b.html", "", None)),
        ("/a?x=1&y=2", ("/a", "x=1&y=2", None)),
        ("/a??x", ("/a", "?x", None)),
        ("/a?", ("/a", "", None)),
        ("//evil.example/x", ("//evil.example/x", "", None)),
        ("/http://example.com/", ("/http://example.com/", "", None)),
        ("http://example.com/a?x", ("/a", "x", "example.com")),
        ("HTTPS://Example.com:8443/a", ("/a", "", "Example.com:8443")),
        ("http://[::1]:80/a", ("/a", "", "[::1]:80")),
        ("http://example.com", ("/", "", "example.com")),
        ("http://example.com?x=/", ("/", "x=/", "example.com")),
        ("http://example.com//a", ("//a", "", "example.com")),
    ],
)
def test_a_path_or_an_absolute_address_is_split(target, address):
    """A request line contains a path, or an absolute address whose host replaces the Host header."""
    assert read_address(target) == address


@pytest.mark.parametrize(
    "target",
    [
        *("", "*", "example.com:443", "a/b", "ftp://example.com/", "http:///a", "http://ann:pw@example.com/", "?x"),
        *("http://ann:a/pw@example.com/", "http://a:b:80/", "http://:80/", "http://[::1/", "http://::1/"),
    ],
)
def test_any_other_address_is_refused(target):
    with pytest.raises(BadAddress) as caught:
        read_address(target)
    assert caught.value.status == 400


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
    """A host name is in lower case, without port, brackets and final dot."""
    assert host_name(header) == name


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
def test_the_shown_path_has_no_user_information(target, shown):
    """The path in the log has no user information; a path may contain an `@`."""
    assert shown_path(target) == shown


def test_the_number_of_query_parameters_is_limited():
    with pytest.raises(BadAddress, match="more than 1000 parameters"):
        read_request(f"/?{'a&' * 1000}", "GET", "h")


def test_a_client_reads_which_formats_there_are():
    assert UnknownFormat("use html or json").public_message == "use html or json"
