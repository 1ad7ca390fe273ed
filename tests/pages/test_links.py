"""Links are made from request paths, and lead back to them."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Mount
from tornado_proxy.pages.links import human_size, link, link_to, target_links, visible
from tornado_proxy.rules.keys import path_objection

NAMES = st.text(min_size=1, max_size=20)


@given(NAMES)
def test_a_link_decodes_to_the_path_that_it_was_made_from(name):
    """Any entry that can be requested is what its link asks for, on this host."""
    reference = link_to("/a/", name)
    if reference is not None:
        parts = urlsplit(reference)
        assert (parts.netloc, parts.query, parts.fragment) == ("", "", "")
        assert unquote(parts.path, errors="strict") == "/a/" + name


@given(NAMES)
def test_only_what_can_be_requested_has_a_link(name):
    """A name has a link exactly where the path that it makes is a valid one."""
    assert (link_to("/a/", name) is None) == (path_objection("/a/" + name) is not None)


@pytest.mark.parametrize("name", ["..", ".", "../", "a\n", "\x7f", "\ud800"])
def test_a_name_that_no_request_can_name_has_no_link(name):
    """Dot segments, control characters and broken Unicode cannot be asked for."""
    assert link_to("/", name) is None


def test_a_link_never_names_another_host():
    """A path that begins with two slashes keeps them, one of them encoded."""
    assert link("//evil.test/x") == "/%2Fevil.test/x"


def test_a_query_is_encoded():
    """A link's query takes any text."""
    assert link("/a/", [("after", "a&b"), ("limit", "2")]) == "/a/?after=a%26b&limit=2"


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\tb", "a␉b"), ("\x00", "␀"), ("\x7f", "␡"), ("\x85", "�"), ("\ud800", "�"), ("größe 日本", "größe 日本")],
)
def test_control_characters_are_shown_as_pictures(name, shown):
    """Nothing invisible hides in a shown name, and no script is harmed."""
    assert visible(name) == shown


def test_links_of_a_target_lead_to_each_of_its_mounts():
    """Where any host leads there, to the one that was asked."""
    assert target_links(Mount("", ("/a b/", "/c/")), "https", "files.example:8443") == (
        "https://files.example:8443/a%20b/",
        "https://files.example:8443/c/",
    )
    assert target_links(Mount("www.example", ("/",)), "http", "x") == ("http://www.example/",)
    assert target_links(Mount("*.example", ("/",)), "http", "x.example") == ("http://x.example/",)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        (1024**2 - 1, "1.0 MiB"),
        (1024**2 - 52, "1023.9 KiB"),
        (1024**2, "1.0 MiB"),
        (5 * 1024**3, "5.0 GiB"),
        (5 * 1024**4, "5.0 TiB"),
        (2**63 - 1, "8.0 EiB"),
        (2**80, "1048576.0 EiB"),
    ],
)
def test_a_size_is_shown_in_the_unit_that_suits_it(size, expected):
    """A size has one decimal and the largest unit that leaves something before the point."""
    assert human_size(size) == expected
