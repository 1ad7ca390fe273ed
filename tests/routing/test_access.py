import pytest

from gotemplate.regexp.matching import compile_pattern
from tornado_proxy.config.providers import AccessRule, BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import Access, Anyone, Nobody, SignedIn, path_expression
from tornado_proxy.routing.request import parse_request_path
from tornado_proxy.semantics.request import User

ANN = BasicUser("ann", Secret("value", "secret"))
BEN = BasicUser("ben", Secret("value", "secret"))
PUBLIC = Resource("/public/**", white_list=True)
PRIVATE = Resource("/private/**", ("GET", "HEAD", "PUT"), provider="staff", users=(ANN,))
REST = Resource("/**", provider="staff", users=(BEN,))


def test_a_target_without_resources_is_open():
    assert Access(()).guard(parse_request_path("/x"), "DELETE") == Anyone()


@pytest.mark.parametrize(
    ("path", "guard"),
    [
        ("/public/a", Anyone()),
        ("/private/a", SignedIn("staff", (ANN,))),
        ("/a", SignedIn("staff", (BEN,))),
        ("/", SignedIn("staff", (BEN,))),
    ],
)
def test_the_first_resource_that_covers_the_path_decides(path, guard):
    assert Access([PUBLIC, PRIVATE, REST]).guard(parse_request_path(path), "GET") == guard


@pytest.mark.parametrize(
    ("method", "guard"), [("PUT", SignedIn("staff", (ANN,))), ("DELETE", Nobody()), ("PATCH", Nobody())]
)
def test_a_resource_covers_its_methods_only(method, guard):
    assert Access([PRIVATE, REST]).guard(parse_request_path("/private/a"), method) == guard


def test_a_resource_for_head_does_not_cover_get():
    assert Access([Resource("/**", ("HEAD",), white_list=True)]).guard(parse_request_path("/a"), "GET") == Nobody()


@pytest.mark.parametrize("raw", ["/private/x", "/%70rivate/x", "/private%2Fx", "/privat%65/%78", "/private"])
def test_an_escaped_path_has_the_same_guard(raw):
    """Globs match the decoded path, so `/private/**` covers `/%70rivate/x`."""
    access = Access([PRIVATE, Resource("/**", white_list=True)])
    assert access.guard(parse_request_path(raw), "GET") == SignedIn("staff", (ANN,))


def test_a_resource_without_a_provider_denies_access():
    access = Access([Resource("/x"), Resource("/**", white_list=True)])
    assert access.guard(parse_request_path("/x"), "GET") == Nobody()


def test_all_resources_that_cover_a_path_are_listed():
    access = Access([PUBLIC, PRIVATE, REST])
    assert access.covering(next(access.checks(parse_request_path("/private/a"), "HEAD")), "HEAD") == (PRIVATE, REST)


GROUP_RULE, EMAIL_RULE = AccessRule(group="valid"), AccessRule(email="ann@example.org")
GROUP_PATTERN = AccessRule(group="^val", regexp=True)
FORBIDDEN_DOMAIN = AccessRule(email="@example.org$", regexp=True, forbidden=True)


@pytest.mark.parametrize(
    ("rules", "groups", "email", "permitted"),
    [
        ((), (), "", True),
        ((GROUP_RULE,), ("other",), "ann@example.org", False),
        ((GROUP_RULE,), ("other", "valid"), "", True),
        ((GROUP_RULE,), ("invalid", "VALID"), "", False),
        ((EMAIL_RULE, GROUP_RULE), ("valid",), "", True),
        ((EMAIL_RULE,), (), "ann@example.org", True),
        ((EMAIL_RULE,), (), "ann@example.organic", False),
        ((GROUP_PATTERN,), ("other", "valour"), "", True),
        ((GROUP_PATTERN,), ("invalid",), "", False),
        ((FORBIDDEN_DOMAIN,), (), "ben@other.org", False),
        ((FORBIDDEN_DOMAIN, GROUP_RULE), ("valid",), "ann@example.org", False),
        ((FORBIDDEN_DOMAIN, GROUP_RULE), ("valid",), "ann@other.org", True),
        ((GROUP_RULE, FORBIDDEN_DOMAIN), ("valid",), "ann@example.org", True),
    ],
)
def test_the_first_rule_that_matches_decides_about_a_user(rules, groups, email, permitted):
    """A user whom no rule matches is refused, unless there are no rules; an expression may match anywhere, as in Go."""
    assert SignedIn("id", None, rules).permits(User("ann", "OIDC", email, groups)) is permitted


