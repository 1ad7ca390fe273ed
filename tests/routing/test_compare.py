"""An edit decides about a request beside the decision in force."""

from __future__ import annotations

import pytest

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount, TargetList
from tornado_proxy.config.providers import BasicUser, OidcProvider, OpaServer, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.compare import Kind, Pair, Reason, beside_edit, reason
from tornado_proxy.routing.decide import NOT_AUTHORIZED, Authenticate, Authorize, Deciding, decide, simulate
from tornado_proxy.routing.mounts import Mounts, sites
from tornado_proxy.routing.request import read_request
from tornado_proxy.semantics.request import User

ANN = BasicUser("ann", Secret("value", "x"))
OTHER_ANN = BasicUser("ann", Secret("value", "y"))
BEN = BasicUser("ben", Secret("value", "x"))
POLICY = OpaServer(GuardedUrl("http://127.0.0.1:8181/v1/data/a"))
METHODS = ("GET", "PUT")


def _staff(*users, provider="staff", opa=None):
    return Resource("/**", METHODS, provider=provider, users=users, opa=opa)


def _compared(old, new, line="GET /a", user=None, file_name=None, headers=()):
    method, path = line.split()
    request = read_request(path, method, headers=headers)
    return beside_edit(Mounts([new]), simulate(Mounts([old]), request, user, file_name))


def test_the_same_rules_decide_alike(make_site):
    """Nothing differs, and the key is known."""
    difference = _compared(make_site(("^/a$", "/b")), make_site(("^/a$", "/b")))
    assert (difference.kind, difference.old, difference.new, difference.key) == (Kind.SAME, "/b", "/b", "b")


def test_another_key_is_a_difference(make_site):
    """The pair names the rewrites, and neither query nor header is told."""
    difference = _compared(make_site(("^/a$", "/b")), make_site(), "GET /a?token=1", headers=(("X-Secret", "2"),))
    assert (difference.kind, difference.old, difference.new) == (Kind.KEY, "/b", "/a")
    assert (difference.pair.target, difference.pair.new, difference.path) == ("site", None, "/a")
    assert "token" not in repr(difference)
    assert "Secret" not in repr(difference)


def test_another_bucket_is_another_answer(make_site):
    """The key alone does not tell."""
    assert _compared(make_site(), make_site(bucket=Bucket("other"))).kind is Kind.ANSWER


def test_how_a_bucket_is_called_changes_no_answer(make_site):
    """Its address and its prefix do: another prefix is another key."""
    site = make_site(bucket=Bucket("files"))
    assert _compared(site, make_site(bucket=Bucket("files", read_timeout=1.0))).kind is Kind.SAME
    assert _compared(site, make_site(bucket=Bucket("files", "v2/"))).kind is Kind.KEY


def test_an_answer_without_the_bucket_is_the_same_of_another(make_site):
    """A redirect to the slash of a mount, and a refusal."""
    old, new = (make_site(mount="/m/", bucket=Bucket(name)) for name in ("files", "other"))
    assert _compared(old, new, "GET /m").kind is Kind.SAME
    assert _compared(old, new, "DELETE /m/").kind is Kind.SAME


def test_a_target_that_is_gone_is_another_answer(make_site):
    """The status stands in place of the key."""
    difference = _compared(make_site(), make_site(mount="/m/"))
    assert (difference.kind, difference.new, difference.key) == (Kind.ANSWER, "(404)", None)
    assert _compared(make_site(mount="/m/"), make_site(mount="/n/")).kind is Kind.SAME


def test_another_form_of_answer_is_another_answer(make_site):
    """A signed URL instead of the object."""
    signed = Actions(get=GetAction(redirect_to_signed_url=True))
    difference = _compared(make_site(), make_site(actions=signed))
    assert (difference.kind, difference.key) == (Kind.ANSWER, "a")


def test_a_directory_has_no_key_that_must_exist(make_site):
    """Without its index document it is listed; its redirect is known by its name."""
    indexed = Actions(get=GetAction(index_document="index.html"))
    assert _compared(make_site(actions=indexed), make_site(actions=indexed), "GET /d/").key is None
    assert _compared(make_site(mount="/m/"), make_site(mount="/m/"), "GET /m").old == "(Redirect)"


