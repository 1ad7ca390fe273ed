import pytest

from tornado_proxy.routing.globs import host_expression, path_expression
from tornado_proxy.rules.patterns import compile_pattern


def _covers(glob, path):
    return compile_pattern(path_expression(glob)).search(path) is not None


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("/", ["/"]),
        ("/a/b.html", ["/a/b.html"]),
        ("/**", ["/", "/a", "/a/", "/a/b", "//", "//a"]),
        ("/public/**", ["/public", "/public/", "/public/a", "/public/a/b/", "/public//a"]),
        ("/*", ["/", "/a"]),
        ("/a/*", ["/a/", "/a/b"]),
        ("/a/*/c", ["/a/b/c", "/a//c"]),
        ("/*.html", ["/.html", "/a.html", "/a.b.html"]),
        ("/a/**/z", ["/a/z", "/a/b/z", "/a/b/c/z", "/a//z"]),
        ("/**/z", ["/z", "/a/z", "/a/b/z"]),
        ("/docs/**.pdf", ["/docs/.pdf", "/docs/a.pdf", "/docs/a/b.pdf"]),
        ("/a**", ["/a", "/ab", "/a/b"]),
        ("/**/", ["/", "/a/", "/a/b/"]),
        ("/é x/*", ["/é x/ü"]),
    ],
)
def test_a_glob_covers(glob, paths):
    """`*` is any part of one segment, `**` any number of segments; all else stands for itself."""
    assert [path for path in paths if not _covers(glob, path)] == []


@pytest.mark.parametrize(
    ("glob", "paths"),
    [
        ("/", ["/a", "//"]),
        ("/a/b.html", ["/a/bxhtml", "/a/b.html/", "/x/a/b.html", "/A/b.html"]),
        ("/public/**", ["/publicity", "/publi", "/x/public/a", "/"]),
        ("/*", ["/a/", "/a/b", "//a"]),
        ("/a/*", ["/a", "/a/b/", "/a/b/c", "/ab"]),
        ("/a/*/c", ["/a/c", "/a/b/x/c"]),
        ("/*.html", ["/a/b.html", "/a.htm"]),
        ("/a/**/z", ["/az", "/a/bz", "/a/b/z/", "/b/a/z"]),
        ("/**/z", ["/az", "/z/"]),
        ("/**/", ["/a"]),
        ("/[ab]?{c,d}(e|f)+^$", ["/a", "/ac"]),
    ],
)
def test_a_glob_does_not_cover(glob, paths):
    """`*` never crosses a `/`, and a glob means the whole path, not a part of it."""
    assert [path for path in paths if _covers(glob, path)] == []


@pytest.mark.parametrize("glob", ["/[ab]?{c,d}(e|f)+^$\\d.|", "/ # & ~ - !", "/é日本"])
def test_what_is_no_star_stands_for_itself(glob):
    """No character but `*` has a meaning, whatever it means in an expression."""
    assert _covers(glob, glob)


def test_a_glob_of_many_stars_costs_no_more_than_its_length():
    """A glob that backtracking would take years over is answered."""
    assert not _covers("/**a" * 30 + "!", "/" + "a" * 5000)


@pytest.mark.parametrize(
    ("pattern", "host", "matches"),
    [
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "a.b.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", ".example.com", False),
        ("*.example.com", "www.example.com.evil", False),
        ("*.example.com", "wwwxexample.com", False),
        ("www.*.org", "www.example.org", True),
        ("img-*.example.com", "img-7.example.com", True),
        ("img-*.example.com", "img-.example.com", False),
    ],
)
def test_a_star_in_a_host_is_one_character_or_more(pattern, host, matches):
    """`*.example.com` means all hosts below that name, at any depth, and not the name itself."""
    anchored = compile_pattern(rf"\A{host_expression(pattern)}\z")
    assert (anchored.search(host) is not None) is matches
