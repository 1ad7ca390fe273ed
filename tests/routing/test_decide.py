import pytest

from tornado_proxy.config.actions import Actions, GetAction, HeadAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, TargetList
from tornado_proxy.config.providers import AccessRule, Authorization, BasicUser, OidcProvider, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import Anyone, Nobody, SignedIn
from tornado_proxy.routing.decide import (
    Authenticate,
    Authorize,
    NameFile,
    decide,
    plan_beside,
    simulate,
    trace,
)
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, ListTargets, ReadForm, Receive, Refuse, Serve, VisitProvider
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules.model import METHODS
from tornado_proxy.templates.template import LimitError, MissingUserError, RenderError, User

ANN = BasicUser("ann", Secret("value", "x"))
STAFF = Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,))
OPEN = Resource("/open/**", ("GET", "PUT"), white_list=True)


def test_a_driver_answers_one_question_after_the_other(site):
    """The decision asks who makes the request, then what the file is called, then for access to path and name."""
    steps = decide(Mounts([site(resources=[STAFF])]), read_request("/d/", "PUT"))
    asked = steps.send(None)
    assert isinstance(asked, Authenticate)
    assert (asked.guard.provider, asked.so_far.user, asked.so_far.plan) == ("staff", None, ())
    named = steps.send(User("ann"))
    assert isinstance(named, NameFile)
    assert (named.so_far.user, named.so_far.plan) == (User("ann"), (ReadForm(),))
    again = steps.send("a.txt")
    assert [each.path for each in again.so_far.checks] == ["/d/", "/d/a.txt"]
    with pytest.raises(StopIteration) as end:
        steps.send(User("ann"))
    assert end.value.value.plan == (Receive("d/a.txt", "/d/a.txt"),)


@pytest.mark.parametrize(("path", "status"), [("/m/open/**", None), ("/open/**", 403)])
def test_a_resource_covers_paths_with_their_mount(decided, site, path, status):
    """Access is checked for the whole path of the request, not for the key below the mount."""
    found = site(mount="/m/", resources=[Resource(path, ("GET",), white_list=True)])
    assert getattr(decided(found, "GET /m/open/a").plan[0], "status", None) == status


def test_a_driver_may_refuse_with_a_challenge(site):
    """The answer to who makes the request may be a refusal, which becomes the plan as it is."""
    steps = decide(Mounts([site(resources=[STAFF])]), read_request("/a"))
    steps.send(None)
    challenge = Refuse(401, "the password is wrong", challenge="Basic")
    with pytest.raises(StopIteration) as end:
        steps.send(challenge)
    assert (end.value.value.plan, end.value.value.data) == ((challenge,), None)


OPA = OpaServer("http://127.0.0.1:8181/v1/data/allow")
EDITORS = Resource("/**", provider="id", oidc=Authorization((AccessRule(group="editors"),)))


@pytest.mark.parametrize(
    ("answer", "plan"),
    [
        (True, Serve("a")),
        (False, Refuse(403, "the user is not authorized by the resource")),
        (Refuse(500, "the policy server does not decide"), Refuse(500, "the policy server does not decide")),
    ],
)
def test_a_policy_server_is_asked_about_the_user(site, answer, plan):
    """After the sign-in; what the driver says of the server ends the decision, unless it is yes."""
    resource = Resource("/**", provider="id", oidc=Authorization((), OPA))
    steps = decide(Mounts([site(resources=[resource])]), read_request("/a"))
    steps.send(None)
    asked = steps.send(User("ann"))
    assert isinstance(asked, Authorize)
    assert (asked.server, asked.user, asked.so_far.user) == (OPA, User("ann"), User("ann"))
    with pytest.raises(StopIteration) as end:
        steps.send(answer)
    assert end.value.value.plan[0] == plan


