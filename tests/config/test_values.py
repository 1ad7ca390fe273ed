import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config import values
from tornado_proxy.config.values import InvalidValue
from tornado_proxy.rules.limits import LONGEST_OBJECT_KEY


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (values.line, "Files of Ännä", "Files of Ännä"),
        (values.mount_path, "/", "/"),
        (values.mount_path, "", "/"),
        (values.mount_path, "files", "/files/"),
        (values.mount_path, "/files/", "/files/"),
        (values.mount_path, "/a//b", "/a//b/"),
        (values.host, "", ""),
        (values.host, "*", ""),
        (values.host, "Files.Example.org", "files.example.org"),
        (values.host, "*.example.org", "*.example.org"),
        (values.host, "[::1]", "::1"),
        (values.host, "2001:DB8::1", "2001:db8::1"),
        (values.bucket_name, "my-bucket", "my-bucket"),
        (values.bucket_name, "Old_Bucket", "Old_Bucket"),
        (values.bucket_name, "arn:aws:s3:eu-west-1:123456789012:accesspoint/a", "arn:aws:s3:eu-west-1:123456789012:accesspoint/a"),
        (values.bucket_name, "tenant_1:my-bucket", "tenant_1:my-bucket"),
        (values.bucket_name, ":my-bucket", ":my-bucket"),
        (values.prefix, "", ""),
        (values.prefix, "/", ""),
        (values.prefix, "/folder1", "folder1/"),
        (values.prefix, "folder1", "folder1/"),
        (values.prefix, "folder1/", "folder1/"),
        (values.prefix, "a b/ü", "a b/ü/"),
        (values.glob, "/public/**", "/public/**"),
        (values.index_document, "", ""),
        (values.index_document, "index.html", "index.html"),
        (values.index_document, "pages/index.html", "pages/index.html"),
        (values.tried_files, ("$path", "$path.html", "$path/", "/a/b"), ("$path", "$path.html", "$path/", "/a/b")),
        (values.s3_header, "requester", "requester"),
        (values.s3_headers, (("X-Amz-Request-Payer", "a"),), (("x-amz-request-payer", "a"),)),
        (values.user_name, "ann", "ann"),
        (values.user_name, "Ann Öhm@example.org", "Ann Öhm@example.org"),
        (values.region, "eu-west-1", "eu-west-1"),
        (values.listen_address, "", ""),
        (values.listen_address, "127.0.0.1", "127.0.0.1"),
        (values.listen_address, "::1", "::1"),
        (values.listen_address, "localhost", "localhost"),
        (values.endpoint, "http://127.0.0.1:9000", "http://127.0.0.1:9000"),
        (values.endpoint, "https://s3.example.org/path", "https://s3.example.org/path"),
        (values.endpoint, "minio:9000", "minio:9000"),
        (values.variable, "S3_SECRET", "S3_SECRET"),
        (values.credential, "s3.secret-key", "s3.secret-key"),
    ],
)  # fmt: skip
def test_a_value_is_normalized(read, text, value):
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (values.line, "", "is empty"),
        (values.line, "a\nb", "contains a control character"),
        (values.line, "a\ud800", "contains a control character"),
        (values.mount_path, "/a\tb", "contains a control character"),
        (values.host, "exämple.org", "is not a host"),
        (values.host, "example.org/files", "is not a host"),
        (values.host, "example.org\n", "is not a host"),
        (values.bucket_name, "", "is not a bucket's name"),
        (values.bucket_name, "bucket\n", "is not a bucket's name"),
        (values.prefix, "a/./b", "contains a `.` or `..` segment"),
        (values.prefix, "x" * 1023, "leaves no room for a key: S3 takes 1024 bytes for both together"),
        (values.prefix, "x" * 2000, "is longer than 1024 bytes"),
        (values.glob, "/a/..", "contains a `.` or `..` segment"),
        (values.bucket_name, "one:two:three", "is not a bucket's name"),
        (values.bucket_name, "my-tenant:bucket", "is not a bucket's name"),
        (values.index_document, "a//index.html", "has an empty segment"),
        (values.index_document, "a/", "has an empty segment"),
        (values.index_document, "a/../index.html", "contains a `.` or `..` segment"),
        (values.index_document, "..", "contains a `.` or `..` segment"),
        (values.tried_files, ("$path", "=404"), "cannot have `=404`"),
        (values.tried_files, ("$uri",), "cannot have `$uri`"),
        (values.tried_files, ("$path/$path",), "cannot have `$path/$path`"),
        (values.tried_files, ("$path/../x",), "contains a `.` or `..` segment"),
        (values.tried_files, ("/x",) * 9, "has more than 8 entries"),
        (values.s3_header, "", "is not the value of a header"),
        (values.s3_header, " a", "is not the value of a header"),
        (values.s3_header, "ä", "is not the value of a header"),
        (values.s3_header, "a\r\nb", "is not the value of a header"),
        (values.s3_headers, (("a b", ""),), "cannot be `a b`"),
        (values.s3_headers, (("Host", "a"),), "cannot have `Host`"),
        (values.s3_headers, (("Range", "a"),), "cannot have `Range`"),
        (values.s3_headers, (("X-A", "a"), ("x-a", "b")), "has `x-a` twice"),
        (values.user_name, "", "is not a user name"),
        (values.user_name, "..", "is not a user name"),
        (values.user_name, ".", "is not a user name"),
        (values.user_name, "a/b", "is not a user name"),
        (values.user_name, "a:b", "is not a user name"),
        (values.user_name, "a\rb", "is not a user name"),
        (values.region, "-eu", "is not a region"),
        (values.listen_address, "*", "is not an address"),
        (values.endpoint, "", "is not the URL of an S3 server"),
        (values.endpoint, "http://[::1", "is not the URL of an S3 server"),
        (values.endpoint, "http://host:port", "is not the URL of an S3 server"),
        (values.endpoint, "http://ann:word@host", "is not the URL of an S3 server"),
        (values.endpoint, "http://", "is not the URL of an S3 server"),
        (values.endpoint, "http://a b", "is not the URL of an S3 server"),
        (values.endpoint, "http://host/?a=b", "is not the URL of an S3 server"),
        (values.variable, "MY-SECRET", "is not the name of an environment variable"),
        (values.credential, "a/b", "is not the name of a credential"),
        (values.credential, "..", "is not the name of a credential"),
    ],
)
def test_an_invalid_value_is_refused(read, text, message):
    with pytest.raises(InvalidValue) as caught:
        read(text)
    assert caught.value.message == message


