from base64 import b64encode
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.fields import (
    BasicCredentials,
    Checksum,
    ContentCheck,
    Disposition,
    Utf8Check,
    asks_for_page,
    attachment,
    challenge,
    content_digest,
    encoded_disposition,
    is_active,
    is_media_type,
    is_of_types,
    negotiate,
    negotiate_coding,
    path_reference,
    type_of_name,
    with_charset,
)

HTML, JSON, TEXT = "text/html", "application/json", "text/plain"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, HTML),
        ("", HTML),
        ("*/*", HTML),
        ("application/json", JSON),
        ("APPLICATION/JSON", JSON),
        ("application/json; charset=utf-8", JSON),
        ("text/plain", TEXT),
        ("text/*", HTML),
        ("application/*", JSON),
        ("text/html;q=0.5, application/json;q=0.9", JSON),
        ("text/html, application/json", HTML),
        ("*/*;q=0.1, text/plain", TEXT),
        ("text/*, text/html;q=0.1", TEXT),
        ("text/html;q=0, */*", JSON),
        ("text/html;level=1;q=0.3, application/json;q=0.2", HTML),
        ('text/html;note="a, b;q=0";q=0.1, application/json', JSON),
        ("application/json;Q=0.9, text/html;q=0.8", JSON),
        ("text/html ; q=0.1 , application/json ; q=1.000", JSON),
        ("image/png", HTML),
        ("text/html;q=0, application/json;q=0, text/plain;q=0", HTML),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8", HTML),
    ],
)
def test_the_best_offer_is_chosen(accept, expected):
    """The offer of the highest weight is chosen; its most specific range gives the weight, and of equal offers the first one is chosen."""
    assert negotiate(accept, (HTML, JSON, TEXT)) == expected


@pytest.mark.parametrize(
    "malformed",
    ["json", "text/html/x", "text/plain;q=2", "text/plain;q=high", "text/plain;q=", ";;", "text/plain;q=0.1234", "/"],
)
def test_a_malformed_member_is_ignored(malformed):
    assert negotiate(f"{malformed}, application/json;q=0.1", (HTML, JSON, TEXT)) == JSON


def test_long_runs_of_blanks_are_read_in_linear_time():
    assert negotiate("text/plain" + f"; {' ' * 30000}" * 2 + "?", (HTML, JSON, TEXT)) == HTML


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", None),
        ("gzip", "gzip"),
        ("GZip", "gzip"),
        ("x-gzip", "gzip"),
        ("deflate", "deflate"),
        ("gzip, deflate, br, zstd", "gzip"),
        ("deflate, gzip", "gzip"),
        ("gzip;q=0.5, deflate;q=0.8", "deflate"),
        ("gzip ; Q=0.1", "gzip"),
        ("*", "gzip"),
        ("gzip;q=0, *", "deflate"),
        ("*;q=0", None),
        ("gzip;q=0", None),
        ("br", None),
        ("identity", None),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", "gzip"),
        ("gzip;a=b;q=0.5, deflate;q=0.4", "gzip"),
        ("gzip;q=2, deflate;q=0.1", "deflate"),
        ("gzip;q=high, gzip/1, ;;", None),
    ],
)
def test_a_coding_is_used_only_if_the_client_accepts_it(accept, expected):
    """A coding that Accept-Encoding doesn't name is not used; one with the same weight as `identity` is used."""
    assert negotiate_coding(accept, ("gzip", "deflate")) == expected


def basic_header(credentials: bytes) -> str:
    return "Basic " + b64encode(credentials).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", BasicCredentials("Aladdin", "open sesame")),
        ("bASIC  QWxhZGRpbjpvcGVuIHNlc2FtZQ== ", BasicCredentials("Aladdin", "open sesame")),
        ("Basic dGVzdDoxMjPCow==", BasicCredentials("test", "123£")),
        (basic_header(b"ann:a:b:"), BasicCredentials("ann", "a:b:")),
        (basic_header(b"ann:"), BasicCredentials("ann", "")),
        (basic_header(b":"), BasicCredentials("", "")),
    ],
)
def test_credentials_are_read(text, expected):
    """The scheme may be in any case, the text is UTF-8, and a password may contain colons (RFC 7617)."""
    assert BasicCredentials.from_header(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        None, "", "Basic", "Basic ", "Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Basic !", "Basic QWxhZGRpbg", "BasicQWxhZGRpbjo=",
        "Basic QWxhZGRpbjo= extra", "Basic QWxh=ZGRpbjo=",
        basic_header(b"no colon"), basic_header(b"ann:\xff"), basic_header(b"ann:a\x00b"), basic_header(b"a\nnn:x"), basic_header(b"ann:\x7f"),
    ],
)  # fmt: skip
def test_a_header_without_credentials_gives_none(text):
    """Another scheme, invalid base64 or UTF-8, a missing colon and control characters give None."""
    assert BasicCredentials.from_header(text) is None