@pytest.mark.parametrize(("groups", "plan"), [(("editors",), Serve), (("guests",), Refuse), ((), Refuse)])
def test_a_user_whom_no_rule_lets_pass_is_refused(site, groups, plan):
    """With 403: to sign in again would not help."""
    steps = decide(Mounts([site(resources=[EDITORS])]), read_request("/a"))
    steps.send(None)
    with pytest.raises(StopIteration) as end:
        steps.send(User("ann", groups=groups))
    assert isinstance(end.value.value.plan[0], plan)


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
def test_a_rewrite_that_fails_is_refused_by_name(decided, scripted, site, request_line, outcome, status):
    """A refused result is 400, a missing user 403, any other failure 500; the reason names the rewrite."""
    found = decided(site(("x", "/x"), (".", scripted(outcome))), request_line)
    (refused,) = found.plan
    assert refused.status == status
    assert refused.reason == f"rewrite `#2`: {found.failure}"
    assert found.rewritten is None


def test_a_template_reads_who_asks_and_what_is_asked(decided, signed_in, scripted, site):
    """The data of a template are the request's: its user, its method, its whole path, its target."""

    def words(data):
        return f"/{data.user.username}/{data.request.method}{data.request.path}:{data.key}@{data.target.name}"

    found = decided(site((".", scripted(words)), mount="/m/", resources=signed_in("ann")), "GET /m/a", "ann")
    assert found.plan[0] == Serve("ann/GET/m/a:/a@site")


def test_an_upload_that_fails_says_so(decided, scripted, site):
    """An upload's rewrite fails as any other, its plan a refusal."""
    found = decided(site((".", scripted("/.."))), "PUT /", file_name="a")
    assert found.plan[0].status == 400
    assert found.failure is not None


def test_a_decision_knows_what_made_it(decided, site):
    """What the rules made of the key goes with the decision, for the log: the rewrite, its captures, the new key."""
    found = decided(site(("^/(?P<rest>.*)$", "/new/$rest")), "GET /a")
    assert found.data.key == "/a"
    assert found.rewritten.key == "/new/a"
    assert found.rewritten.rewrite.label == "#1"
    assert found.rewritten.captures.groups == ("/a", "a")


def test_a_key_that_no_rewrite_matches_is_unchanged(decided, site):
    """Where nothing matches, the key is the one that was asked for, and no rewrite is named."""
    found = decided(site(("^/x$", "/y")), "GET /a")
    assert (found.rewritten.key, found.rewrite, found.plan[0]) == ("/a", None, Serve("a"))


@pytest.mark.parametrize(
    ("request_line", "allow"),
    [("PUT /a/", ("GET", "HEAD")), ("DELETE /a", ("GET", "HEAD")), ("POST /", ("GET", "HEAD"))],
)
def test_a_method_that_is_not_enabled_is_refused(decided, site, request_line, allow):
    """GET and HEAD are on, PUT and DELETE off, until the target says otherwise; Allow lists what is on."""
    (refused,) = decided(site(actions=Actions()), request_line).plan
    assert (refused.status, refused.allow) == (405, allow)
    assert decided(site(actions=Actions()), request_line, file_name="x").plan == (refused,)


def test_head_can_be_switched_off(decided, site):
    """Each method has its own switch."""
    (refused,) = decided(site(actions=Actions(head=HeadAction(enabled=False))), "HEAD /a").plan
    assert (refused.status, refused.allow) == (405, ("GET",))


@pytest.mark.parametrize("name", ["", "a/", "/", ".", "..", "x/..", "a\nb", "a\x00", "\x9b", "a\x7f", "\ud800"])
def test_a_hostile_file_name_is_refused(decided, site, name):
    """A file's name that is empty, a dot segment or holds a control character is 400."""
    (refused,) = decided(site(), "PUT /dir/", file_name=name).plan
    assert (type(refused), refused.status) == (Refuse, 400)


def test_an_upload_without_a_file_name_is_a_plan_to_read_its_form(decided, site):
    """Before its form is read, nothing speaks against an upload to a directory, and no rule is asked."""
    found = decided(site((".*", "/../x"), actions=Actions(put=PutAction(enabled=True, max_size=5))), "PUT /dir/")
    assert (found.plan, found.data) == ((ReadForm(max_size=5),), None)


