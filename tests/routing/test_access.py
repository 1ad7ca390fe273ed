import pytest

from tornado_proxy.config.providers import AccessRule, BasicUser, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.goregex.matching import compile_pattern
from tornado_proxy.routing.access import Access, Anyone, Nobody, SignedIn, lets_pass, path_expression
from tornado_proxy.routing.request import parse_request_path
from tornado_proxy.templates.template import User

ANN = BasicUser("ann", Secret("value", "secret"))
BEN = BasicUser("ben", Secret("value", "secret"))
PUBLIC = Resource("/public/**", white_list=True)
PRIVATE = Resource("/private/**", ("GET", "PUT"), provider="staff", users=(ANN,))
REST = Resource("/**", provider="staff", users=(BEN,))


def test_a_target_without_resources_is_open():
    """Without resources, everyone has access."""
    assert Access(()).guard(parse_request_path("/x"), "DELETE") == Anyone()


def test_a_target_with_resources_is_closed_where_none_matches():
    """Nobody has access to a path without a resource."""
    assert Access([PUBLIC]).guard(parse_request_path("/other"), "GET") == Nobody()


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
    """The first resource that matches decides."""
    assert Access([PUBLIC, PRIVATE, REST]).guard(parse_request_path(path), "GET") == guard


@pytest.mark.parametrize(
    ("method", "guard"), [("PUT", SignedIn("staff", (ANN,))), ("DELETE", Nobody()), ("PATCH", Nobody())]
)
def test_a_resource_speaks_of_its_methods_only(method, guard):
    """A resource applies to its methods only; nobody has access with other methods."""
    assert Access([PRIVATE, REST]).guard(parse_request_path("/private/a"), method) == guard


def test_head_goes_with_get():
    """A resource for GET applies to HEAD too."""
    assert Access([Resource("/**", ("GET",), white_list=True)]).guard(parse_request_path("/a"), "HEAD") == Anyone()


def test_get_does_not_go_with_head():
    """A resource for HEAD alone opens nothing to GET."""
    assert Access([Resource("/**", ("HEAD",), white_list=True)]).guard(parse_request_path("/a"), "GET") == Nobody()


@pytest.mark.parametrize("raw", ["/private/x", "/%70rivate/x", "/private%2Fx", "/privat%65/%78", "/private"])
def test_an_escape_leads_past_no_guard(raw):
    """Globs see the decoded path, so that `/%70rivate/x` is what `/private/**` covers, not what `/**` opens."""
    access = Access([PRIVATE, Resource("/**", white_list=True)])
    assert access.guard(parse_request_path(raw), "GET") == SignedIn("staff", (ANN,))


def test_a_star_does_not_open_what_lies_deeper():
    """`/files/*` covers the files of one directory, and not those below."""
    access = Access([Resource("/files/*", white_list=True)])
    assert access.guard(parse_request_path("/files/a"), "GET") == Anyone()
    assert access.guard(parse_request_path("/files/secret/a"), "GET") == Nobody()


def test_a_resource_that_names_no_way_in_lets_nobody_pass():
    """A resource that is not open and has no provider denies access, even if a later one matches."""
    access = Access([Resource("/x"), Resource("/**", white_list=True)])
    assert access.guard(parse_request_path("/x"), "GET") == Nobody()


def test_every_resource_that_covers_a_path_can_be_reported():
    """An overlap is silent at request time; `covering` lists all that match, the one that decides first."""
    access = Access([PUBLIC, PRIVATE, REST])
    assert access.covering(parse_request_path("/private/a"), "HEAD") == (PRIVATE, REST)


def test_a_user_who_is_not_listed_is_not_permitted():
    """A user that the guard does not list is refused."""
    guard = SignedIn("staff", (ANN,))
    assert (guard.permits(User("ann")), guard.permits(User("ben"))) == (True, False)


A_GROUP, A_MAIL = AccessRule(group="valid"), AccessRule(email="ann@example.org")
PATTERN = AccessRule(group="^val", regexp=True)
NO_ONE_OF = AccessRule(email="@example.org$", regexp=True, forbidden=True)


