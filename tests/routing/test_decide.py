import pytest
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.template.errors import LimitError, RenderError
from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, TargetList
from tornado_proxy.config.providers import AccessRule, Authorization, BasicUser, OidcProvider, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.access import Anyone, Nobody, SignedIn
from tornado_proxy.routing.decide import (
    Authenticate,
    Authorize,
    NameFile,
    beside,
    decide,
    decide_beside,
    listed,
    opens_all_below,
    simulate,
    trace,
)
from tornado_proxy.routing.limits import MOST_DECIDED
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, ListTargets, ReadForm, Receive, Refuse, Serve, VisitProvider
from tornado_proxy.routing.request import read_request
from tornado_proxy.semantics.request import METHODS, User
from tornado_proxy.templates.template import MissingUserError

ANN = BasicUser("ann", Secret("value", "x"))
STAFF = Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,))
OPEN = Resource("/open/**", ("GET", "PUT"), white_list=True)


def test_a_decision_asks_one_question_after_the_other(make_site):
    """A decision about an upload asks for the user, then for the file's name, then again for access to the file's path."""
    steps = decide(Mounts([make_site(resources=[STAFF])]), read_request("/d/", "PUT"))
    authenticate = steps.send(None)
    assert isinstance(authenticate, Authenticate)
    assert (authenticate.guard.provider, authenticate.so_far.user, authenticate.so_far.plan) == ("staff", None, ())
    name_file = steps.send(User("ann"))
    assert isinstance(name_file, NameFile)
    assert (name_file.so_far.user, name_file.so_far.plan) == (User("ann"), (ReadForm(),))
    second_authenticate = steps.send("a.txt")
    assert [check.path for check in second_authenticate.so_far.checks] == ["/d/", "/d/a.txt"]
    with pytest.raises(StopIteration) as end:
        steps.send(User("ann"))
    assert end.value.value.plan == (Receive("d/a.txt", "/d/a.txt"),)


@pytest.mark.parametrize(("path", "status"), [("/m/open/**", None), ("/open/**", 403)])
def test_a_resource_covers_paths_with_their_mount(decide_request, make_site, path, status):
    """Access is checked for the whole path of the request, not for the key below the mount."""
    site = make_site(mount="/m/", resources=[Resource(path, ("GET",), white_list=True)])
    assert getattr(decide_request(site, "GET /m/open/a").plan[0], "status", None) == status


def test_a_driver_may_refuse_with_a_challenge(make_site):
    """If a driver answers the question for the user with an attempt to refuse, this is the plan."""
    steps = decide(Mounts([make_site(resources=[STAFF])]), read_request("/a"))
    steps.send(None)
    challenge = Refuse(401, "the password is wrong", challenge="Basic")
    with pytest.raises(StopIteration) as end:
        steps.send(challenge)
    assert (end.value.value.plan, end.value.value.data) == ((challenge,), None)


OPA = OpaServer(GuardedUrl("http://127.0.0.1:8181/v1/data/allow"))