def test_a_password_is_never_shown():
    assert repr(BasicCredentials("ann", "hunter2")) == "BasicCredentials(user='ann')"


@given(
    user=st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=":")),
    password=st.text(st.characters(exclude_categories=["Cc", "Cs"])),
)
def test_written_credentials_are_read_back(user, password):
    assert BasicCredentials.from_header(basic_header(f"{user}:{password}".encode())) == BasicCredentials(user, password)


@pytest.mark.parametrize(
    ("realm", "expected"),
    [
        ("Files", 'Basic realm="Files", charset="UTF-8"'),
        (r'The "old" \ files', r'Basic realm="The \"old\" \\ files", charset="UTF-8"'),
        ("a\r\nSet-Cookie: b", 'Basic realm="a??Set-Cookie: b", charset="UTF-8"'),
        ("Käse", 'Basic realm="K?se", charset="UTF-8"'),
    ],
)
def test_a_challenge_quotes_its_realm(realm, expected):
    assert challenge(realm) == expected


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        ('form-data; name="file"', None),
        ('form-data; name="file"; filename=""', ""),
        ('form-data; name="file"; filename="a.txt"', "a.txt"),
        ("form-data; name=file; filename=a.txt", "a.txt"),
        ('form-data; name="file"; filename="日本 é.txt"', "日本 é.txt"),
        ('FORM-DATA;NAME="file";FileName="a.txt"', "a.txt"),
        ('form-data ; name = "file" ; filename = "a.txt" ; ', "a.txt"),
        (r'form-data; name="file"; filename="a\"b\\c.txt"', r'a"b\c.txt'),
        ('form-data; name="file"; filename="a%22b%25.txt"', 'a"b%25.txt'),
        ('form-data; name="file"; filename="a%0D%0Ab"', "a\r\nb"),
        (r'form-data; name="file"; filename="C:\dir\a.txt"', r"C:\dir\a.txt"),
        ('form-data; name="file"; filename="a;b=c.txt"', "a;b=c.txt"),
        ('form-data; name="file"; filename="dir/../a.txt"', "dir/../a.txt"),
        ('form-data; name="file"; filename="euro.txt"; filename*=UTF-8\'\'%e2%82%ac.txt', "€.txt"),
        ("form-data; name=\"file\"; filename*=utf-8'en'a%20b.txt", "a b.txt"),
        ("form-data; name=\"file\"; filename*=iso-8859-1'en'%A3.txt", "£.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=UTF-8\'\'%ff', "a.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=koi8-r\'\'%ff', "a.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=\'\'', "a.txt"),
        ("form-data; name=\"file\"; filename*=UTF-8''", ""),
    ],
)
def test_a_file_name_is_read_as_clients_write_it(text, filename):
    """Escapes of browsers, quoted pairs and `filename*` are decoded as the client meant them."""
    assert Disposition.from_header(text) == Disposition("file", filename)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        '"file"',
        'form-data; name="file',
        'form-data; name="file" filename="a"',
        'form-data; name="a"; name="b"',
        'form-data; name="a"; filename="b"; FILENAME="c"',
        "form-data; name",
        r'form-data; name="a\"',
    ],
)
def test_a_malformed_disposition_raises(text):
    with pytest.raises(ValueError, match="`"):
        Disposition.from_header(text)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", "/"),
        ("/a/b.html", "/a/b.html"),
        ("/a b", "/a%20b"),
        ("/a+b", "/a%2Bb"),
        ("/100%.txt", "/100%25.txt"),
        ("/what?#now", "/what%3F%23now"),
        ("/a//b/", "/a//b/"),
        ("/é/日本", "/%C3%A9/%E6%97%A5%E6%9C%AC"),
        ("/b/c/=@(1)!$,*:~-_", "/b/c/=@(1)!$,*:~-_"),
        ("""/"<'&;>\\""", "/%22%3C%27%26%3B%3E%5C"),
        ("//host/x", "/%2Fhost/x"),
        ("///x", "/%2F/x"),
    ],
)
def test_a_path_becomes_a_reference(path, expected):
    """Characters that a segment can't contain, or that are often misread, are escaped; slashes stay, except for a second one at the start."""
    assert path_reference(path) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])).map(lambda rest: f"/{rest}"))
