"""Header fields mean what another reader finds in them: Werkzeug's, or the one of Python's e-mail package.

This service may read less. Each text is a valid one, at times with an odd piece somewhere.
"""

import base64
import re
from contextlib import suppress
from datetime import UTC
from email.message import Message
from email.utils import parsedate_to_datetime

from hypothesis import given
from hypothesis import strategies as st
from werkzeug.datastructures import Accept, Authorization, MIMEAccept, ResponseCacheControl
from werkzeug.http import (
    parse_accept_header,
    parse_cache_control_header,
    parse_content_range_header,
    parse_range_header,
)
from werkzeug.http import parse_etags as read_etags

from tornado_proxy.semantics.conditions import (
    ANY,
    ByteRange,
    ContentRange,
    freshness,
    is_etag,
    is_weak,
    parse_date,
    parse_etags,
)
from tornado_proxy.semantics.fields import BasicCredentials, Disposition, negotiate, negotiate_coding

NUMBER = st.sampled_from(("0", "1", "9", "10", "010", "1" + "0" * 17))


@st.composite
def _odd(draw, texts, pieces):
    """A text, at times with a piece put in somewhere."""
    text = draw(texts)
    at, piece = draw(st.integers(0, len(text))), draw(st.sampled_from(("", "", *pieces)))
    return text[:at] + piece + text[at:]


@st.composite
def _dates(draw):
    """Dates in the three forms of HTTP and in the one of e-mail, also with numbers that no calendar has."""
    form = draw(
        st.sampled_from(
            (
                "Sun, {d:02} {m} {y:04} {t} GMT",
                "Sunday, {d:02}-{m}-{s:02} {t} GMT",
                "Sun {m} {d:2} {t} {y:04}",
                "Sun, {d} {m} {y} {t} +0100",
            )
        )
    )
    year = draw(st.sampled_from((1, 94, 1970, 1999, 2000, 2023, 2024, 2068, 9999)))
    time = "{:02}:{:02}:{:02}".format(*(draw(st.integers(0, most)) for most in (24, 60, 60)))
    month = draw(st.sampled_from(("Jan", "Feb", "Jun", "Dec", "jan", "Mai")))
    return form.format(d=draw(st.integers(0, 32)), m=month, y=year, s=year % 100, t=time)


@given(_odd(_dates(), (" ", "\t", "0", ",", "x", "-", "١")))
def test_dates(text):
    if (moment := parse_date(text)) is None:
        return
    other = parsedate_to_datetime(text.replace(":60 ", ":59 "))  # a leap second
    other = other.replace(tzinfo=UTC) if other.tzinfo is None else other.astimezone(UTC)
    # Of two digits, each finds the century in its own way.
    assert (moment.replace(year=2000), moment.year % 100) == (other.replace(year=2000), other.year % 100)


ETAGS = st.lists(st.sampled_from(('"a"', '"b,c"', 'W/"a"', '"\\"', '"é"', "*")), max_size=3).map(", ".join)


@given(_odd(ETAGS, ('"', ",", " ", "*", "x", 'w/"d"', "\\", "W/")))
def test_entity_tags(text):
    tags, other = parse_etags(text), read_etags(text.strip())
    assert other.star_tag or tags != (ANY,)
    if tags and all(map(is_etag, tags)):
        assert other.as_set(include_weak=True) == {each.removeprefix("W/")[1:-1] for each in tags}
        assert other.as_set() == {each[1:-1] for each in tags if not is_weak(each)}


RANGES = st.builds(
    "{}={}-{}".format, st.sampled_from(("bytes", "Bytes", "items")), NUMBER | st.just(""), NUMBER | st.just("")
)


@given(_odd(RANGES, (" ", "\t", ",", ",5-6", "-", "+", "_", "x", "٣")))
def test_ranges(text):
    other, requested = parse_range_header(text), ByteRange.from_header(text)
    if requested is None:
        # The other knows more units, several ranges, and spellings that the grammar does not have.
        assert other is None or not re.fullmatch(r"bytes=[0-9]*-[0-9]*", text)
    elif requested != ByteRange(None, 0):  # which the other takes for a range from 0
        first, last = requested.first, requested.last
        assert other.ranges == [(-last, None) if first is None else (first, None if last is None else last + 1)]