@pytest.mark.parametrize(
    ("answer", "plan"),
    [
        (True, Serve("a")),
        (False, Refuse(403, "the user is not authorized by the resource")),
        (Refuse(500, "the policy server does not decide"), Refuse(500, "the policy server does not decide")),
    ],
)
def test_a_policy_server_is_asked_about_the_user(make_site, answer, plan):
    """It decides after the sign-in, and permits in a simulation; an attempt to refuse that the driver returns is the plan."""
    resource = Resource("/**", provider="id", oidc=Authorization((), OPA))
    steps = decide(Mounts([make_site(resources=[resource])]), read_request("/a"))
    steps.send(None)
    authorize = steps.send(User("ann"))
    assert isinstance(authorize, Authorize)
    assert (authorize.server, authorize.user, authorize.so_far.user) == (OPA, User("ann"), User("ann"))
    with pytest.raises(StopIteration) as end:
        steps.send(answer)
    assert end.value.value.plan[0] == plan
    assert simulate(Mounts([make_site(resources=[resource])]), read_request("/a"), User("ann")).plan[0] == Serve("a")


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        ("/../secret", 400),
        ("/a\nb", 400),
        ("", 400),
        ("/" + "k" * 1025, 400),
        (MissingUserError("nobody is signed in"), 403),
        (RenderError("`nothing` is undefined"), 500),
        (LimitError("too much text"), 500),
    ],
    ids=repr,
)
@pytest.mark.parametrize("request_line", ["GET /a", "HEAD /a/", "DELETE /a"])
def test_a_failing_rewrite_is_refused(decide_request, scripted_template, make_site, request_line, outcome, status):
    """A forbidden result is 400, a missing user 403, any other failure 500; the reason names the rewrite."""
    decision = decide_request(make_site(("x", "/x"), (".", scripted_template(outcome))), request_line)
    (refused,) = decision.plan
    assert refused.status == status
    assert refused.reason == f"rewrite `#2`: {decision.failure}"
    assert decision.rewritten is None


@pytest.mark.parametrize(
    ("request_line", "allow"),
    [("PUT /a/", ("GET", "HEAD")), ("DELETE /a", ("GET", "HEAD")), ("POST /", ("GET", "HEAD"))],
)
def test_a_method_that_is_not_enabled_is_refused(decide_request, make_site, request_line, allow):
    (refused,) = decide_request(make_site(actions=Actions()), request_line).plan
    assert (refused.status, refused.allow) == (405, allow)
    assert decide_request(make_site(actions=Actions()), request_line, file_name="x").plan == (refused,)


def test_an_upload_without_a_file_name_is_a_plan_to_read_its_form(decide_request, make_site):
    """Before its form is read, an upload to a directory is planned as reading the form, without rewriting."""
    decision = decide_request(
        make_site((".*", "/../x"), actions=Actions(put=PutAction(enabled=True, max_size=5))), "PUT /dir/"
    )
    assert (decision.plan, decision.data) == ((ReadForm(max_size=5),), None)


def test_a_path_without_a_target_is_not_found(decide_request, make_site):
    decision = decide_request(make_site(mount="/m/"), "GET /x")
    expected = ((Refuse(404, "no target is mounted at this host and path"),), None, ())
    assert (decision.plan, decision.match, decision.checks) == expected


@pytest.mark.parametrize(
    ("request_line", "user", "refused"),
    [
        ("GET /a", None, Refuse(401, "nobody is signed in with `staff`")),
        ("GET /a", "eve", Refuse(401, "`eve` is not listed")),
        ("DELETE /a", "ann", Refuse(403, "no resource of the target covers this method and path")),
    ],
)
def test_a_refused_request_is_not_rewritten(decide_request, make_site, request_line, user, refused):
    decision = decide_request(make_site((".", "/x"), resources=[OPEN, STAFF]), request_line, user)
    assert (decision.plan, decision.data) == ((refused,), None)


def test_an_upload_with_a_file_name_is_received(decide_request, make_site):
    """Access to an upload with a known file name is checked twice, and the upload is planned as received."""
    decision = decide_request(make_site(resources=[STAFF]), "PUT /d/", "ann", "a.txt")
    assert [check.path for check in decision.checks] == ["/d/", "/d/a.txt"]
    assert decision.plan == (Receive("d/a.txt", "/d/a.txt"),)
    assert decision.data.key == "/d/a.txt"


def test_an_upload_may_be_refused_because_of_its_name(decide_request, make_site):
    """An open directory doesn't open every path in it, and a dot segment isn't a file's name."""
    forbidden = Resource("/d/secret", ("PUT",))
    site = make_site(resources=[forbidden, Resource("/d/*", ("PUT",), white_list=True)])
    assert decide_request(site, "PUT /d/", None, "secret").checks[1].guard == Nobody()
    assert decide_request(site, "PUT /d/", None, "secret").plan[0].status == 403
    assert decide_request(site, "PUT /d/", None, "..").plan == (
        Refuse(400, "the file's name contains a `.` or `..` segment"),
    )