def test_a_rewrite_that_fails_is_an_error(make_site):
    """One that failed before is not."""
    failing = make_site(("^/a$", "/../b"))
    assert _compared(make_site(), failing).kind is Kind.ERROR
    assert _compared(failing, failing).kind is Kind.SAME
    assert _compared(failing, make_site()).kind is Kind.ANSWER


def test_an_unfinished_decision_is_unknown(make_site):
    """Its client left before it signed in."""
    deciding = Deciding(decide(Mounts([make_site(resources=[_staff(ANN)])]), read_request("/a")))
    difference = beside_edit(Mounts([make_site()]), deciding.decision)
    assert (difference.kind, difference.pair, difference.old) == (
        Kind.UNKNOWN,
        Pair("site", None, None),
        "(not decided)",
    )


@pytest.mark.parametrize(
    ("old", "new", "user", "kind"),
    [
        ([_staff(ANN)], [_staff(ANN)], User("ann"), Kind.SAME),
        ([_staff(ANN)], [_staff()], User("ann"), Kind.SAME),
        ([_staff(ANN)], [_staff(BEN)], User("ann"), Kind.ANSWER),
        ([_staff(ANN)], [_staff(OTHER_ANN)], User("ann"), Kind.UNKNOWN),
        ([_staff(ANN)], [_staff(ANN, provider="guests")], User("ann"), Kind.UNKNOWN),
        ([_staff(ANN)], [_staff(ANN)], None, Kind.SAME),
        ([_staff(ANN)], [_staff(BEN)], None, Kind.UNKNOWN),
        ([], [_staff(ANN)], None, Kind.ANSWER),
        ([_staff(ANN)], [], User("ann"), Kind.SAME),
        ([Resource("/x/**", METHODS, white_list=True)], [_staff(ANN)], None, Kind.UNKNOWN),
    ],
)
def test_the_user_is_known_from_the_decision(make_site, old, new, user, kind):
    """No password is checked again; where only a check would tell, the difference is unknown."""
    assert _compared(make_site(resources=old), make_site(resources=new), user=user).kind is kind


@pytest.mark.parametrize("name", ["Authorization", "cookie"])
def test_credentials_that_nobody_checked_are_unknown(make_site, name):
    """An edit that asks for a user may accept them, or not."""
    closed = make_site(resources=[_staff(ANN)])
    assert _compared(make_site(), closed, headers=((name, "x"),)).kind is Kind.UNKNOWN


def test_a_target_that_is_new_asks_for_an_unknown_user(make_site):
    """The decision in force came to no check."""
    assert _compared(make_site(mount="/m/"), make_site(resources=[_staff(ANN)])).kind is Kind.UNKNOWN


def _authorized(site, line="GET /a", *, permitted, file_name=None):
    """Decides with an answer of the policy server."""
    method, path = line.split()
    deciding = Deciding(decide(Mounts([site]), read_request(path, method)))
    while deciding.question is not None:
        match deciding.question:
            case Authenticate():
                deciding.answer(User("ann"))
            case Authorize():
                deciding.answer(permitted)
            case _:
                deciding.answer(file_name)
    return deciding.decision


@pytest.mark.parametrize("permitted", [True, False])
def test_the_answer_of_a_policy_server_is_known(make_site, permitted):
    """It is not asked again."""
    site = make_site(resources=[_staff(opa=POLICY)])
    decision = _authorized(site, permitted=permitted)
    assert (decision.plan == NOT_AUTHORIZED) is not permitted
    assert beside_edit(Mounts([site]), decision).kind is Kind.SAME


def test_a_policy_server_that_was_not_asked_is_unknown(make_site):
    """The decision in force has no answer of it."""
    with_policy = make_site(resources=[_staff(opa=POLICY)])
    assert _compared(make_site(resources=[_staff()]), with_policy, user=User("ann")).kind is Kind.UNKNOWN


def test_an_upload_is_decided_with_the_name_of_its_file(make_site):
    """The form was read once; access to the file's path was authorized apart from its directory."""
    site = make_site(resources=[_staff(opa=POLICY)], actions=Actions(put=PutAction(enabled=True)))
    decision = _authorized(site, "PUT /d/", permitted=True, file_name="a.txt")
    difference = beside_edit(Mounts([site]), decision)
    assert (difference.kind, difference.new, difference.key) == (Kind.SAME, "/d/a.txt", None)