def test_a_reference_decodes_to_its_path(path):
    reference = urlsplit(path_reference(path))
    assert (unquote(reference.path), reference.netloc, reference.query, reference.fragment) == (path, "", "", "")


ETAG = '"900150983cd24fb0d6963f7d28e17f72"'
MULTIPART_ETAG = '"900150983cd24fb0d6963f7d28e17f72-2"'

# The checksums of `abc`.
SHA256 = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="
SHA1 = "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="
CRC32C = "Nks/tw=="
CRC32 = "NSRBwg=="


@pytest.mark.parametrize(
    ("algorithm", "value", "expected"),
    [
        ("SHA256", SHA256, f"sha-256=:{SHA256}:"),
        ("SHA1", SHA1, f"sha-1=:{SHA1}:, sha=:{SHA1}:"),
        ("CRC32C", CRC32C, f"crc32c=:{CRC32C}:"),
        ("CRC32", CRC32, f"crc32=:{CRC32}:"),
        ("CRC64NVME", "rosUhgpIxGE=", None),
        ("MD5", "kAFQmDzST7DWlj99KOF/cg==", None),
    ],
)
@pytest.mark.parametrize("checksum_type", ["FULL_OBJECT", None])
def test_known_algorithms_are_written(algorithm, value, expected, checksum_type):
    """The header has checksums of SHA-256, SHA-1, CRC32C and CRC32, and of no other algorithm."""
    assert content_digest((Checksum(algorithm, value, checksum_type),), ETAG) == expected


@pytest.mark.parametrize(
    ("checksum_type", "etag", "is_reported"),
    [
        ("FULL_OBJECT", ETAG, True),
        ("FULL_OBJECT", MULTIPART_ETAG, True),
        ("FULL_OBJECT", None, True),
        ("COMPOSITE", ETAG, False),
        ("COMPOSITE", MULTIPART_ETAG, False),
        ("SOMETHING_NEW", ETAG, False),
        (None, ETAG, True),
        (None, MULTIPART_ETAG, False),
        (None, None, False),
    ],
)
def test_only_a_checksum_of_the_whole_object_is_reported(checksum_type, etag, is_reported):
    """The checksum's type decides; without a type, an entity tag without a number of parts means the whole object."""
    assert (content_digest((Checksum("CRC32", CRC32, checksum_type),), etag) is not None) is is_reported
    assert content_digest((), etag) is None


@pytest.mark.parametrize("value", [f"{CRC32}-3", "", "NSRB", "not base64", "NSRBwg==:, evil", "NSRBwg==\r\n", "é"])
def test_a_malformed_checksum_is_not_reported(value):
    """A value with a number of parts, of a wrong length or not in base64 is omitted."""
    assert content_digest((Checksum("CRC32", value, "FULL_OBJECT"),), ETAG) is None


HELLO_MD5 = "XUFAKrxLKna5cZ2REBfFkg=="
HELLO_SHA256 = "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="


@pytest.mark.parametrize(
    ("md5", "digest", "mismatch"),
    [
        (HELLO_MD5, None, None),
        (None, f"sha-256=:{HELLO_SHA256}:", None),
        (HELLO_MD5, f"sha-256=:{HELLO_SHA256}:, md5=:{HELLO_MD5}:", None),
        (None, f"sha-256=:{HELLO_SHA256[::-1].lstrip('=')}=:", "sha-256"),
        ("1B2M2Y8AsgTpgAmY7PhCfg==", None, "md5"),
        (None, "unknown=:AAAA:", None),
        (None, None, None),
    ],
)
def test_content_is_checked_against_its_digests(md5, digest, mismatch):
    """All digests of known algorithms must match; unknown algorithms are ignored."""
    check = ContentCheck(md5, digest)
    for chunk in (b"he", b"llo"):
        check.update(chunk)
    assert check.mismatch() == mismatch
    assert bool(check) is (md5 is not None or (digest or "").startswith("sha"))


