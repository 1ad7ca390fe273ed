import pytest

from tornado_proxy.config.model import Bucket
from tornado_proxy.routing.errors import BadFileName, BadPath, KeyTooLong, status_of
from tornado_proxy.routing.keys import RequestPath, object_key, parse_request_path, upload_path
from tornado_proxy.rules.keys import Key


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
    ],
)
def test_escapes_are_decoded_exactly_once(raw, path):
    """A path is decoded once, as UTF-8; `+`, `//`, dots in names and what was escaped twice stay as they are."""
    assert parse_request_path(raw) == path


def test_unescaped_bytes_are_read_as_utf_8():
    """A client that leaves UTF-8 unescaped means the same path; Tornado hands its bytes over as latin-1."""
    assert parse_request_path("/é/x".encode().decode("latin-1")) == "/é/x"


@pytest.mark.parametrize(
    "raw",
    [
        *("/%", "/%4", "/%zz", "/%+1", "/% 1", "/a%2", "/%u0041", "/%%20", "/%\xb2\xb2"),
        *("/%ff", "/%C3", "/%C0%AE%C0%AE/x", "/%ED%A0%80", "/\xe9", "/%F5%80%80%80"),
        *("/.", "/..", "/./x", "/../x", "/x/..", "/x/.", "/x/../y", "/x/./y"),
        *("/%2e%2e/x", "/%2E./x", "/.%2e/x", "/x%2f..%2fy", "/x/..%2f", "/%2e", "/..%2fx"),
        *("/%00", "/a%0Ab", "/a%0D%0Ab", "/%7F", "/a%09", "/%C2%85", "/%1b[31m"),
        *("", "a", "*", "%2Fa", "?", "http://example.com/"),
    ],
)
def test_a_path_that_no_key_can_have_is_refused(raw):
    """Broken escapes, bytes that are no UTF-8, control characters and dot segments, however encoded, are a 400."""
    with pytest.raises(BadPath) as caught:
        parse_request_path(raw)
    assert status_of(caught.value) == 400


def test_a_path_of_characters_that_are_no_bytes_is_refused():
    """What Tornado cannot have read off a request line is a bad path too, never another exception."""
    with pytest.raises(BadPath, match="the path is not valid UTF-8"):
        parse_request_path("/\u20ac")


def test_a_path_may_be_longer_than_a_key():
    """S3's limit counts for the key: a mount path takes part of what was asked for."""
    assert parse_request_path("/mount/" + "k" * 1024) == "/mount/" + "k" * 1024


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
def test_the_prefix_is_joined_in_front(bucket, key, expected):
    """An object key is the prefix and the key without its leading slash; the whole has one where the bucket says so."""
    assert object_key(bucket, Key(key)) == expected


@pytest.mark.parametrize("bucket", [Bucket("b"), Bucket("b", prefix="p/"), Bucket("b", leading_slash=True)])
def test_an_object_key_has_at_most_1024_bytes(bucket):
    """Prefix and key together may have 1024 bytes of UTF-8, and not one more."""
    room = 1024 - len(object_key(bucket, Key("/")))
    key = Key("/" + "é" * (room // 2) + "x" * (room % 2))
    assert len(object_key(bucket, key).encode()) == 1024
    with pytest.raises(KeyTooLong) as caught:
        object_key(bucket, Key(key + "x"))
    assert status_of(caught.value) == 400


@pytest.mark.parametrize(
    ("sent", "path"),
    [
        ("a.txt", "/d/a.txt"),
        ("/etc/passwd", "/d/passwd"),
        ("../../a.txt", "/d/a.txt"),
        (r"C:\docs\a.txt", r"/d/C:\docs\a.txt"),
        ("..a", "/d/..a"),
        ("é %2e", "/d/é %2e"),
    ],
)
def test_a_file_name_is_cut_after_its_last_slash(sent, path):
    """Only the last part of what a browser sent is the file's name; a backslash is a character like any other."""
    assert upload_path(RequestPath("/d/"), sent) == path


def test_an_invalid_file_name_says_why():
    """The reason is for the log."""
    with pytest.raises(BadFileName, match="the file's name is empty"):
        upload_path(RequestPath("/d/"), "a/")
