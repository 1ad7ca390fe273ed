import re
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template.errors import marked
from tornado_proxy.rules.tree import NoLocation, RedirectLocation, read_location


@pytest.mark.parametrize(
    ("text", "location"),
    [
        ("/a b/é", RedirectLocation("/a%20b/%C3%A9")),
        ("a", RedirectLocation("/a")),
        ("", RedirectLocation("/")),
        ("/a%20b/100%", RedirectLocation("/a%20b/100%25")),
        ("/a?x=1&y=%2F#top?", RedirectLocation("/a", "?x=1&y=%2F", "#top?")),
        ("/a#b?c", RedirectLocation("/a", "", "#b?c")),
        ("https://example.org", RedirectLocation("https://example.org")),
        ("HTTP://[::1]:8080/a?b", RedirectLocation("HTTP://[::1]:8080/a", "?b")),
        (f"/new/{marked('a b?c#d%2F&é')}", RedirectLocation("/new/a%20b%3Fc%23d%252F%26%C3%A9")),
        (f"/?q={marked('a&b=c+d')}", RedirectLocation("/", "?q=a%26b=c%2Bd")),
        (f"{marked('https://evil.org')}/x", RedirectLocation("/https://evil.org/x")),
        (f"https://example.org/{marked('//x')}", RedirectLocation("https://example.org///x")),
    ],
)
def test_a_location_is_percent_encoded(text, location):
    """What the rule writes keeps its meaning; what is inserted has none."""
    assert read_location(text) == location
    assert location.is_url is location.path.lower().startswith("http")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("//evil.org/", "begins with `//`, which would name a host"),
        ("javascript:alert(1)", "is neither a path nor a URL of `http` or `https`"),
        ("https:/evil.org", "is neither a path nor a URL of `http` or `https`"),
        ("https://", "does not name its host in the rule's own words"),
        ("https://a@evil.org/", "does not name its host in the rule's own words"),
        (f"https://{marked('evil.org')}/", "does not name its host in the rule's own words"),
        (f"https://example.org{marked('.evil.org')}/", "does not name its host in the rule's own words"),
        ("/a\x03b", "has what it inserts in disorder"),
        ("/a\x02b", "has what it inserts in disorder"),
    ],
)
def test_what_leads_nowhere_is_refused(text, reason):
    """The reason is a fact about the location."""
    with pytest.raises(NoLocation, match=re.escape(reason)):
        read_location(text)


@given(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from(["/", "/a", "/a?b=", "/a#", "https://example.org/a/"]),
)
def test_an_inserted_text_is_one_text(inserted, opening):
    """It neither ends the part in which it stands nor begins another, and is read back as it was."""
    location = str(read_location(opening + marked(inserted)))
    assert location.startswith(opening)
    mount = "" if opening.startswith("https") else "/m"
    read, before = urlsplit(mount + location), urlsplit(mount + opening)
    expected = (before.scheme, before.netloc, bool(before.query), bool(opening.endswith("#") and location != opening))
    assert (read.scheme, read.netloc, bool(read.query), bool(read.fragment)) == expected
    assert unquote(location.removeprefix(opening)) == inserted.replace("\x02", "").replace("\x03", "")