def test_a_user_who_signed_in_for_the_directory_stays_signed_in(decide_request, make_site, scripted_template):
    """An upload to an open path keeps the user who signed in for the directory."""
    resources = [Resource("/d/", ("PUT",), provider="staff", users=(ANN,)), Resource("/**", ("PUT",), white_list=True)]
    site = make_site((".", scripted_template(lambda data: f"/{data.user.username}")), resources=resources)
    decision = decide_request(site, "PUT /d/", "ann", "x")
    assert decision.plan == (Receive("ann", "/d/x"),)
    assert [type(check.guard) for check in decision.checks] == [SignedIn, Anyone]


def test_the_actions_of_the_target_shape_the_plan(decide_request, make_site):
    decision = decide_request(make_site(actions=Actions(put=PutAction(enabled=True, max_size=3))), "PUT /", None, "x")
    assert decision.plan == (Receive("x", "/x", max_size=3),)
    assert decide_request(make_site(actions=Actions()), "GET /d/").plan[0] == Browse("d/")


TOO_LONG = Refuse(400, "the key is longer than 1024 bytes")


@pytest.mark.parametrize("method", METHODS)
def test_a_key_that_is_too_long_for_s3_is_not_matched(decide_request, make_site, resources_for, method):
    """A key that is too long is refused before a rule could shorten it; the mount path is not counted."""
    site = make_site(("^/k", "/short"), mount="/m/", resources=resources_for("ann"))
    longest = decide_request(site, f"{method} /m/{'k' * 1024}", "ann")
    assert longest.plan != (TOO_LONG,)
    too_long = decide_request(site, f"{method} /m/{'k' * 1025}", "ann")
    assert (too_long.plan, too_long.checks, too_long.data) == ((TOO_LONG,), (), None)


def test_the_name_of_an_upload_counts_in_the_key(decide_request, make_site):
    """A file whose name makes the key too long is refused, even if a rule would shorten the key."""
    site = make_site(("^/d/", "/short"))
    assert decide_request(site, "PUT /d/", file_name="k" * 1022).plan == (Receive("short", f"/d/{'k' * 1022}"),)
    assert decide_request(site, "PUT /d/", file_name="k" * 1023).plan == (TOO_LONG,)


FOLDING = Bucket("b", folding=("emptySegments", "case", "backslashes"))


def test_a_path_is_decided_as_its_store_reads_it_too(decide_request, make_site):
    """Who has signed in for one of both is not asked again, and both must let the request pass."""
    closed = Resource("/Closed/**", ("GET",), provider="staff", users=(ANN,))
    site = make_site(resources=[closed, Resource("/**", white_list=True)], bucket=FOLDING)
    decision = decide_request(site, "GET //closed/a", "ann")
    expected = [("//closed/a", Anyone), ("/closed/a", SignedIn)]
    assert [(check.path, type(check.guard)) for check in decision.checks] == expected
    assert decision.user == User("ann")
    assert site.access.covering(decision.checks[1], "GET")[0].path == "/closed/**"
    steps = decide(Mounts([site]), read_request("/Closed//a"))
    assert isinstance(steps.send(None), Authenticate)
    with pytest.raises(StopIteration) as end:
        steps.send(User("ann"))
    assert end.value.value.plan[0] == Serve("Closed//a")


@pytest.mark.parametrize(("line", "status"), [("GET /INNER/a", 404), ("GET /x\\..\\a", 400), ("PUT /", 404)])
def test_a_path_that_its_store_reads_as_anothers_is_refused(make_site, line, status):
    """What is mounted below is not reached by another spelling, nor by the name of an upload."""
    method, path = line.split()
    mounts = Mounts([make_site(bucket=FOLDING), make_site(mount="/inner/")])
    assert simulate(mounts, read_request(path, method), None, "Inner\\a").plan[0].status == status


