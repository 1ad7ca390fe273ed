import pytest

from tornado_proxy.tools.near_miss import NearMiss, in_words, near_miss


@pytest.mark.parametrize(
    ("source", "key", "words"),
    [
        (r"^/old/", "/press/x", "`^/` matches up to `/`, then `o` meets `press/x`"),
        (r"^/(?P<page>[^/]+)\.html$", "/a.htm", "`^/(?P<page>[^/]+)\\.htm` matches up to `/a.htm`, then `l` meets the key's end"),
        (r"^docs/", "/docs/a", "`^` matches, then `d` meets `/docs/a`"),
        (r"never", "/press", "`n` is nowhere in the key"),
        (r"/a$", "/a/b", "`/a` matches up to `/a`, then `$` meets `/b`"),
        (r"^/(?:x|y)/1|^/z", "/y/2", "`^/(?:x|y)/` matches up to `/y/`, then `1` meets `2`"),
    ],
)  # fmt: skip
def test_it_is_told_how_far_a_source_matched(source, key, words):
    """The longest leading part that is found, where its match ends, and what meets what there."""
    miss = near_miss(source, key)
    assert miss is not None
    assert in_words(miss) == words


def test_programs_are_told_the_parts():
    """The four parts are texts of the source and of the key."""
    assert near_miss(r"^/old/(.*)", "/older") == NearMiss("^/old", "/old", "/", "er")


def test_of_a_source_that_matches_nothing_is_told():
    """A match is no miss."""
    assert near_miss(r"^/a", "/abc") is None


def test_long_texts_are_cut():
    """A long source keeps its end and a long key its beginning, next to where the match stops."""
    miss = NearMiss("^/" + "a" * 80, "/" + "a" * 80, "b", "c" * 80)
    assert in_words(miss) == f"`…{'a' * 40}` matches up to `…{'a' * 40}`, then `b` meets `{'c' * 40}…`"
