from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.actions import PutAction, SystemMetadata
from tornado_proxy.config.model import Bucket, Mount, Resource, Target
from tornado_proxy.config.pages import ListingOptions
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.routing.access import Access, Nobody
from tornado_proxy.routing.errors import LengthRequired, MetadataTooLarge, PropertyFailed
from tornado_proxy.routing.mounts import (
    Mounts,
    Properties,
    PropertyTemplates,
    PutData,
    PutInput,
    Site,
    host_expression,
    sites,
    target_data,
)
from tornado_proxy.routing.request import RequestPath
from tornado_proxy.rules.model import RuleSet
from tornado_proxy.templates.template import HeaderFields, TargetData, User

INPUT = PutInput("docs/", "a.txt", "text/plain", 5, HeaderFields((("X-Team", "red"), ("x-team", "blue"))))
DATA = PutData(User("ann"), INPUT, "files/docs/a.txt")


def _rendered(data=DATA, **options) -> Properties:
    return PropertyTemplates(PutAction(**options)).render(data)


def test_without_options_nothing_is_set():
    """An upload has no property that nobody asked for."""
    assert _rendered() == Properties()


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("fixed", "fixed"),
        ("{{ .Key }} - {{ .Input.ContentType }}", "files/docs/a.txt - text/plain"),
        ("{{ .Input.RequestPath }}{{ .Input.Filename }}", "docs/a.txt"),
        ("{{ .Input.ContentSize }}", "5"),
        ("{{ .User.GetUsername }}", "ann"),
        ('{{ .Input.RequestHeaders.Get "x-team" }}', "red"),
        ('{{ index .Input.RequestHeaders "X-Team" 1 }}', "blue"),
        ("\n{{ .Key }}\r\n", "files/docs/a.txt"),
    ],
)
def test_metadata_is_made_by_templates(template, value):
    """A template reads the data of s3-proxy's uploads; line ends are taken out."""
    assert _rendered(metadata=(("Meta", template),)).metadata == {"meta": value}


def test_empty_values_are_left_out():
    """A template that writes nothing sets nothing."""
    empty = '{{ if eq .Key "x" }}y{{ end }}'
    made = _rendered(metadata=(("a", empty),), storage_class=empty, system_metadata=SystemMetadata(cache_control=empty))
    assert made == Properties()


def test_headers_and_storage_class_are_templates():
    """Each option of `systemMetadata` sets the property of its name."""
    system = SystemMetadata(
        "no-cache", 'attachment; filename="{{ .Input.Filename }}"', "br", "de", "2065-10-21T07:28:00Z"
    )
    made = _rendered(system_metadata=system, storage_class="STANDARD_IA", canned_acl="private")
    moment = datetime(2065, 10, 21, 7, 28, tzinfo=UTC)
    disposition = 'attachment; filename="a.txt"'
    assert made == Properties({}, "no-cache", disposition, "br", "de", moment, "STANDARD_IA", "private")


def test_an_offset_of_a_moment_is_kept():
    """RFC 3339 has offsets."""
    made = _rendered(system_metadata=SystemMetadata(expires="2065-10-21T07:28:00+02:00"))
    assert made.expires is not None
    assert made.expires.utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize("text", ["tomorrow", "2065-10-21T07:28:00", "{{ .Key }}"])
def test_what_is_no_moment_fails(text):
    """A moment without a zone is none of RFC 3339."""
    with pytest.raises(PropertyFailed, match="which is not a moment of RFC 3339"):
        _rendered(system_metadata=SystemMetadata(expires=text))


def test_a_template_that_fails_is_named():
    """Nobody is signed in."""
    with pytest.raises(PropertyFailed, match="the template of `owner` failed"):
        _rendered(PutData(None, INPUT, "a"), metadata=(("owner", "{{ .User.GetUsername }}"),))


def test_a_control_character_is_refused():
    """No header can carry one."""
    with pytest.raises(PropertyFailed, match="makes a control character"):
        _rendered(metadata=(("a", '{{ "\\t" }}'),))


def test_metadata_that_is_not_ascii_is_encoded():
    """Names of files are; S3 itself gives encoded words of RFC 2047 for such values."""
    assert _rendered(metadata=(("a", "größe"),)).metadata == {"a": "=?utf-8?b?Z3LDtsOfZQ==?="}


def test_metadata_has_a_limit():
    """S3 takes 2 KiB of names and values together."""
    with pytest.raises(MetadataTooLarge):
        _rendered(metadata=(("a", "x" * 2048),))
    assert _rendered(metadata=(("a", "x" * 2047),)).metadata


def test_a_size_that_is_read_must_be_known():
    """An upload that does not announce its size has none before its content."""
    reading = PropertyTemplates(PutAction(storage_class="{{ if gt .Input.ContentSize 9 }}GLACIER{{ end }}"))
    reading.check_size(5)
    PropertyTemplates(PutAction()).check_size(None)
    with pytest.raises(LengthRequired):
        reading.check_size(None)