def test_the_result_of_a_rewrite_is_folded_as_well(decide_request, make_site, scripted_template):
    """A template may insert what its store reads as the directory above."""
    site = make_site((".", scripted_template("/a\\..\\..\\b")), bucket=FOLDING)
    assert decide_request(site, "GET /x").plan[0].status == 400


def test_an_isolated_user_has_the_name_that_the_store_reads(decide_request, make_site, resources_for):
    """Of users whose directory would be one, only the user of that name has it."""
    resources = [Resource("/**", provider="staff", users=())]
    site = make_site(actions=ISOLATED, resources=resources, bucket=FOLDING)
    assert decide_request(site, "GET /a", "ann").plan[0] == Serve("ann/a")
    assert decide_request(site, "GET /a", "Ann").plan[0].status == 403


ISOLATED = Actions(get=GetAction(user_isolation=True, user_isolation_admins=("root",)), put=PutAction(enabled=True))


@pytest.mark.parametrize(
    ("request_line", "attempt"),
    [
        ("GET /a/b.txt", Serve("www/ann/a/b.txt")),
        ("HEAD /ben/b.txt", Serve("www/ann/ben/b.txt")),
        ("GET /", Browse("www/ann/", root=True)),
        ("PUT /a/", Receive("www/ann/a/new.txt", "/a/new.txt")),
    ],
)
def test_the_directory_of_an_isolated_user_is_invisible(
    decide_request, make_site, resources_for, request_line, attempt
):
    """The user's directory stands between the prefix and the key, and in no location."""
    site = make_site(bucket=Bucket("b", "www/"), actions=ISOLATED, resources=resources_for("ann"))
    assert decide_request(site, request_line, "ann", "new.txt").plan[0] == attempt


def test_the_directory_of_an_isolated_user_counts_in_the_key(decide_request, make_site, resources_for):
    site = make_site(("^/ann/", "/ann/short"), actions=ISOLATED, resources=resources_for("ann"))
    assert decide_request(site, f"GET /{'k' * 1020}", "ann").plan[0] == Serve("ann/short")
    assert decide_request(site, f"GET /{'k' * 1021}", "ann").plan == (TOO_LONG,)


def test_an_administrator_sees_the_directories_of_all_users(decide_request, make_site, resources_for):
    site = make_site(actions=ISOLATED, resources=resources_for("root"))
    assert decide_request(site, "GET /ann/a", "root").plan[0] == Serve("ann/a")


def test_isolation_requires_a_user(decide_request, make_site):
    """An open resource of a target that isolates users gets 403, because nobody is signed in."""
    site = make_site(actions=ISOLATED, resources=[Resource("/**", METHODS, white_list=True)])
    assert decide_request(site, "GET /a").plan == (Refuse(403, "users are isolated, and nobody is signed in"),)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty"),
        (".", "contains a `.` or `..` segment"),
        ("..", "contains a `.` or `..` segment"),
        ("../ben", "contains a `/`"),
    ],
)
def test_isolation_refuses_a_user_whose_name_is_not_a_segment(decide_request, make_site, resources_for, name, reason):
    """A user's name that would lead to the directory of another user, or of all users, gets 403."""
    site = make_site(actions=ISOLATED, resources=resources_for(name))
    assert decide_request(site, "GET /a", name).plan == (
        Refuse(403, f"users are isolated, and the user's name {reason}"),
    )


def test_rules_cannot_leave_the_directory_of_an_isolated_user(decide_request, make_site, resources_for):
    """Rules match keys with the user's directory, and a result outside the directory gets 403."""
    pairs = (("^/ann/old/(.*)$", "/ann/new/$1"), ("^/ann/all/(.*)$", "/shared/$1"))
    site = make_site(*pairs, actions=ISOLATED, resources=resources_for("ann"))
    assert decide_request(site, "GET /old/a", "ann").plan[0] == Serve("ann/new/a")
    assert decide_request(site, "GET /all/a", "ann").plan[0].status == 403


