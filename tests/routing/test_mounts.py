import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.config.model import Bucket, ListingOptions, Mount, Target
from tornado_proxy.config.providers import Resource
from tornado_proxy.routing.access import Nobody
from tornado_proxy.routing.mounts import Mounts, Site, host_expression, sites, target_data
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.semantics.request import RequestPath
from tornado_proxy.templates.template import ResourceData, TargetData


def _site(name, host="", *paths):
    return Site(Target(name, Mount(host, paths or ("/",)), Bucket(name)), RuleSet(name))


def _find(mounts, host, path):
    match = mounts.find(host, RequestPath(path))
    return match and (match.site.target.name, match.mount, match.key)


def test_targets_are_joined_with_their_rules():
    rule_set = RuleSet("a", tests=())
    targets = [Target(name, Mount(), Bucket(name), resources=(Resource("/x"),)) for name in ("a", "b")]
    first, second = sites(targets, {"a": rule_set, "unknown": RuleSet("unknown")})
    assert (first.target, first.rules) == (targets[0], rule_set)
    assert first.rules is rule_set
    assert (second.target, second.rules) == (targets[1], RuleSet("b"))
    assert second.access.guard(RequestPath("/x"), "GET") == Nobody()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/", ("root", "/", "/")),
        ("/file", ("root", "/", "/file")),
        ("/a/file", ("a", "/a/", "/file")),
        ("/a/", ("a", "/a/", "/")),
        ("/a//file", ("a", "/a/", "//file")),
        ("/a/b/c/", ("ab", "/a/b/", "/c/")),
        ("/ab", ("root", "/", "/ab")),
        ("/abc/file", ("root", "/", "/abc/file")),
        ("/other/file", ("a", "/other/", "/file")),
        ("//a/file", ("root", "/", "//a/file")),
        ("/A/file", ("root", "/", "/A/file")),
    ],
)
def test_the_longest_mount_path_wins(path, expected):
    """A path leads to the longest mount that ends at one of its segments; the rest, with its slash, is the key."""
    mounts = Mounts([_site("root"), _site("a", "", "/a/", "/other/"), _site("ab", "", "/a/b/")])
    assert _find(mounts, "any.example", path) == expected


def test_a_path_outside_all_mounts_has_no_target():
    mounts = Mounts([_site("a", "a.example", "/a/")])
    assert _find(mounts, "a.example", "/b") is None
    assert _find(mounts, "b.example", "/a/") is None
    assert _find(Mounts([]), "a.example", "/") is None


@pytest.mark.parametrize(
    ("host", "name"),
    [("www.example.com", "exact"), ("img.example.com", "pattern"), ("example.org", "any"), ("", "any")],
)
def test_an_exact_host_wins_over_a_pattern_and_a_pattern_over_any_host(host, name):
    mounts = Mounts([_site("any"), _site("pattern", "*.example.com"), _site("exact", "www.example.com")])
    assert _find(mounts, host, "/x") == (name, "/", "/x")


@pytest.mark.parametrize("host", ["*.example.com", "a.example.com/x", "a/b.example.com", "", "example.com /"])
def test_an_invalid_host_matches_no_pattern(host):
    match = _find(Mounts([_site("pattern", "a*.example.com")]), host, "/x")
    assert match is None


@pytest.mark.parametrize("configured", ["Example.COM", "example.com:8080", "example.com."])
def test_a_configured_host_is_normalized_as_a_requested_one(configured):
    """Case, port and final dot of a mount's host are ignored, as in a request."""
    assert _find(Mounts([_site("x", configured)]), "example.com", "/") is not None


_PATHS = st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=4).map(lambda parts: "/" + "/".join(parts))
_MOUNTS = st.tuples(st.sampled_from(["", "x.com", "y.com", "*.com", "*"]), _PATHS.map(lambda p: p.rstrip("/") + "/"))