@pytest.mark.parametrize("name", ["abc", "my-bucket", "a.b.c", "1bucket", "arn:aws:s3:::x", "x" * 63])
def test_a_name_by_the_rules_of_aws_has_no_objection(name):
    assert values.aws_objection(name) is None


@given(st.text(max_size=40))
def test_a_mount_path_begins_and_ends_with_a_slash(text):
    try:
        path = values.mount_path(text)
    except InvalidValue:
        return
    assert path.startswith("/")
    assert path.endswith("/")
    assert values.mount_path(path) == path


@given(st.text(max_size=40))
def test_a_prefix_is_a_directory(text):
    try:
        prefix = values.prefix(text)
    except InvalidValue:
        return
    assert prefix == "" or re.fullmatch(r"(?s)[^/].*[^/]/|[^/]/", prefix)
    assert len(prefix.encode()) < LONGEST_OBJECT_KEY


@pytest.mark.parametrize(
    ("whole", "shown"),
    [
        ("https://example.org/a/b", "https://example.org/a/b"),
        ("https://ann:hush@example.org:8443/a", "https://…@example.org:8443/a"),
        ("https://hush@example.org", "https://…@example.org"),
        ("https://a@hush:hush@example.org/@b", "https://…@example.org/@b"),
        ("https://example.org?hush", "https://example.org?…"),
        ("https://example.org/a?t=hush#hush", "https://example.org/a?…"),
        ("https://example.org/a#hush?", "https://example.org/a#…"),
        ("https://ann:hush@example.org/a\n?hush\nhush", "https://…@example.org/a\n?…"),
        ("folder/a#?.pem", "folder/a#?.pem"),
    ],
)
def test_a_url_is_never_printed_whole(whole, shown):
    """However it is printed, a URL has no user information, query or fragment; only `reveal` gives the whole."""
    url = values.GuardedUrl(whole)
    assert (str(url), f"{url}", "%s" % url, url.reveal()) == (shown, shown, shown, whole)  # noqa: UP031 - as in logs
    assert repr((url,)) == f"(GuardedUrl(bare={shown!r}),)"
    with pytest.raises(TypeError):
        json.dumps(url)
    expected = (True, False, True)
    assert (url == values.GuardedUrl(whole), url == whole, hash(url) == hash(values.GuardedUrl(whole))) == expected


@pytest.mark.parametrize("text", ["http://u@127.0.0.1/", "http://127.0.0.1/?t=hush", "http://127.0.0.1/#a"])
def test_a_url_that_a_library_logs_has_no_secret(text):
    """A URL that a library may log has neither user information nor a query."""
    with pytest.raises(InvalidValue, match="has user information or a query"):
        values.bare_url(text)
