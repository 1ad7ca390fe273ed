"""Addresses of requests are split and decoded as by other readers: urllib and Werkzeug."""

import re
from urllib.parse import parse_qsl, unquote, urlsplit

from hypothesis import assume, given
from hypothesis import strategies as st

from tornado_proxy.routing.request import BadAddress, host_name, parse_request_path, query_pairs, read_address

PIECES = (
    "/", "//", "a", "..", ".", "%2F", "%41", "%C3%A9", "\xc3\xa9", "%", "%4", "+", "?", "#", ":", "@", "[::1]", ";",
    "=", "&", "\\", "80", "*", "%00", "%ff",
)  # fmt: skip
AUTHORITIES = ("files.test", "FILES.test.:8080", "[2001:db8::1]:80", "a@b", "", ":80", "[x", "h:", "h:x", "a:1:2")
TARGETS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@given(
    st.builds(
        "{}{}".format,
        st.sampled_from(
            (
                "",
                "",
                "/",
                "http://files.test",
                "HTTPS://h:80/",
                "ftp://h/",
                "//h/",
                *(f"http://{each}/" for each in AUTHORITIES),
            )
        ),
        TARGETS,
    )
)
def test_targets(target):
    """A path with a query is split at the first question mark; an absolute address is split as by urllib."""
    try:
        path, query, authority = read_address(target)
    except BadAddress:
        return
    if authority is None:
        assert "http://h" + target == f"http://h{path}" + ("?" + query if "?" in target else "")
        return
    other = urlsplit(target.replace("#", "%23"))
    expected = (other.path or "/", other.query, other.netloc)
    assert (path.replace("#", "%23"), query.replace("#", "%23"), authority) == expected
    assert host_name(authority) == (other.hostname or "").lower().removesuffix(".")


@given(TARGETS)
def test_paths(text):
    """A path is decoded once, as UTF-8; segments that are sent as `.` are left out."""
    assume(not re.search(r"/\.(?:/|\Z)", f"/{text}"))
    try:
        path = parse_request_path(f"/{text}")
    except BadAddress:
        return
    assert path == unquote(f"/{text}".encode("latin-1").decode(), errors="strict")


@given(TARGETS)
def test_queries(text):
    """A query is decoded as UTF-8, in which other bytes become U+FFFD."""
    assert list(query_pairs(text)) == parse_qsl(text.encode("latin-1").decode(), keep_blank_values=True)