def test_a_listed_user_is_found_by_name():
    """A guard permits its users only, and finds them by name; of two with the same name, the first one counts."""
    duplicate = BasicUser("ann", Secret("value", "another"))
    guard = SignedIn("staff", (ANN, BEN, duplicate))
    assert (guard.find("ann"), guard.find("ben"), guard.find("eve")) == (ANN, BEN, None)
    assert guard.find("ann") is ANN
    assert (guard.permits(User("ben")), guard.permits(User("eve"))) == (True, False)


def _covers(glob, path):
    return compile_pattern(path_expression(glob)).search(path) is not None


@pytest.mark.parametrize(
    ("glob", "covered", "others"),
    [
        ("/", ["/"], ["/a", "//"]),
        ("/a/b.html", ["/a/b.html"], ["/a/bxhtml", "/a/b.html/", "/x/a/b.html", "/A/b.html"]),
        ("/**", ["/", "/a", "/a/", "/a/b", "//", "//a"], []),
        (
            "/public/**",
            ["/public", "/public/", "/public/a", "/public/a/b/", "/public//a"],
            ["/publicity", "/publi", "/x/public/a", "/"],
        ),
        ("/*", ["/", "/a"], ["/a/", "/a/b", "//a"]),
        ("/a/*", ["/a/", "/a/b"], ["/a", "/a/b/", "/a/b/c", "/ab"]),
        ("/a/*/c", ["/a/b/c", "/a//c"], ["/a/c", "/a/b/x/c"]),
        ("/*.html", ["/.html", "/a.html", "/a.b.html"], ["/a/b.html", "/a.htm"]),
        ("/a/**/z", ["/a/z", "/a/b/z", "/a/b/c/z", "/a//z"], ["/az", "/a/bz", "/a/b/z/", "/b/a/z"]),
        ("/**/z", ["/z", "/a/z", "/a/b/z"], ["/az", "/z/"]),
        ("/docs/**.pdf", ["/docs/.pdf", "/docs/a.pdf", "/docs/a/b.pdf"], []),
        ("/a**", ["/a", "/ab", "/a/b"], []),
        ("/**/", ["/", "/a/", "/a/b/"], ["/a"]),
        ("/é x/*", ["/é x/ü"], []),
        ("/[ab]?{c,d}(e|f)+^$", [], ["/a", "/ac"]),
    ],
)
def test_a_glob_covers_whole_paths(glob, covered, others):
    """`*` matches any part of one segment, `**` any number of segments; every other character matches itself."""
    assert [path for path in (*covered, *others) if _covers(glob, path)] == covered


def test_a_glob_of_many_stars_matches_in_linear_time():
    """A glob that would take a backtracking matcher years is matched at once."""
    assert not _covers("/**a" * 30 + "!", "/" + "a" * 5000)


@pytest.mark.parametrize(
    ("rule", "email", "permits"),
    [
        (AccessRule(email="eve@example.org", forbidden=True), "EVE@Example.org", False),
        (AccessRule(email="EVE@Example.org", forbidden=True), "eve@example.org", False),
        (AccessRule(email="^eve@example[.]org$", regexp=True, forbidden=True), "Eve@EXAMPLE.org", False),
        (AccessRule(email="^EVE@|^Bob@", regexp=True, forbidden=True), "bob@example.org", False),
        (AccessRule(email="eve@example.org", forbidden=True), "ann@example.org", True),
        (AccessRule(group="Guests", forbidden=True), "ann@example.org", True),
        (AccessRule(email="ann@example.org"), "ann@example.org", True),
        (AccessRule(email="ann@example.org"), "ANN@example.org", False),
    ],
)
def test_no_spelling_of_an_address_evades_a_rule(rule, email, permits):
    """A rule that forbids an address compares it in any case; one that allows it, as it is written."""
    rules = (rule, AccessRule(group="guests")) if rule.forbidden else (rule,)
    assert SignedIn("id", None, rules).permits(User("x", "OIDC", email, ("guests",))) is permits