@given(st.lists(_MOUNTS, max_size=6), st.sampled_from(["x.com", "y.com", "z.com", "org"]), _PATHS)
def test_the_compiled_tables_match_the_definition(mounts, host, path):
    """The compiled tables find the mount that a comparison of every mount by host, length and order finds."""
    sites = [_site(str(number), host, path) for number, (host, path) in enumerate(mounts)]

    def rank(number):
        pattern, mount = mounts[number]
        is_pattern_of_host = pattern == "*.com" and host.endswith(".com")
        host_rank = [pattern == host, is_pattern_of_host, pattern in ("", "*"), True].index(True)
        covers = path == mount.rstrip("/") or path.startswith(mount)
        return (host_rank, -len(mount), number) if host_rank < 3 and covers else None

    best = min((rank(number) for number in range(len(mounts)) if rank(number)), default=None)
    match = _find(Mounts(sites), host, path)
    assert match == (best and (str(best[2]), mounts[best[2]][1], path[len(mounts[best[2]][1]) - 1 :] or "/"))


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
    """`*.example.com` matches all hosts below that name, at any depth, and not the name itself."""
    anchored = compile_pattern(rf"\A{host_expression(pattern)}\z")
    assert (anchored.search(host) is not None) is matches


def test_a_changed_target_is_compiled_anew():
    """An edited target and a new target get new access lists."""
    open_resource, closed_resource = Resource("/**", white_list=True), Resource("/closed/**", white_list=True)
    old_sites = sites(
        [Target("a", Mount(), Bucket("b"), resources=(open_resource,)), Target("b", Mount(), Bucket("b"))], {}
    )
    edited = [Target("a", Mount(), Bucket("b"), resources=(closed_resource,)), Target("c", Mount(), Bucket("b"))]
    changed, new = sites(edited, {}, old_sites)
    assert changed.access is not old_sites[0].access
    assert new.access is not old_sites[1].access
    assert changed.target is edited[0]


def test_an_unchanged_target_gets_its_new_rules():
    """A target with new rules keeps its compiled access list, and the previous site keeps its own rules."""
    target, old_rules, new_rules = Target("a", Mount(), Bucket("b")), RuleSet("a"), RuleSet("a", tests=())
    (old_site,) = sites([target], {"a": old_rules})
    (new_site,) = sites([Target("a", Mount(), Bucket("b"))], {"a": new_rules}, [old_site])
    assert (new_site.rules, new_site.data, new_site.access) == (new_rules, old_site.data, old_site.access)
    assert new_site.rules is new_rules
    assert old_site.rules is old_rules


def test_templates_read_the_target():
    """A template reads the target's name, bucket, mount, methods and resources, and no secret."""
    bucket = Bucket("files", "folder1/", region="eu-west-1", s3_endpoint="http://s3", disable_ssl=True, list_max_keys=5)
    resources = (Resource("/m/**", provider="corp"), Resource("/**", white_list=True))
    assert target_data(Target("site", Mount("*.x", ("/m/",)), bucket, resources=resources)) == TargetData(
        name="site",
        bucket_name="files",
        bucket_prefix="folder1/",
        bucket_region="eu-west-1",
        bucket_s3_endpoint="http://s3",
        bucket_list_max_keys=5,
        bucket_disable_ssl=True,
        mount_host="*.x",
        mount_paths=("/m/",),
        actions=("GET", "HEAD"),
        resources=(
            ResourceData("/m/**", ("GET", "HEAD"), "corp"),
            ResourceData("/**", ("GET", "HEAD"), white_list=True),
        ),
    )


def test_an_endpoint_that_is_not_configured_is_empty():
    assert target_data(Target("site", Mount(), Bucket("b"))).bucket_s3_endpoint == ""


@pytest.mark.parametrize(
    ("globs", "hidden", "shown"),
    [
        ((".*",), [".git", "..."], ["a.b", "git"]),
        (("tmp", "?/"), ["tmp", "tmp/"], ["a/"]),
        (("*.tmp", "?.o"), ["a.tmp", ".tmp", "a.o"], ["a.tmp2", "ab.o", "A.TMP"]),
        (("[a]+",), ["[a]+"], ["a"]),
        (("a*",), ["a\nb"], ["ba"]),
    ],
)
def test_a_name_that_a_pattern_matches_is_hidden(make_site, globs, hidden, shown):
    """A pattern must match the whole name; only `*` and `?` have a special meaning."""
    target = structs.replace(make_site().target, listing=ListingOptions(hidden=globs))
    site = Site(target, RuleSet("site"))
    assert [name for name in (*hidden, *shown) if not site.shows(name)] == hidden