def test_the_target_list_hides_a_target_at_its_path(make_site):
    """The list of targets answers GET and HEAD at its own host and paths only, with its own resource."""
    page = TargetList(True, Mount("", ("/",)), Resource("/", METHODS, provider="staff", users=(ANN,)))
    mounts = Mounts([make_site()], target_list=page)
    for method in ("GET", "HEAD"):
        assert simulate(mounts, read_request("/", method), User("ann")).plan == (ListTargets(),)
    assert simulate(mounts, read_request("/", "GET"), None).plan[0].status == 401
    assert simulate(mounts, read_request("/a", "GET"), None).plan[0] == Serve("a")
    assert simulate(mounts, read_request("/", "DELETE"), None).plan[0].status == 403
    hosted = Mounts([make_site()], target_list=TargetList(True, Mount("list.example", ("/",))))
    assert simulate(hosted, read_request("/", "GET", "list.example"), None).plan == (ListTargets(),)
    assert simulate(hosted, read_request("/", "GET", "other.example"), None).plan[0] == Browse("", root=True)


def test_the_target_list_is_also_at_its_path_without_a_slash(make_site):
    """As a target is; the resource of the list is asked about the path with its slash."""
    page = TargetList(True, Mount("", ("/all/",)), Resource("/all/", METHODS, provider="staff", users=(ANN,)))
    mounts = Mounts([make_site()], target_list=page)
    assert simulate(mounts, read_request("/all", "GET"), User("ann")).plan == (ListTargets(),)
    assert simulate(mounts, read_request("/all", "GET"), None).plan[0].status == 401
    for other in ("/all//", "/al", "/all/x"):
        assert simulate(mounts, read_request(other, "GET"), None).plan != (ListTargets(),)


def test_a_page_of_a_provider_hides_a_target_at_its_path(make_site):
    """The pages of a provider answer at their paths, with or without a closing slash, even if a target is mounted there."""
    mounts = Mounts([make_site()], [OidcProvider("id", GuardedUrl("https://id.example"), "me")])
    for path, step in (("/auth/id", "login"), ("/auth/id/callback/", "callback"), ("/auth/id/logout", "logout")):
        assert simulate(mounts, read_request(path, "GET"), None).plan == (VisitProvider("id", step),)
    assert simulate(mounts, read_request("/auth/id/logout", "POST"), None).plan == (VisitProvider("id", "logout"),)


@pytest.mark.parametrize(("method", "path", "allowed"), [("POST", "", ("GET",)), ("PUT", "/logout", ("GET", "POST"))])
def test_only_the_logout_page_allows_post(make_site, method, path, allowed):
    mounts = Mounts([make_site()], [OidcProvider("id", GuardedUrl("https://id.example"), "me")])
    (refused,) = simulate(mounts, read_request(f"/auth/id{path}", method), None).plan
    assert (refused.status, refused.allow) == (405, allowed)


def _beside(mounts, asked, path, method="", *, permitted=True):
    return beside(mounts, asked, path, method, permitted=permitted)


@pytest.mark.parametrize(
    ("path", "plan"),
    [
        ("/m/d/README.md", (Serve("new/README.md"), Refuse(404, "no object at this key"))),
        ("/m/d/sub/", (Browse("new/sub/"), Refuse(404, "no objects below this key"))),
    ],
)
def test_the_plan_of_a_path_beside_the_requested_path(make_site, path, plan):
    mounts = Mounts([make_site((r"^/d/(?P<rest>.*)$", "/new/$rest"), mount="/m/")])
    asked = simulate(mounts, read_request("/m/d/?format=zip", "HEAD"), None)
    assert _beside(mounts, asked, path).plan == plan