@pytest.mark.parametrize(
    ("md5", "digest"),
    [("x", None), ("AAAA", None), (None, "sha-256=abc"), (None, ""), (None, "sha-256=:AAAA:"), (None, "sha-256=:A:")],
)
def test_a_malformed_digest_is_refused(md5, digest):
    """A digest must be base64 of the right length, in a dictionary."""
    with pytest.raises(ValueError, match=r"."):
        ContentCheck(md5, digest)


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [("Text/HTML; charset=utf-8", True), ("image/png", True), ("text/plain", False), ("", False)],
)
def test_a_type_is_one_of_types(content_type, expected):
    """A star stands for any subtype; case and parameters do not count."""
    assert is_of_types(("text/html", "image/*"), content_type) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(("a.webp", "image/webp"), ("a.woff2", "font/woff2"), ("a.md", "text/markdown"), ("a.flac", "audio/flac")),
        *(("a.yaml", "application/yaml"), ("a.geojson", "application/geo+json"), ("a.mjs", "text/javascript")),
        *(("a.wasm", "application/wasm"), ("A.AVIF", "image/avif"), ("a.tar.gz", "application/gzip")),
        *((name, "application/octet-stream") for name in ("a.b/c", "txt", "a.", "a.unheard-of", "a.t?x")),
        (".txt", "text/plain"),
    ],
)
def test_the_ending_of_a_name_suggests_a_type(name, expected):
    assert type_of_name(name) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("text/plain", "text/plain; charset=utf-8"),
        ("Text/Plain; format=flowed;", "Text/Plain; format=flowed; charset=utf-8"),
        ("application/json", "application/json; charset=utf-8"),
        ("application/geo+json", "application/geo+json; charset=utf-8"),
        ("image/svg+xml", "image/svg+xml; charset=utf-8"),
        ("application/javascript", "application/javascript; charset=utf-8"),
        ("text/plain;CharSet=latin1", "text/plain;CharSet=latin1"),
        ("text/plain;charset=", "text/plain; charset=utf-8"),
        ('text/html; Charset = "" ; a=b', "text/html; a=b; charset=utf-8"),
        ("image/png;charset=", "image/png;charset="),
        ("image/png", "image/png"),
        ("application/octet-stream", "application/octet-stream"),
    ],
)
def test_a_text_gets_a_charset(content_type, expected):
    """Another type, and one that has a charset, stay as they are."""
    assert with_charset(content_type, "utf-8") == expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([], True),
        ([b"plain"], True),
        ([b"Gr\xc3", b"\xbc\xc3\x9fe \xf0\x9f", b"\x98\x80"], True),
        ([b"Gr\xc3"], False),
        ([b"Gr\xfc\xdfe"], False),
        ([b"fine", b"\xff", b"fine"], False),
        ([b"a\0b"], False),
        ([b"\x1b$B4A;z\x1b(B"], False),
        (["naïve".encode("utf-16")], False),
        ([b"\xef\xbb", b"\xbf", b"Gr\xfc\xdfe"], True),
        ([b"x", b"\xef\xbb\xbf", b"\xff"], False),
    ],
)
def test_a_text_is_utf8_if_all_its_chunks_are(chunks, expected):
    """A chunk may end within a character; a byte order mark decides alone; NUL and other encodings are no UTF-8."""
    check = Utf8Check()
    for chunk in chunks:
        check.update(chunk)
    check.end()
    assert check.is_utf8 is expected


