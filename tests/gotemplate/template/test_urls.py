import pytest
from go_programs import budget

from gotemplate.template.urls import (
    HEADER,
    VALUES,
    Url,
    UrlError,
    Userinfo,
    canonical,
    collected,
    copied,
    header,
    parse,
    parse_query,
    split_port,
)
from gotemplate.template.values import type_name


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (b"", Url()),
        (b"*", Url(path=b"*")),
        (b"*#a%23b", Url(path=b"*", fragment=b"a#b")),
        (b"/a%20b", Url(path=b"/a b")),
        (b"/a%2Fb", Url(path=b"/a/b", raw_path=b"/a%2Fb")),
        (b"HTTP://h:80/p?q#f", Url(b"http", b"", None, b"h:80", b"/p", raw_query=b"q", fragment=b"f")),
        (b"http://u:p%40@h", Url(b"http", b"", Userinfo(b"u", b"p@"), b"h")),
        (b"http://u@h/", Url(b"http", b"", Userinfo(b"u"), b"h", b"/")),
        (b"mailto:x@y?z", Url(b"mailto", b"x@y", raw_query=b"z")),
        (b"//h/p", Url(host=b"h", path=b"/p")),
        (b"///p", Url(path=b"///p")),
        (b"http:/p", Url(b"http", path=b"/p", omit_host=True)),
        (b"/p?", Url(path=b"/p", force_query=True)),
        (b"/p#a%3Fb", Url(path=b"/p", fragment=b"a?b", raw_fragment=b"a%3Fb")),
        (b"http://[::1%25en%30]:80/", Url(b"http", b"", None, b"[::1%en0]:80", b"/")),
        (b"http://%C3%A9/", Url(b"http", b"", None, "é".encode(), b"/")),
        (b"a/b:c", Url(path=b"a/b:c")),
        (b"x://a:b:1/", Url(b"x", b"", None, b"a:b:1", b"/")),
    ],
)
def test_urls_are_parsed(text, url):
    """A URL has the parts of net/url, with the encoded forms of an unusual path and fragment."""
    assert parse(text) == url


@pytest.mark.parametrize(
    "text",
    [
        b":x", b"0x:y/z", b"x y:z", b"/a\n", b"/%zz", b"/%4", b"http://h:port/", b"http://h:1:2/", b"http://a[b/",
        b"http://[::1/", b"http://[nope]/", b"http://[::1]x/", b"http://[1.2.3.4]/", b"http://a b/", b"http://%41/",
        b"http://[::1%25%0A]/", b"http://u\x80@h/", b"http://u%zz@h/", b"/p#%zz",
    ],
)  # fmt: skip
def test_invalid_urls_are_refused(text):
    with pytest.raises(UrlError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        b"http://u:p@h:80/p%20q?x=1#f", b"/a%2Fb?c", b"mailto:x@y", b"//h/p", b"http:/p", b"http://h?", b"/p#a%3Fb",
        b"*", b"http://[::1]:80/", b"http:///p", b"a/b:c", b"?q",
    ],
)  # fmt: skip
def test_parsed_urls_have_their_text(text):
    assert bytes(parse(text)) == text


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (Url(path=b"a:b/c"), b"./a:b/c"),
        (Url(host=b"h", path=b"p"), b"//h/p"),
        (Url(b"http", host=b"h", path=b"/a b", raw_path=b"/other"), b"http://h/a%20b"),
        (Url(path=b"/a", raw_path=b"/%zz"), b"/a"),
        (Url(path=b"/a", raw_path=b'/"a'), b"/a"),
        (Url(user=Userinfo(b"u", b"p:"), host=b"h"), b"//u:p%3A@h"),
        (Url(b"http", user=Userinfo(b"u")), b"http://u@"),
        (Url(b"http"), b"http:"),
    ],
)
def test_urls_made_of_parts_are_written(url, text):
    """A URL made of parts is written so that its parts cannot be confused."""
    assert bytes(url) == text


@pytest.mark.parametrize(
    ("text", "target"), [(b"http://h/a%2Fb?c", b"/a%2Fb?c"), (b"http://h", b"/"), (b"mailto:x", b"x"), (b"/p?", b"/p?")]
)
def test_a_request_uri_has_a_path_and_a_query(text, target):
    """The request URI of a URL is its path and query, or its opaque part."""
    assert parse(text).request_uri == target


def test_an_opaque_part_with_a_host_keeps_its_scheme():
    """The request URI of an opaque part that begins with two slashes has the scheme."""
    assert Url(b"http", b"//h/p").request_uri == b"http://h/p"


@pytest.mark.parametrize(
    ("host", "parts"),
    [
        (b"h:80", (b"h", b"80")),
        (b"h", (b"h", b"")),
        (b"[::1]:80", (b"::1", b"80")),
        (b"[::1]", (b"::1", b"")),
        (b"h:x", (b"h:x", b"")),
        (b"h:", (b"h", b"")),
    ],
)
def test_hosts_are_split_from_ports(host, parts):
    assert split_port(host) == parts


def test_queries_are_parsed_to_pairs():
    """A pair of a query that cannot be decoded is left out."""
    query = b"a=1&b=x+y%20z&&c&d=%zz&e;f=1&%zz=1&a=2"
    assert list(parse_query(query)) == [(b"a", b"1"), (b"b", b"x y z"), (b"c", b""), (b"a", b"2")]


@pytest.mark.parametrize(
    ("name", "canonical_name"),
    [(b"accept-encoding", b"Accept-Encoding"), (b"X-TENANT", b"X-Tenant"), (b"a b", b"a b"), (b"", b"")],
)
def test_header_names_are_canonical(name, canonical_name):
    """A header name has capitals after hyphens, and an invalid name is unchanged."""
    assert canonical(name) == canonical_name


def test_a_header_has_the_values_of_repeated_fields():
    """A header has the values of repeated fields in order, and leaves out the host."""
    fields = header(budget(), [("x-tenant", "a"), ("Host", "h"), ("X-Tenant", "b")])
    assert (fields, type_name(fields)) == ({b"X-Tenant": [b"a", b"b"]}, "http.Header")
    assert type_name(fields[b"X-Tenant"]) == "[]string"


def test_a_header_is_read_in_any_case():
    """A header returns the first value or all values of a field, and empty values for a missing field."""
    fields = header(budget(), [("X-Tenant", "a"), ("X-Tenant", "b")])
    get, values = HEADER.methods[b"Get"].call, HEADER.methods[b"Values"].call
    assert (get(fields, b"x-tenant"), get(fields, b"other")) == (b"a", b"")
    assert (values(fields, b"X-TENANT"), values(fields, b"other").nil) == ([b"a", b"b"], True)


def test_query_values_are_read_by_their_exact_names():
    query = collected(VALUES, [(b"x", b"1"), (b"y z", b"&"), (b"x", b"2")])
    get, has, encode = (VALUES.methods[name].call for name in (b"Get", b"Has", b"Encode"))
    assert (get(query, b"x"), get(query, b"X"), has(query, b"x"), has(query, b"X")) == (b"1", b"", True, False)
    assert encode(budget(), query) == b"x=1&x=2&y+z=%26"


def test_a_copy_can_be_changed():
    """A list in a copy is another one."""
    lists = header(budget(), (("A", "x"),))
    copied(budget(), lists)[b"A"].append(b"y")
    assert lists == {b"A": [b"x"]}