def test_a_request_that_leads_nowhere_ends_there(decided, site):
    """A path without a mount has no target."""
    found = decided(site(mount="/m/"), "GET /x")
    assert (found.plan, found.match, found.checks) == (
        (Refuse(404, "no target is mounted at this host and path"),),
        None,
        (),
    )


def test_a_method_that_is_not_enabled_ends_before_access(decided, site):
    """As in the service, 405 comes before anybody is asked to sign in."""
    found = decided(site(actions=Actions(), resources=[STAFF]), "PUT /")
    assert (found.plan[0].status, found.checks, found.data) == (405, (), None)


@pytest.mark.parametrize(
    ("request_line", "user", "refused"),
    [
        ("GET /a", None, Refuse(401, "nobody is signed in with `staff`")),
        ("GET /a", "eve", Refuse(401, "`eve` is not listed")),
        ("DELETE /a", "ann", Refuse(403, "no resource of the target covers this method and path")),
    ],
)
def test_who_may_not_pass_gets_no_further(decided, site, request_line, user, refused):
    """Where access is refused, no rule is asked."""
    found = decided(site((".", "/x"), resources=[OPEN, STAFF]), request_line, user)
    assert (found.plan, found.data) == ((refused,), None)


def test_a_listed_user_is_seen_by_templates(decided, site, scripted):
    """Templates read the user who signed in."""
    who = scripted(lambda data: f"/{data.user.username}")
    found = decided(site((".", who), resources=[STAFF]), "GET /a", "ann")
    assert (found.user, found.plan[0]) == (User("ann"), Serve("ann"))


def test_nobody_is_seen_where_anyone_may_come(decided, site, scripted):
    """An open path asks nobody to sign in, so a user who is named takes no part."""
    found = decided(site(resources=[OPEN, STAFF]), "GET /open/a", "ann")
    assert found.user is None


def test_an_upload_is_followed_to_its_key(decided, site):
    """With its file's name an upload is checked twice and received once."""
    found = decided(site(resources=[STAFF]), "PUT /d/", "ann", "a.txt")
    assert [each.path for each in found.checks] == ["/d/", "/d/a.txt"]
    assert found.plan == (Receive("d/a.txt", "/d/a.txt"),)
    assert found.data.key == "/d/a.txt"


def test_an_upload_may_be_refused_by_its_name(decided, site):
    """A directory that is open does not open each path in it, and a name may be none."""
    forbidden = Resource("/d/secret", ("PUT",))
    site = site(resources=[forbidden, Resource("/d/*", ("PUT",), white_list=True)])
    assert decided(site, "PUT /d/", None, "secret").checks[1].guard == Nobody()
    assert decided(site, "PUT /d/", None, "secret").plan[0].status == 403
    assert decided(site, "PUT /d/", None, "..").plan == (Refuse(400, "the file's name contains a `.` or `..` segment"),)


def test_an_upload_to_a_file_is_refused_whatever_it_is_called(decided, site):
    """What the plan refuses before the form is read, it refuses without looking at the name."""
    assert decided(site(), "PUT /d", None, "x").plan[0].status == 400


def test_whoever_signed_in_for_the_directory_stays_signed_in(decided, site, scripted):
    """An upload whose path is open keeps the user whom its directory asked for."""
    resources = [Resource("/d/", ("PUT",), provider="staff", users=(ANN,)), Resource("/**", ("PUT",), white_list=True)]
    site = site((".", scripted(lambda data: f"/{data.user.username}")), resources=resources)
    found = decided(site, "PUT /d/", "ann", "x")
    assert found.plan == (Receive("ann", "/d/x"),)
    assert [type(each.guard) for each in found.checks] == [SignedIn, Anyone]