ENCODED = [
    ("menu.txt", 'filename="menu.txt"'),
    ("Café.txt", "filename=\"Cafe.txt\"; filename*=UTF-8''Caf%C3%A9.txt"),
    ("größe 1.txt", "filename=\"gro_e 1.txt\"; filename*=UTF-8''gr%C3%B6%C3%9Fe%201.txt"),
    ("日本.txt", "filename=\"__.txt\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.txt"),
    ("😀.png", "filename=\"_.png\"; filename*=UTF-8''%F0%9F%98%80.png"),
    ('a"b.txt', "filename=\"a_b.txt\"; filename*=UTF-8''a%22b.txt"),
    ('a"; x="b.txt', "filename=\"a_; x=_b.txt\"; filename*=UTF-8''a%22%3B%20x%3D%22b.txt"),
    ("a\\", "filename=\"a_\"; filename*=UTF-8''a%5C"),
    ("100%.txt", 'filename="100%.txt"'),
    ("100%20.txt", "filename=\"100_20.txt\"; filename*=UTF-8''100%2520.txt"),
    ("a\x9fb", "filename=\"a_b\"; filename*=UTF-8''a%C2%9Fb"),
    ("a'b(c).txt", 'filename="a\'b(c).txt"'),
]


@pytest.mark.parametrize(("name", "expected"), ENCODED)
def test_a_name_is_written_for_all_readers(name, expected):
    """In ASCII, without what some readers take for something else; and as it is, if that differs."""
    assert attachment(name) == f"attachment; {expected}"
    assert encoded_disposition(f'inline; filename="{name}"', name) == f"inline; {expected}"
    assert Disposition.from_header(attachment(name)) == Disposition(None, name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attachment", "attachment"),
        ("inline; filename=menu.txt", 'inline; filename="menu.txt"'),
        ("attachment; filename=Café menu.txt", "filename=\"Cafe menu.txt\"; filename*=UTF-8''Caf%C3%A9%20menu.txt"),
        (r'attachment; filename="a\"b"', "filename=\"a_b\"; filename*=UTF-8''a%22b"),
        ('attachment; filename="a"b"', "filename=\"a_b\"; filename*=UTF-8''a%22b"),
        ('attachment; filename="open', 'filename="open"'),
        ("attachment; filename*=UTF-8''Gr%C3%BC", "filename=\"Gru\"; filename*=UTF-8''Gr%C3%BC"),
        ("attachment; filename*=UTF-8''%ff; filename=ü", "filename=\"u\"; filename*=UTF-8''%C3%BC"),
        ('attachment; size="ü"; filename="a"', 'attachment; size="u"; filename="a"'),
        ("attachment; x", "attachment; x"),
        ("größer", "gr__er"),
        ("ähnlich; filename=a", "_hnlich; filename=a"),
    ],
)
def test_a_disposition_that_is_no_valid_one_is_mended(text, expected):
    """What names no file is made ASCII."""
    assert encoded_disposition(text) in (expected, f"attachment; {expected}")


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])))
def test_a_name_of_any_characters_comes_back(name):
    """Every header with a name is ASCII, and its name the one that was written."""
    made = encoded_disposition(f'attachment; filename="{name}"', name)
    assert made.isascii()
    assert made.isprintable()
    assert (Disposition.from_header(made).filename or "") == name


@pytest.mark.parametrize(
    ("content_type", "active"),
    [
        ("text/html", True),
        ("Text/HTML ; charset=utf-8", True),
        ("image/svg+xml", True),
        ("application/xhtml+xml", True),
        ("application/xml", True),
        ("text/html,text/plain", True),
        ("html", True),
        ("text/plain", False),
        ("image/png", False),
        ("application/json", False),
        ("text/javascript", False),
    ],
)
def test_types_that_run_scripts_are_known(content_type, active):
    """HTML and every XML type are active, and so are invalid types, which may be taken for HTML."""
    assert is_active(content_type) == active


@pytest.mark.parametrize(
    ("text", "valid"),
    [
        ("text/plain", True),
        ("text/plain; a=b", True),
        ("text", False),
        ("text/plain\n", False),
        ("text/plain; a=ä", False),
    ],
)
def test_a_media_type_has_two_parts_and_ascii_parameters(text, valid):
    assert is_media_type(text) is valid


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", True),
        ("application/json, text/html;q=0.5", False),
        ("text/html;q=0", False),
        ("*/*", False),
        (None, False),
    ],
)
def test_a_browser_asks_for_a_page_by_name(accept, expected):
    """A program that takes anything does not ask for HTML."""
    assert asks_for_page(accept) is expected