def test_a_target_admits_its_own_paths_that_are_not_refused(make_site):
    mounts = Mounts([make_site(mount="/m/", resources=[Resource("/m/**", white_list=True)]), make_site(mount="/m/d/")])
    asked = simulate(mounts, read_request("/m/"), None)
    assert asked.admits(_beside(mounts, asked, "/m/a"))
    assert not asked.admits(_beside(mounts, asked, "/m/d/a"))
    assert not asked.admits(_beside(mounts, asked, "/a"))
    assert not asked.admits(_beside(mounts, asked, "/m/a", "PUT"))


def test_a_directory_without_access_rules_is_open_below(make_site):
    """Nothing below a directory is refused if neither rules, nor resources, nor anything mounted there can do it."""
    provider = OidcProvider("id", "https://id.test", "client", Secret("test", "x"))
    plain, nested = make_site(), make_site(mount="/d/nested/")

    def is_open(site, path="/d/", others=(), **parts):
        mounts = Mounts([site, *others], **parts)
        return opens_all_below(mounts, simulate(mounts, read_request(path), User("ann")))

    assert is_open(plain)
    assert is_open(plain, "/e/", [nested])
    assert is_open(nested, "/d/nested/")
    assert not is_open(plain, "/d/", [nested])
    assert not is_open(plain, "/", [nested])
    assert not is_open(plain, "/auth/", providers=[provider])
    assert not is_open(plain, target_list=TargetList(True, Mount("", ("/d/all/",))))
    assert not is_open(make_site(resources=[STAFF]))
    assert not is_open(make_site(("^/x", "/y")))
    assert not is_open(make_site(actions=ISOLATED))


@pytest.mark.parametrize(("deciding", "query"), [(listed, ""), (beside, "format=zip")])
def test_an_entry_of_a_directory_has_no_query(make_site, scripted_template, deciding, query):
    """A template reads an empty query for what is listed, and that of the request for what answers in its place."""
    site = make_site((".*", scripted_template(lambda data: f"/{data.request.raw_query}{len(data.request.query)}")))
    mounts = Mounts([site])
    asked = simulate(mounts, read_request("/d/?format=zip"), None)
    assert deciding(mounts, asked, "/d/a", permitted=True).plan[0] == Serve(f"{query}{len(query) and 1}")


def test_a_path_beside_is_planned_for_the_same_user(make_site):
    mounts = Mounts([make_site(actions=ISOLATED, resources=[STAFF])])
    asked = simulate(mounts, read_request("/d/"), User("ann"))
    assert _beside(mounts, asked, "/d/a").plan[0] == Serve("ann/d/a")


def test_a_path_beside_may_belong_to_another_target(make_site):
    """The mounts decide which target answers a path beside the requested one, as for a request."""
    outer, inner = make_site(), make_site(mount="/nested/", resources=[STAFF])
    mounts = Mounts([outer, inner])
    asked = simulate(mounts, read_request("/"), None)
    assert _beside(mounts, asked, "/nested").match.site is inner
    assert _beside(mounts, asked, "/nested/a").plan[0].status == 401
    assert _beside(mounts, asked, "/nested.txt").match.site is outer


@pytest.mark.parametrize(
    ("method", "first"),
    [
        ("PUT", ReadForm()),
        ("DELETE", Refuse(403, "a directory cannot be deleted", message="A directory cannot be deleted, only its files")),
    ],
)  # fmt: skip
def test_a_path_beside_may_have_another_method(make_site, method, first):
    """An upload to a path beside the requested one needs a form, whose file has no name yet."""
    mounts = Mounts([make_site()])
    asked = simulate(mounts, read_request("/d/"), None)
    assert _beside(mounts, asked, "/d/", method).plan == (first,)


def _guarded(path="/b", **guard):
    return Resource(path, provider="staff", **guard)