def test_actions_take_part(decided, site):
    """The plan is the target's own, with its index document and its limits."""
    found = decided(site(actions=Actions(put=PutAction(enabled=True, max_size=3))), "PUT /", None, "x")
    assert found.plan == (Receive("x", "/x", max_size=3),)
    assert decided(site(actions=Actions()), "GET /d/").plan[0] == Browse("d/")


TOO_LONG = Refuse(400, "the key is longer than 1024 bytes")


@pytest.mark.parametrize("method", METHODS)
def test_a_key_that_s3_could_not_hold_is_refused_before_anything_is_matched(decided, site, signed_in, method):
    """A key that is too long is refused before rules could shorten it; the mount does not count."""
    found = site(("^/k", "/short"), mount="/m/", resources=signed_in("ann"))
    longest = decided(found, f"{method} /m/{'k' * 1024}", "ann")
    assert longest.plan != (TOO_LONG,)
    longer = decided(found, f"{method} /m/{'k' * 1025}", "ann")
    assert (longer.plan, longer.checks, longer.data) == ((TOO_LONG,), (), None)


def test_the_name_of_an_upload_counts_in_the_key(decided, site):
    """A file whose name makes the key too long is refused, whatever a rule would make of it."""
    found = site(("^/d/", "/short"))
    assert decided(found, "PUT /d/", file_name="k" * 1022).plan == (Receive("short", f"/d/{'k' * 1022}"),)
    assert decided(found, "PUT /d/", file_name="k" * 1023).plan == (TOO_LONG,)


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
def test_an_isolated_user_has_a_directory_that_does_not_show(decided, site, signed_in, request_line, attempt):
    """Its name stands between prefix and key, and in no location."""
    found = site(bucket=Bucket("b", "www/"), actions=ISOLATED, resources=signed_in("ann"))
    assert decided(found, request_line, "ann", "new.txt").plan[0] == attempt


def test_the_directory_of_an_isolated_user_counts_in_the_key(decided, site, signed_in):
    """What the rules see is bounded with the directory in it."""
    found = site(("^/ann/", "/ann/short"), actions=ISOLATED, resources=signed_in("ann"))
    assert decided(found, f"GET /{'k' * 1020}", "ann").plan[0] == Serve("ann/short")
    assert decided(found, f"GET /{'k' * 1021}", "ann").plan == (TOO_LONG,)


def test_an_administrator_sees_the_directories_of_all_users(decided, site, signed_in):
    """Such a user has no directory of their own."""
    found = site(actions=ISOLATED, resources=signed_in("root"))
    assert decided(found, "GET /ann/a", "root").plan[0] == Serve("ann/a")


def test_nobody_is_served_where_users_are_isolated(decided, site):
    """A resource that is open to everyone names no user."""
    found = site(actions=ISOLATED, resources=[Resource("/**", METHODS, white_list=True)])
    assert decided(found, "GET /a").plan == (Refuse(403, "users are isolated, and nobody is signed in"),)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "is empty"),
        (".", "contains a `.` or `..` segment"),
        ("..", "contains a `.` or `..` segment"),
        ("../ben", "contains a `/`"),
    ],
)
def test_a_user_whose_name_is_no_directory_is_refused_where_users_are_isolated(decided, site, signed_in, name, reason):
    """Names of other providers may be anything; one must not lead to the directory of another user, or of all."""
    found = site(actions=ISOLATED, resources=signed_in(name))
    assert decided(found, "GET /a", name).plan == (Refuse(403, f"users are isolated, and the user's name {reason}"),)


def test_rules_see_the_directory_of_an_isolated_user_and_cannot_leave_it(decided, site, signed_in):
    """A rule that does is refused, whoever wrote it."""
    pairs = (("^/ann/old/(.*)$", "/ann/new/$1"), ("^/ann/all/(.*)$", "/shared/$1"))
    found = site(*pairs, actions=ISOLATED, resources=signed_in("ann"))
    assert decided(found, "GET /old/a", "ann").plan[0] == Serve("ann/new/a")
    assert decided(found, "GET /all/a", "ann").plan[0].status == 403