def _site(name, host="", *paths):
    return Site(Target(name, Mount(host, paths or ("/",)), Bucket(name)), RuleSet(name), Access(()))


def _found(mounts, host, path):
    routed = mounts.find(host, RequestPath(path))
    return routed and (routed.site.target.name, routed.mount, routed.key)


def test_targets_are_joined_with_their_rules():
    """Each target has the rule set of its name; one without rules rewrites nothing."""
    known = RuleSet("a", tests=())
    targets = [Target(name, Mount(), Bucket(name), resources=(Resource("/x"),)) for name in ("a", "b")]
    first, second = sites(targets, {"a": known, "unknown": RuleSet("unknown")})
    assert (first.target, first.rules) == (targets[0], known)
    assert first.rules is known
    assert (second.target, second.rules) == (targets[1], RuleSet("b"))
    assert second.access.guard(RequestPath("/x"), "GET") == Nobody()


@pytest.mark.parametrize(
    ("path", "found"),
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
def test_the_longest_mount_path_wins(path, found):
    """A path leads to the longest mount that ends at one of its segments; the rest, slash included, is the key."""
    mounts = Mounts([_site("root"), _site("a", "", "/a/", "/other/"), _site("ab", "", "/a/b/")])
    assert _found(mounts, "any.example", path) == found


def test_a_mount_path_without_its_slash_is_the_mount():
    """`/m` leads to the mount `/m/` with the key `/`, and not to a file of the mount above."""
    mounts = Mounts([_site("root"), _site("m", "", "/m/")])
    assert _found(mounts, "", "/m") == ("m", "/m/", "/")


def test_where_nothing_is_mounted_there_is_no_target():
    """A path beside all mounts leads nowhere, and so does a host that no mount names."""
    mounts = Mounts([_site("a", "a.example", "/a/")])
    assert _found(mounts, "a.example", "/b") is None
    assert _found(mounts, "b.example", "/a/") is None
    assert _found(Mounts([]), "a.example", "/") is None


@pytest.mark.parametrize(
    ("host", "name"),
    [("www.example.com", "exact"), ("img.example.com", "pattern"), ("example.org", "any"), ("", "any")],
)
def test_an_exact_host_beats_a_pattern_beats_any(host, name):
    """Who names the host most closely wins, wherever in the file it stands."""
    mounts = Mounts([_site("any"), _site("pattern", "*.example.com"), _site("exact", "www.example.com")])
    assert _found(mounts, host, "/x") == (name, "/", "/x")


def test_the_host_weighs_more_than_the_path():
    """A short mount of the exact host beats a longer one of a pattern, and that one a longer one of any host."""
    mounts = Mounts([_site("any", "", "/a/b/c/"), _site("pattern", "*.com", "/a/b/"), _site("exact", "x.com", "/a/")])
    assert _found(mounts, "x.com", "/a/b/c/d") == ("exact", "/a/", "/b/c/d")
    assert _found(mounts, "y.com", "/a/b/c/d") == ("pattern", "/a/b/", "/c/d")


def test_a_host_whose_mounts_do_not_cover_the_path_hands_over():
    """Host and path must both match: what the exact host has no mount for goes on to patterns and to any host."""
    mounts = Mounts([_site("any"), _site("pattern", "*.com", "/p/"), _site("exact", "x.com", "/e/")])
    assert _found(mounts, "x.com", "/p/1") == ("pattern", "/p/", "/1")
    assert _found(mounts, "x.com", "/1") == ("any", "/", "/1")


def test_among_patterns_the_longest_mount_path_wins_then_the_first():
    """Patterns are all alike; their mount paths decide, and then the order of the file."""
    mounts = Mounts([_site("first", "*.com"), _site("second", "*.x.com"), _site("long", "*.com", "/a/")])
    assert _found(mounts, "w.x.com", "/a/b") == ("long", "/a/", "/b")
    assert _found(mounts, "w.x.com", "/b") == ("first", "/", "/b")


@pytest.mark.parametrize("host", ["", "www.example.com", "*.example.com"])
def test_of_two_mounts_alike_the_first_stands(host):
    """Targets of one host and one path are in the order of the file."""
    mounts = Mounts([_site("first", host), _site("second", host)])
    assert _found(mounts, "www.example.com", "/")[0] == "first"


def test_a_lone_star_is_any_host():
    """`*` names every host, and is as weak as no host at all."""
    mounts = Mounts([_site("star", "*"), _site("pattern", "*.example.com")])
    assert _found(mounts, "", "/")[0] == "star"
    assert _found(mounts, "www.example.com", "/")[0] == "pattern"


@pytest.mark.parametrize("host", ["*.example.com", "a.example.com/x", "a/b.example.com", "", "example.com /"])
def test_a_host_that_is_none_finds_no_pattern(host):
    """What a hostile Host header holds is matched as a host, whole, never as a part of the path."""
    found = _found(Mounts([_site("pattern", "a*.example.com")]), host, "/x")
    assert found is None


@pytest.mark.parametrize("configured", ["Example.COM", "example.com:8080", "example.com."])
def test_a_configured_host_is_read_as_a_requested_one(configured):
    """Case, port and final dot of a mount's host take no part, as they take none of a request's."""
    assert _found(Mounts([_site("x", configured)]), "example.com", "/") is not None


_PATHS = st.lists(st.sampled_from(["", "a", "b", "ab"]), max_size=4).map(lambda parts: "/" + "/".join(parts))
_MOUNTS = st.tuples(st.sampled_from(["", "x.com", "y.com", "*.com", "*"]), _PATHS.map(lambda p: p.rstrip("/") + "/"))


@given(st.lists(_MOUNTS, max_size=6), st.sampled_from(["x.com", "y.com", "z.com", "org"]), _PATHS)
def test_the_tables_answer_as_the_definition_does(mounts, host, path):
    """The compiled tables find what trying every mount by host, length and order finds."""
    sites = [_site(str(number), host, path) for number, (host, path) in enumerate(mounts)]

    def rank(number):
        named, mount = mounts[number]
        kind = (
            0 if named == host else 1 if named == "*.com" and host.endswith(".com") else 2 if named in ("", "*") else 3
        )
        covers = path == mount.rstrip("/") or path.startswith(mount)
        return (kind, -len(mount), number) if kind < 3 and covers else None

    best = min((rank(number) for number in range(len(mounts)) if rank(number)), default=None)
    found = _found(Mounts(sites), host, path)
    assert found == (best and (str(best[2]), mounts[best[2]][1], path[len(mounts[best[2]][1]) - 1 :] or "/"))


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


def test_access_is_compiled_anew_where_the_resources_changed():
    """What an edit of rules leaves as it was is taken over, for a target of the same name and resources only."""
    open_, closed = Resource("/**", white_list=True), Resource("/closed/**", white_list=True)
    before = sites([Target("a", Mount(), Bucket("b"), resources=(open_,)), Target("b", Mount(), Bucket("b"))], {})
    edited = [
        Target("a", Mount(), Bucket("b"), resources=(closed,)),
        Target("b", Mount("other"), Bucket("b")),
        Target("c", Mount(), Bucket("b")),
    ]
    changed, same, new = sites(edited, {}, before)
    assert same.access is before[1].access
    assert changed.access is not before[0].access
    assert new.access is not before[1].access
    assert same.target is edited[1]


def test_an_unchanged_target_gets_its_new_rules():
    """What was compiled of the target alone stays, and the site before it keeps its own rules."""
    target, old, new = Target("a", Mount(), Bucket("b")), RuleSet("a"), RuleSet("a", tests=())
    (before,) = sites([target], {"a": old})
    (after,) = sites([Target("a", Mount(), Bucket("b"))], {"a": new}, [before])
    assert (after.rules, after.data, after.access) == (new, before.data, before.access)
    assert after.rules is new
    assert before.rules is old


def test_templates_see_the_target():
    """A template reads the target's name, bucket and mount, and nothing that is secret."""
    bucket = Bucket("files", "folder1/", region="eu-west-1", s3_endpoint="http://s3", disable_ssl=True, list_max_keys=5)
    assert target_data(Target("site", Mount("*.x", ("/m/",)), bucket)) == TargetData(
        name="site",
        bucket_name="files",
        bucket_prefix="folder1/",
        bucket_region="eu-west-1",
        bucket_s3_endpoint="http://s3",
        bucket_list_max_keys=5,
        bucket_disable_ssl=True,
        mount_host="*.x",
        mount_paths=("/m/",),
    )


def test_an_endpoint_that_is_not_configured_is_empty():
    """A template reads text, never none, of an endpoint that boto3 chooses."""
    assert target_data(Target("site", Mount(), Bucket("b"))).bucket_s3_endpoint == ""


@pytest.mark.parametrize(
    ("globs", "hidden", "shown"),
    [
        ((".*",), [".git", "..."], ["a.b", "git"]),
        (("*.tmp", "?.o"), ["a.tmp", ".tmp", "a.o"], ["a.tmp2", "ab.o", "A.TMP"]),
        (("[a]+",), ["[a]+"], ["a"]),
        (("a*",), ["a\nb"], ["ba"]),
    ],
)
def test_hidden_names_are_those_that_a_pattern_covers(site, globs, hidden, shown):
    """A pattern is compared with the whole name; only `*` and `?` mean something."""
    target = replace(site().target, listing=ListingOptions(hidden=globs))
    compiled = Site(target, RuleSet("site"), Access(()))
    assert [name for name in (*hidden, *shown) if not compiled.shows(name)] == hidden


def test_nothing_is_hidden_by_default(site):
    """Without patterns there is nothing to compare with."""
    assert site().shows(".git/")