@given(
    _odd(
        st.builds(
            "bytes {}/{}".format, st.just("*") | st.builds("{}-{}".format, NUMBER, NUMBER), NUMBER | st.just("*")
        ),
        (" ", "-", "+", "/", "*", "x", "٣"),
    )
)
def test_content_ranges(text):
    with suppress(ValueError):
        part = ContentRange.from_header(text)
        other = parse_content_range_header(text)
        assert (other.start, other.length) == (part.first, part.size)
        assert other.stop == (None if part.last is None else part.last + 1)


TYPES = ("text/html", "application/json", "text/plain", "image/png")
CODINGS = ("br", "gzip", "zstd")


def _accepted(*names):
    weights = st.sampled_from(("", ";q=0.5", "; q=0", ";q=1.000", ";q=0.001", ";Q=0.3"))
    members = st.lists(st.tuples(st.sampled_from(names), weights), max_size=4, unique_by=lambda member: member[0])
    return members.flatmap(
        lambda each: st.sampled_from((",", ", ", " ,\t", ",,")).map(lambda comma: comma.join(map("".join, each)))
    )


@given(_accepted(*TYPES, "text/*", "*/*"))
def test_types(text):
    """The chosen type is one that the other reader weighs highest, too."""
    other = parse_accept_header(text or "*/*", MIMEAccept)
    assert other.quality(negotiate(text, TYPES)) == max(map(other.quality, TYPES))


@given(_accepted(*CODINGS, "identity", "*"))
def test_codings(text):
    other = parse_accept_header(text, Accept)
    if (chosen := negotiate_coding(text, CODINGS)) is not None:
        assert other.quality(chosen) == max(map(other.quality, CODINGS)) > 0


@given(
    st.builds(
        "{}{}".format,
        st.sampled_from(("Basic ", "basic  ", "BASIC ", "Bearer ")),
        _odd(
            st.binary(max_size=12).map(lambda data: base64.b64encode(b"a:" + data).decode()),
            ("=", "-", "_", " ", "é", "\n", ":"),
        ),
    )
)
def test_credentials(text):
    if credentials := BasicCredentials.from_header(text):
        other = Authorization.from_header(text)
        assert (other.username, other.password) == (credentials.user, credentials.password)


_FILES = (
    "filename=a.txt",
    'filename="a.txt"',
    'filename="a\\"b;c"',
    "filename*=utf-8''%C3%A9",
    "FILENAME*=ISO-8859-1'de'%E9",
)
_PARAMETERS = st.tuples(
    st.sampled_from(('name="file"', "name=a", "NAME = c")), st.sampled_from(_FILES), st.just('x="a;b"')
)


@given(
    _odd(
        _PARAMETERS.flatmap(st.permutations).map(lambda each: "; ".join(("form-data", *each))),
        ('"', ";", " ", "\t", "\\", "x", "*", ",", "'", "%", ';x="'),
    )
)
def test_dispositions(text):
    with suppress(ValueError):
        disposition = Disposition.from_header(text)
        message = Message()
        message["Content-Disposition"] = text
        if disposition.name is not None:
            assert disposition.name == message.get_param("name", None, "content-disposition")
        if disposition.filename is not None:  # which the other strips
            assert disposition.filename.strip() == message.get_filename()


DIRECTIVES = st.lists(
    st.sampled_from(
        (
            "no-store", "No-Cache", "private", 'private="Set-Cookie"', "public", "max-age=60", 'max-age="5"',
            "s-maxage=0", "S-MaxAge=7", 'x="a, no-store"', "max-age=x",
        )
    ),
    max_size=3,
    unique_by=lambda each: each.partition("=")[0].lower(),
)  # fmt: skip


@given(DIRECTIVES, st.sampled_from((",", ", ", " ,\t")))
def test_cache_control(directives, comma):
    text = comma.join(directives)
    other = parse_cache_control_header(text.lower(), cls=ResponseCacheControl)
    seconds = freshness(text, None, 0)
    if other.no_store or other.private is not None:
        assert seconds is None
    elif other.no_cache:
        assert seconds == 0
    else:
        # An age that is no number counts as 0, and without one there is no limit.
        age = other.get("s-maxage", other.get("max-age", "inf"))
        assert seconds == (float(age) if age != "x" else 0)