def test_the_page_of_all_targets_is_in_front_of_what_is_mounted_there(site):
    """The page of all targets is at its own paths only, for reading, with its own resource."""
    page = TargetList(True, Mount("", ("/",)), Resource("/", METHODS, provider="staff", users=(ANN,)))
    mounts = Mounts([site()], target_list=page)
    for method in ("GET", "HEAD"):
        assert simulate(mounts, read_request("/", method), User("ann")).plan == (ListTargets(),)
    assert simulate(mounts, read_request("/", "GET"), None).plan[0].status == 401
    assert simulate(mounts, read_request("/a", "GET"), None).plan[0] == Serve("a")
    assert simulate(mounts, read_request("/", "DELETE"), None).plan[0].status == 403
    hosted = Mounts([site()], target_list=TargetList(True, Mount("list.example", ("/",))))
    assert simulate(hosted, read_request("/", "GET", "list.example"), None).plan == (ListTargets(),)
    assert simulate(hosted, read_request("/", "GET", "other.example"), None).plan[0] == Browse("", root=True)


def test_a_page_of_a_provider_is_in_front_of_everything(site):
    """Whatever is mounted there, and with a closing slash, too."""
    mounts = Mounts([site()], [OidcProvider("id", "https://id.example", "me")])
    for path, step in (("/auth/id", "login"), ("/auth/id/callback/", "callback"), ("/auth/id/logout", "logout")):
        assert simulate(mounts, read_request(path, "GET"), None).plan == (VisitProvider("id", step),)
    assert simulate(mounts, read_request("/auth/id/logout", "POST"), None).plan == (VisitProvider("id", "logout"),)


@pytest.mark.parametrize(("method", "path", "allowed"), [("POST", "", ("GET",)), ("PUT", "/logout", ("GET", "POST"))])
def test_only_a_logout_takes_a_post(site, method, path, allowed):
    """The other pages of a provider are visited with GET."""
    mounts = Mounts([site()], [OidcProvider("id", "https://id.example", "me")])
    (refused,) = simulate(mounts, read_request(f"/auth/id{path}", method), None).plan
    assert (refused.status, refused.allow) == (405, allowed)


@pytest.mark.parametrize(
    ("rules", "permitted"),
    [
        ([], True),
        ([AccessRule(group="editors")], True),
        ([AccessRule(group="edit")], False),
        ([AccessRule(group="^edit", regexp=True)], True),
        ([AccessRule(email="ann@example.org")], True),
        ([AccessRule(email="@example[.]org$", regexp=True)], True),
        ([AccessRule(email="@example[.]org$", regexp=True, forbidden=True), AccessRule(group="editors")], False),
        ([AccessRule(group="editors"), AccessRule(email=".*", regexp=True, forbidden=True)], True),
        ([AccessRule(group="others", forbidden=True)], False),
    ],
)
def test_the_first_rule_that_matches_decides_who_may_pass(rules, permitted):
    """The first rule that matches decides; a user whom no rule matches is refused."""
    ann = User("ann", "OIDC", "ann@example.org", ("readers", "editors"))
    assert SignedIn("id", None, tuple(rules)).permits(ann) is permitted


def test_a_policy_server_is_asked_about_those_whom_the_rules_let_pass(site):
    """The answer of the policy server decides."""
    resource = Resource("/**", METHODS, provider="id", oidc=Authorization(opa=OpaServer("http://opa/")))
    mounts = Mounts([site(resources=[resource])])
    for answer, status in ((True, None), (False, 403)):
        steps = decide(mounts, read_request("/a", "GET"))
        assert isinstance(steps.send(None), Authenticate)
        assert isinstance(steps.send(User("ann", "OIDC")), Authorize)
        with pytest.raises(StopIteration) as end:
            steps.send(answer)
        (first, *_) = end.value.value.plan
        assert getattr(first, "status", None) == status
    assert simulate(mounts, read_request("/a", "GET"), User("ann")).plan[0] == Serve("a")


