import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Actions, BasicUser, Bucket, PutAction, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.access import Anyone, Nobody, SignedIn
from tornado_proxy.routing.explain import Failure, Outcome, explain, explain_request
from tornado_proxy.routing.keys import parse_request_path
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Browse, Receive, Refuse, Serve
from tornado_proxy.routing.request import Facts
from tornado_proxy.templates.data import TargetKeyRewriteData, User
from tornado_proxy.templates.errors import MissingUserError, RenderError

ANN = BasicUser("ann", Secret("value", "x"))
STAFF = Resource("/**", ("GET", "PUT"), provider="staff", users=(ANN,))
OPEN = Resource("/open/**", ("GET", "PUT"), white_list=True)
FOLDER = Bucket("bucket", prefix="folder1/")


def _course(site, request, user=None, file_name=None):
    method, path = request.split()
    return explain_request(Mounts([site]), Facts(method, parse_request_path(path)), user and User(user), file_name)


def test_every_rewrite_is_told_until_one_matches(rule_set):
    """Those before the one that matched did not match; those after it were not tried."""
    rules = rule_set(("^/a", "/1"), ("^/(b)", "/2$1"), ("^/b", "/3"))
    found = explain(rules, FOLDER, TargetKeyRewriteData("/b"))
    assert [each.outcome for each in found.trials] == [Outcome.NO_MATCH, Outcome.MATCHED, Outcome.NOT_TRIED]
    assert found.decided.rewrite.label == "#2"
    assert found.decided.captures.groups == ("/b", "b")
    assert (found.result, found.rewritten, found.object_key) == ("/2b", "/2b", "folder1/2b")


def test_a_key_that_nothing_matches_stays_as_it_is(rule_set):
    """Without a match there is no result, and the key itself is joined to the prefix."""
    found = explain(rule_set(("^/a", "/1")), FOLDER, TargetKeyRewriteData("/b"))
    assert (found.decided, found.result, found.rewritten, found.object_key) == (None, None, "/b", "folder1/b")


def test_the_raw_result_is_told_beside_the_key_made_of_it(rule_set):
    """What the template said is shown as it said it: the slashes that were added are the difference."""
    found = explain(rule_set(("^/a/$", "other")), FOLDER, TargetKeyRewriteData("/a/"))
    assert (found.result, found.rewritten) == ("other", "/other/")


@pytest.mark.parametrize(
    ("outcome", "result", "failure"),
    [
        ("/../x", "/../x", Failure(400, "the result contains a `.` or `..` segment")),
        (MissingUserError("it reads the user"), None, Failure(403, "it reads the user")),
        (RenderError("it fails"), None, Failure(500, "it fails")),
        ("/" + "x" * 1018, "/" + "x" * 1018, Failure(400, "the object key is longer than 1024 bytes")),
    ],
    ids=["refused", "missing user", "failed", "too long"],
)
def test_a_failure_is_told_with_its_status(rule_set, scripted, outcome, result, failure):
    """Where the chain breaks off, what was made so far and the status that answers are told."""
    found = explain(rule_set((".", scripted(outcome))), FOLDER, TargetKeyRewriteData("/a"))
    assert (found.result, found.failure, found.object_key) == (result, failure, None)


@given(st.lists(st.sampled_from(["a", "^/b", "c$", "/", "x"]), max_size=5), st.text("/abcx", max_size=6))
def test_the_explanation_is_what_the_rules_do(rule_set, sources, rest):
    """The rewrite that is said to have matched is the one that the rule set applies."""
    rules = rule_set(*((source, f"/{number}") for number, source in enumerate(sources)))
    data = TargetKeyRewriteData(f"/{rest}")
    found, applied = explain(rules, Bucket("b"), data), rules.apply(data)
    assert (found.decided and found.decided.rewrite) == applied.rewrite
    assert found.rewritten == applied.key


def test_a_request_is_followed_to_its_plan(site):
    """The course of a request has its target, its access, its explanation and its plan."""
    course = _course(site(("^/a$", "/b"), bucket=FOLDER, mount="/m/"), "GET /m/a")
    assert (course.routed.mount, course.routed.key) == ("/m/", "/a")
    assert [(each.path, each.covering, each.guard) for each in course.checks] == [("/m/a", (), Anyone())]
    assert course.explanation.object_key == "folder1/b"
    assert course.plan[0] == Serve("folder1/b")


