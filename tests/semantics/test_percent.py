from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.semantics.percent import path_reference


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
    """What a segment cannot hold, or is often misread in one, is escaped as UTF-8; slashes stay but for a second one."""
    assert path_reference(path) == expected


@given(st.text(st.characters(exclude_categories=["Cs"])).map(lambda rest: f"/{rest}"))
def test_a_reference_leads_back_to_its_path(path):
    """Whatever the path, its reference is a path of this very host that decodes to it."""
    reference = urlsplit(path_reference(path))
    assert (unquote(reference.path), reference.netloc, reference.query, reference.fragment) == (path, "", "", "")