@pytest.mark.parametrize(
    ("path", "plan"),
    [
        ("/m/d/README.md", (Serve("new/README.md"), Refuse(404, "no object at this key"))),
        ("/m/d/sub/", (Browse("new/sub/"), Refuse(404, "no objects below this key"))),
    ],
)
def test_the_plan_of_a_path_beside_the_one_that_was_asked(site, path, plan):
    """It is what a GET of that path would get, whatever the method and the query of the request were."""
    found = site((r"^/d/(?P<rest>.*)$", "/new/$rest"), mount="/m/")
    request = read_request("/m/d/?format=zip", "HEAD")
    match = Mounts([found]).find("", request.path)
    assert plan_beside(match, request, path, None) == plan


def test_a_path_beside_has_nothing_of_the_query(site, scripted):
    """A template reads no query there: the one of the request is about its own path."""
    found = site((".*", scripted(lambda data: f"/{data.request.raw_query}{len(data.request.query)}")))
    match = Mounts([found]).find("", "/d/")
    assert plan_beside(match, read_request("/d/?format=zip"), "/d/a", None)[0] == Serve("0")


def test_a_path_beside_is_planned_for_the_same_user(site):
    """An isolated user sees files of their own directory."""
    match = Mounts([site(actions=ISOLATED)]).find("", "/d/")
    assert plan_beside(match, read_request("/d/"), "/d/a", User("ann"))[0] == Serve("ann/d/a")


OPEN_OF_TRACE = Resource("/open/**", white_list=True)
REST = Resource("/**", provider="staff")
FOLDER = Bucket("bucket", prefix="folder1/")


@pytest.fixture(scope="session")
def traced(decided, site):
    """What the rules of pairs make of a path."""
    return lambda path, *pairs: trace(decided(site(*pairs, bucket=FOLDER), f"GET {path}"))


def test_the_rewrite_that_matched_is_shown(traced):
    """The first that matches, with its captures and what was made of them."""
    found = traced("/b", ("^/a", "/1"), ("^/(b)", "/2$1"), ("^/b", "/3"))
    assert found.matched.label == "#2"
    assert found.captures.groups == ("/b", "b")
    assert (found.result, found.rewritten, found.object_key) == ("/2b", "/2b", "folder1/2b")


def test_a_key_that_nothing_matches_stays_as_it_is(traced):
    """Without a match there is no result, and the key itself is joined to the prefix."""
    found = traced("/b", ("^/a", "/1"))
    assert (found.matched, found.result, found.rewritten, found.object_key) == (None, None, "/b", "folder1/b")


def test_the_raw_result_is_shown_beside_the_key_made_of_it(traced):
    """The template's text is shown as it is: the slashes that were added are the difference."""
    found = traced("/a/", ("^/a/$", "other"))
    assert (found.result, found.rewritten) == ("other", "/other/")


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
def test_a_failure_is_shown_with_its_status(traced, scripted, outcome, result, failure):
    """Where the way ends early, the trace has what was made so far and the status that answers."""
    found = traced("/a", (".", scripted(outcome)))
    assert (found.result, found.failure, found.object_key) == (result, failure, None)
    assert found.captures.groups == ("/",)


def test_a_request_that_ends_early_has_no_rewriting(decided, site):
    """Where no target is mounted there is nothing to show, and where a method is refused no rule was asked."""
    nowhere, refused = decided(site(mount="/m/"), "GET /x"), decided(site(), "POST /x")
    assert (trace(nowhere), trace(refused)) == (None, None)


def test_an_overlap_is_shown(decided, site):
    """Every resource that covers the path is listed, the one that decides first."""
    found = decided(site(resources=[OPEN_OF_TRACE, REST]), "GET /open/a")
    (check,) = found.checks
    assert check == ("/open/a", Anyone())
    assert found.match.site.access.covering(check.path, "GET") == (OPEN_OF_TRACE, REST)