def test_a_request_that_leads_nowhere_ends_there(site):
    """Beside all mounts there is no target, and nothing more to tell."""
    course = _course(site(mount="/m/"), "GET /x")
    assert (course.plan, course.routed, course.checks) == ((Refuse(404, "no target is mounted there"),), None, ())


def test_a_method_that_is_not_enabled_ends_before_access(site):
    """As in the service, 405 comes before anybody is asked to sign in."""
    course = _course(site(actions=Actions(), resources=[STAFF]), "PUT /")
    assert (course.plan[0].status, course.checks, course.explanation) == (405, (), None)


def test_an_overlap_is_told(site):
    """Every resource that covers the path is listed, the one that decides first."""
    course = _course(site(resources=[OPEN, STAFF]), "GET /open/a")
    assert course.checks[0].covering == (OPEN, STAFF)
    assert course.checks[0].guard == Anyone()


@pytest.mark.parametrize(
    ("request_line", "user", "refused"),
    [
        ("GET /a", None, Refuse(401, "nobody is signed in with `staff`")),
        ("GET /a", "eve", Refuse(401, "`eve` is not listed")),
        ("DELETE /a", "ann", Refuse(403, "no resource of the target covers the request")),
    ],
)
def test_who_may_not_pass_gets_no_further(site, request_line, user, refused):
    """Where access is refused, no rule is asked."""
    course = _course(site((".", "/x"), resources=[OPEN, STAFF]), request_line, user)
    assert (course.plan, course.explanation) == ((refused,), None)


def test_a_listed_user_is_seen_by_templates(site, scripted):
    """Who signs in is who the templates read."""
    who = scripted(lambda data: f"/{data.user.username}")
    course = _course(site((".", who), resources=[STAFF]), "GET /a", "ann")
    assert (course.user, course.plan[0]) == (User("ann"), Serve("ann"))


def test_nobody_is_seen_where_anyone_may_come(site, scripted):
    """An open path asks nobody to sign in, so a user who is named takes no part."""
    course = _course(site(resources=[OPEN, STAFF]), "GET /open/a", "ann")
    assert course.user is None


def test_an_upload_is_followed_to_its_key(site):
    """With its file's name an upload is checked twice and received once."""
    course = _course(site(resources=[STAFF]), "PUT /d/", "ann", "a.txt")
    assert [each.path for each in course.checks] == ["/d/", "/d/a.txt"]
    assert course.plan == (Receive("d/a.txt", "/d/a.txt"),)
    assert course.explanation.data.key == "/d/a.txt"


def test_an_upload_without_a_name_stops_before_its_rules(site):
    """Until its file is named, nothing speaks for or against an upload."""
    course = _course(site(), "PUT /d/")
    assert (course.plan, course.explanation) == ((), None)


def test_an_upload_may_be_refused_by_its_name(site):
    """A directory that is open does not open each path in it, and a name may be none."""
    forbidden = Resource("/d/secret", ("PUT",))
    site = site(resources=[forbidden, Resource("/d/*", ("PUT",), white_list=True)])
    assert _course(site, "PUT /d/", None, "secret").checks[1].guard == Nobody()
    assert _course(site, "PUT /d/", None, "secret").plan[0].status == 403
    assert _course(site, "PUT /d/", None, "..").plan == (Refuse(400, "the file's name contains a `.` or `..` segment"),)


def test_an_upload_to_a_file_is_refused_whatever_it_is_called(site):
    """What the plan refuses before the form is read, it refuses without looking at the name."""
    assert _course(site(), "PUT /d", None, "x").plan[0].status == 400


def test_whoever_signed_in_for_the_directory_stays_signed_in(site, scripted):
    """An upload whose path is open keeps the user whom its directory asked for."""
    resources = [Resource("/d/", ("PUT",), provider="staff", users=(ANN,)), Resource("/**", ("PUT",), white_list=True)]
    site = site((".", scripted(lambda data: f"/{data.user.username}")), resources=resources)
    course = _course(site, "PUT /d/", "ann", "x")
    assert course.plan == (Receive("ann", "/d/x"),)
    assert [type(each.guard) for each in course.checks] == [SignedIn, Anyone]


def test_actions_take_part(site):
    """The plan is the target's own, with its index document and its limits."""
    course = _course(site(actions=Actions(put=PutAction(enabled=True, max_size=3))), "PUT /", None, "x")
    assert course.plan == (Receive("x", "/x", max_size=3),)
    assert _course(site(actions=Actions()), "GET /d/").plan[0] == Browse("d/")