BY_ANN, BY_ALL, BY_BEN = {"users": (ANN,)}, {}, {"users": (BasicUser("ben", Secret("value", "x")),)}
EDITORS_ONLY = {"provider": "id", "oidc": Authorization((AccessRule(group="editors"),))}


@pytest.mark.parametrize(
    ("first", "second", "user", "is_open"),
    [
        (Resource("/a", white_list=True), Resource("/b", white_list=True), None, True),
        (Resource("/a", white_list=True), Resource("/c"), None, False),
        (_guarded("/a", **BY_ANN), _guarded(**BY_ANN), User("ann"), True),
        (_guarded("/a", **BY_ANN), _guarded(users=(*BY_BEN["users"], ANN)), User("ann"), True),
        (_guarded("/a", **BY_ANN), _guarded(**BY_ALL), User("ann"), True),
        (_guarded("/a", **BY_ANN), _guarded(**BY_BEN), User("ann"), False),
        (_guarded("/a", **BY_ANN), _guarded(users=(BasicUser("ann", Secret("value", "other")),)), User("ann"), False),
        (_guarded("/a", **BY_ANN), Resource("/b", provider="id"), User("ann"), False),
        (Resource("/a", white_list=True), _guarded(**BY_ANN), None, False),
        (Resource("/a", white_list=True), _guarded(**BY_ANN), User("ann"), False),
        (Resource("/a", provider="id"), Resource("/b", **EDITORS_ONLY), User("ann", groups=("editors",)), True),
        (Resource("/a", provider="id"), Resource("/b", **EDITORS_ONLY), User("ann"), False),
    ],
)
def test_a_user_who_passed_one_guard_may_pass_another(make_site, first, second, user, is_open):
    """A user who signed in with the same provider and password is not asked again; nobody else signs in a second time."""
    mounts = Mounts([make_site(resources=[first, second])])
    asked = simulate(mounts, read_request("/a"), user)
    assert not asked.is_refused
    assert _beside(mounts, asked, "/b").is_refused == (not is_open)


def test_a_path_beside_asks_a_policy_server_only(make_site):
    """The one question about another path is the one to its policy server; its answer decides."""
    guarded = _guarded(users=(ANN,), opa=OpaServer("http://opa/"))
    mounts = Mounts([make_site(resources=[_guarded("/a", **BY_ANN), guarded])])
    asked = simulate(mounts, read_request("/a"), User("ann"))
    question = next(decide_beside(mounts, asked, "/b"))
    assert isinstance(question, Authorize)
    assert question.so_far.request.path == "/b"
    assert [_beside(mounts, asked, "/b", permitted=each).is_refused for each in (True, False)] == [False, True]


@pytest.mark.parametrize(("name", "is_stored"), [("nested", False), ("login", False), ("nested.txt", True)])
def test_a_form_stores_nothing_that_another_answer_would_hide(make_site, name, is_stored):
    """A file with the path of a mount or of a page of a provider could never be requested, so its form is refused."""
    provider = OidcProvider("id", "https://id.test", "client", Secret("test", "x"), login="/d/login")
    mounts = Mounts([make_site(), make_site(mount="/d/nested/")], [provider])
    (first,) = simulate(mounts, read_request("/d/", "PUT"), None, name).plan
    assert first == (
        Receive(f"d/{name}", f"/d/{name}")
        if is_stored
        else Refuse(400, "something else is mounted at the path of the file")
    )


FOLDER = Bucket("bucket", prefix="folder1/")


@pytest.fixture(scope="session")
def trace_path(decide_request, make_site):
    """Traces the rewriting of a path by the rules."""
    return lambda path, *pairs: trace(decide_request(make_site(*pairs, bucket=FOLDER), f"GET {path}"))