@pytest.mark.parametrize(
    ("rules", "groups", "email", "permitted"),
    [
        ((), (), "", True),
        ((A_GROUP,), ("other",), "ann@example.org", False),
        ((A_GROUP,), ("other", "valid"), "", True),
        ((A_GROUP,), ("invalid", "VALID"), "", False),
        ((A_MAIL, A_GROUP), ("valid",), "", True),
        ((A_MAIL,), (), "ann@example.org", True),
        ((A_MAIL,), (), "ann@example.organic", False),
        ((PATTERN,), ("other", "valour"), "", True),
        ((PATTERN,), ("invalid",), "", False),
        ((NO_ONE_OF,), (), "ben@other.org", False),
        ((NO_ONE_OF, A_GROUP), ("valid",), "ann@example.org", False),
        ((NO_ONE_OF, A_GROUP), ("valid",), "ann@other.org", True),
        ((A_GROUP, NO_ONE_OF), ("valid",), "ann@example.org", True),
    ],
)
def test_the_first_rule_that_matches_decides_about_a_user(rules, groups, email, permitted):
    """Whom none matches may not pass, unless there is no rule; an expression is searched for, as in Go."""
    assert SignedIn("id", None, rules).permits(User("ann", "OIDC", email, groups)) is permitted


def test_a_policy_server_may_be_asked_about_users_with_passwords():
    """A guard for users with passwords may name a policy server."""
    opa = OpaServer("http://127.0.0.1:8181/v1/data/allow")
    resource = Resource("/**", provider="staff", users=(ANN,), opa=opa)
    assert Access([resource]).guard(parse_request_path("/a"), "GET") == SignedIn("staff", (ANN,), (), opa)


def test_a_user_who_is_not_listed_may_not_pass():
    """A list of users refuses all others, even if they are signed in."""
    guard = SignedIn("staff", (ANN,))
    assert (guard.permits(User("ann")), guard.permits(User("ben"))) == (True, False)


def test_a_listed_user_is_found_by_name():
    """A guard knows its users by name; of two of one name the first stands."""
    again = BasicUser("ann", Secret("value", "another"))
    guard = SignedIn("staff", (ANN, BEN, again))
    assert (guard.find("ann"), guard.find("ben"), guard.find("eve")) == (ANN, BEN, None)
    assert guard.find("ann") is ANN


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
    """Only `*` has a meaning in a glob."""
    assert _covers(glob, glob)


def test_a_glob_of_many_stars_costs_no_more_than_its_length():
    """A glob that backtracking would take years over is answered."""
    assert not _covers("/**a" * 30 + "!", "/" + "a" * 5000)


EDITORS = (AccessRule(group="editors"),)
ANN_ALONE, ANYBODY = SignedIn("staff", (ANN,)), SignedIn("staff", None)


@pytest.mark.parametrize(
    ("guard", "passed", "user", "expected"),
    [
        (Anyone(), Anyone(), None, True),
        (Nobody(), Anyone(), None, False),
        (ANN_ALONE, ANN_ALONE, User("ann"), True),
        (SignedIn("staff", (BEN, ANN)), ANN_ALONE, User("ann"), True),
        (ANYBODY, ANN_ALONE, User("ann"), True),
        (SignedIn("staff", (BEN,)), ANN_ALONE, User("ann"), False),
        (SignedIn("staff", (BasicUser("ann", Secret("value", "other")),)), ANN_ALONE, User("ann"), False),
        (SignedIn("id", None), ANN_ALONE, User("ann"), False),
        (ANN_ALONE, Anyone(), None, False),
        (ANN_ALONE, Anyone(), User("ann"), False),
        (ANYBODY, ANYBODY, None, False),
        (SignedIn("id", None, EDITORS), SignedIn("id", None), User("ann", groups=("editors",)), True),
        (SignedIn("id", None, EDITORS), SignedIn("id", None), User("ann"), False),
    ],
)
def test_who_has_passed_one_guard_may_pass_another(guard, passed, user, expected):
    """Somebody who signed in with the same provider and password, if the other guard permits; strangers never."""
    assert lets_pass(guard, passed, user) is expected


def test_a_policy_server_is_not_asked_on_the_way():
    """A guard with a policy server lets nobody pass, unless its permission is assumed."""
    guarded = SignedIn("staff", (ANN,), (), OpaServer("http://127.0.0.1:8181/v1/data/allow"))
    assert not lets_pass(guarded, ANN_ALONE, User("ann"))
    assert lets_pass(guarded, ANN_ALONE, User("ann"), assume_policy=True)