def test_an_upload_without_a_name_is_unknown(make_site):
    """Its form was not read to its file."""
    site = make_site()
    assert _compared(site, site, "PUT /d/").kind is Kind.UNKNOWN


def test_a_site_that_the_edit_kept_is_not_asked_again(make_site, scripted_template):
    """Its rules run once; an edit that mounts it elsewhere is decided about."""
    runs = []
    site = make_site(("^/a$", scripted_template(lambda data: runs.append(data) or "/b")))
    decision = simulate(Mounts([site]), read_request("/a"), None)
    assert beside_edit(Mounts([site]), decision).kind is Kind.SAME
    assert len(runs) == 1
    assert beside_edit(Mounts([make_site(mount="/m/")]), decision).kind is Kind.ANSWER


def test_a_target_that_the_edit_left_alone_is_not_asked_again(make_site, scripted_template):
    """A generation has sites of its own, whose parts it takes over from the one in force."""
    runs = []
    site = make_site(("^/a$", scripted_template(lambda data: runs.append(data) or "/b")))
    decision = simulate(Mounts([site]), read_request("/a"), None)
    same = sites([site.target], {"site": site.rules}, [site])
    assert beside_edit(Mounts(same), decision).kind is Kind.SAME
    assert len(runs) == 1
    edited = sites([site.target], {"site": make_site(("^/a$", "/c")).rules}, [site])
    assert beside_edit(Mounts(edited), decision).kind is Kind.KEY


def test_a_page_that_comes_before_all_sites_is_decided_about(make_site):
    """A new provider's page lies at a path that was an object's."""
    site = make_site()
    mounts = Mounts([site], [OidcProvider("id", GuardedUrl("https://id.example"), "me")])
    path = next(iter(mounts.provider_pages))
    decision = simulate(Mounts([site]), read_request(path), None)
    assert beside_edit(mounts, decision).kind is Kind.ANSWER


SIGNED = Actions(get=GetAction(redirect_to_signed_url=True))
ISOLATED = Actions(get=GetAction(user_isolation=True))
READ_ONLY = Actions()


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ({}, {"mount": "/m/"}, "GET /a", Reason.MOUNT),
        ({"mount": "/m/"}, {"mount": "/m/a/"}, "GET /m/a/b", Reason.MOUNT),
        ({}, {"actions": READ_ONLY}, "DELETE /a", Reason.ACTIONS),
        ({}, {"actions": SIGNED}, "GET /a", Reason.ACTIONS),
        ({"resources": [_staff(ANN)]}, {"resources": [_staff(ANN)], "actions": ISOLATED}, "GET /a", Reason.ACTIONS),
        ({}, {"resources": [_staff(BEN)]}, "GET /a", Reason.ACCESS),
        ({}, {"resources": [Resource("/x/**", METHODS, white_list=True)]}, "GET /a", Reason.ACCESS),
        ({}, {"rewrites": (("^/a$", "/b"),)}, "GET /a", Reason.RULES),
        ({}, {"rewrites": (("^/a$", "/../b"),)}, "GET /a", Reason.RULES),
        ({}, {"bucket": Bucket("other")}, "GET /a", Reason.BUCKET),
        ({}, {"bucket": Bucket("files", "v2/")}, "GET /a", Reason.BUCKET),
    ],
)
def test_the_reason_is_the_first_part_that_differs(make_site, old, new, line, expected):
    """The order is that of a decision: mount, method, access, rules, bucket, actions."""
    method, path = line.split()
    sides = []
    for options in (old, new):
        rewrites = options.pop("rewrites", ())
        mounts = Mounts([make_site(*rewrites, **options)])
        sides.append(simulate(mounts, read_request(path, method), User("ann")))
    assert reason(*sides) is expected


def test_a_page_without_a_target_is_mounted_too(make_site):
    """The page of a provider, and the list of targets."""
    provider = OidcProvider("id", GuardedUrl("https://id.example"), "me")
    page = TargetList(enabled=True, mount=Mount(paths=("/list/",)))
    with_page = Mounts([make_site(mount="/m/")], [provider], page)
    without = Mounts([make_site(mount="/m/")])
    for path in (next(iter(with_page.provider_pages)), "/list/"):
        old, new = (simulate(mounts, read_request(path), None) for mounts in (without, with_page))
        assert reason(old, new) is Reason.MOUNT