def test_a_trace_shows_the_rewrite_that_matched(trace_path):
    trace_result = trace_path("/b", ("^/a", "/1"), ("^/(b)", "/2$1"), ("^/b", "/3"))
    assert trace_result.matched.label == "#2"
    assert trace_result.captures.groups == ("/b", "b")
    assert (trace_result.result, trace_result.rewritten, trace_result.object_key) == ("/2b", "/2b", "folder1/2b")


def test_a_trace_without_a_match_has_no_result(trace_path):
    trace_result = trace_path("/b", ("^/a", "/1"))
    expected = (None, None, "/b", "folder1/b")
    assert (trace_result.matched, trace_result.result, trace_result.rewritten, trace_result.object_key) == expected


def test_a_trace_shows_the_result_and_the_key(trace_path):
    """A trace has the template's text and the key made of it, with the added slashes."""
    trace_result = trace_path("/a/", ("^/a/$", "other"))
    assert (trace_result.result, trace_result.rewritten) == ("other", "/other/")


@pytest.mark.parametrize(
    ("outcome", "result", "failure"),
    [
        ("/../x", "/../x", Refuse(400, "the result contains a `.` or `..` segment")),
        (MissingUserError("it reads the user"), None, Refuse(403, "it reads the user")),
        (RenderError("it fails"), None, Refuse(500, "it fails")),
        ("/" + "x" * 1018, "/" + "x" * 1018, Refuse(400, "the object key is longer than 1024 bytes")),
    ],
    ids=["refused", "missing user", "failed", "too long"],
)
def test_a_trace_shows_a_failure_with_its_status(trace_path, scripted_template, outcome, result, failure):
    trace_result = trace_path("/a", (".", scripted_template(outcome)))
    assert (trace_result.result, trace_result.failure, trace_result.object_key) == (result, failure, None)
    assert trace_result.captures.groups == ("/",)


def test_a_request_without_rewriting_has_no_trace(decide_request, make_site):
    nowhere, refused = decide_request(make_site(mount="/m/"), "GET /x"), decide_request(make_site(), "POST /x")
    assert (trace(nowhere), trace(refused)) == (None, None)


def test_a_key_that_no_rewrite_matches_is_unchanged(decide_request, make_site):
    decision = decide_request(make_site(("^/x$", "/y")), "GET /a")
    assert (decision.rewritten.key, decision.rewrite, decision.plan[0]) == ("/a", None, Serve("a"))


TRYING = Actions(GetAction(try_files=("$path", "/index.html")))


@given(
    st.sampled_from(METHODS),
    st.sampled_from(["/", "/d/", "/d", "/a.txt", "/a.txt?x=1", "/b/c", "/open/a", "/s/c", "http://other/a.txt"]),
    st.lists(st.sampled_from([("A", "x"), ("Authorization", "Basic c2VjcmV0")]), max_size=2).map(tuple),
    st.sampled_from([{}, {"resources": [OPEN]}, {"resources": [OPEN, STAFF]}, {"actions": TRYING}]),
)
def test_a_repeated_decision_is_the_one_that_would_be_made(make_site, scripted_template, method, target, headers, rest):
    """What is kept of an address changes no decision about another request for it, and is no client's."""
    seen = scripted_template(lambda data: f"/{len(data.request.headers)}")
    site = make_site(("^/b/(.*)$", "$1/"), ("^/s/", seen), mount="/", **rest)
    mounts, request = Mounts([site]), read_request(target, method, "h", headers)
    simulate(mounts, read_request(target, method, "h", (("Cookie", "secret"),), remote_address="::1"), None)
    assert simulate(mounts, request, None) == simulate(Mounts([site]), request, None)
    assert "secret" not in str(mounts.decided)


def test_the_kept_decisions_are_bounded(make_site):
    """With one address too many, all are forgotten; a long one is not kept."""
    mounts = Mounts([make_site()])
    for path in ("/" + "x" * 512, *(f"/{number}" for number in range(MOST_DECIDED + 1))):
        simulate(mounts, read_request(path), None)
    assert len(mounts.decided) == 1
