"""Two decisions about one request: how they differ, and by which part of the configuration."""

import pytest

from tornado_proxy.config.actions import Actions, GetAction
from tornado_proxy.config.model import Bucket, Mount, TargetList
from tornado_proxy.config.providers import BasicUser, OidcProvider, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.config.values import GuardedUrl
from tornado_proxy.routing.compare import (
    KeptRequest,
    Kind,
    Reason,
    demands,
    difference,
    reads_unkept,
    reason,
    served_key,
)
from tornado_proxy.routing.decide import simulate
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.routing.plan import Serve
from tornado_proxy.routing.request import read_request
from tornado_proxy.rules.model import Key
from tornado_proxy.semantics.request import RequestPath, User

ANN = BasicUser("ann", Secret("value", "x"))
BEN = BasicUser("ben", Secret("value", "x"))
METHODS = ("GET", "PUT")


def _staff(*users):
    return Resource("/**", METHODS, provider="staff", users=users)


def _decided(site, line="GET /a"):
    method, path = line.split()
    return simulate(Mounts([site]), read_request(path, method), None)


def _kind(old, new, line="GET /a"):
    return difference(_decided(old, line), _decided(new, line))


def test_the_same_rules_decide_alike(make_site):
    assert _kind(make_site(("^/a$", "/b")), make_site(("^/a$", "/b"))) is Kind.SAME


def test_another_key_is_a_difference(make_site):
    assert _kind(make_site(("^/a$", "/b")), make_site()) is Kind.KEY


def test_another_bucket_is_another_answer(make_site):
    """The key alone does not tell."""
    assert _kind(make_site(), make_site(bucket=Bucket("other"))) is Kind.ANSWER


def test_how_a_bucket_is_called_changes_no_answer(make_site):
    """Its address and its prefix do: another prefix is another key."""
    site = make_site(bucket=Bucket("files"))
    assert _kind(site, make_site(bucket=Bucket("files", read_timeout=1.0))) is Kind.SAME
    assert _kind(site, make_site(bucket=Bucket("files", "v2/"))) is Kind.KEY


def test_an_answer_without_the_bucket_is_the_same_of_another(make_site):
    """A redirect to the slash of a mount, and a refusal."""
    old, new = (make_site(mount="/m/", bucket=Bucket(name)) for name in ("files", "other"))
    assert _kind(old, new, "GET /m") is Kind.SAME
    assert _kind(old, new, "DELETE /m/") is Kind.SAME


def test_a_target_that_is_gone_is_another_answer(make_site):
    assert _kind(make_site(), make_site(mount="/m/")) is Kind.ANSWER
    assert _kind(make_site(mount="/m/"), make_site(mount="/n/")) is Kind.SAME


def test_another_form_of_answer_is_another_answer(make_site):
    """A signed URL instead of the object."""
    assert _kind(make_site(), make_site(actions=SIGNED)) is Kind.ANSWER


def test_a_file_has_a_key_that_must_exist(make_site):
    """A directory without its index document is listed."""
    indexed = Actions(get=GetAction(index_document="index.html"))
    assert served_key(_decided(make_site(("^/a$", "/b")))) == "b"
    assert served_key(_decided(make_site(actions=SIGNED))) == "a"
    assert served_key(_decided(make_site(actions=indexed), "GET /d/")) is None
    assert served_key(_decided(make_site(mount="/m/"))) is None
    assert served_key(_decided(make_site(actions=TRYING))) is None


def test_a_rewrite_that_fails_is_an_error(make_site):
    """One that failed before is not."""
    failing = make_site(("^/a$", "/../b"))
    assert _kind(make_site(), failing) is Kind.ERROR
    assert _kind(failing, failing) is Kind.SAME
    assert _kind(failing, make_site()) is Kind.ANSWER


SIGNED = Actions(get=GetAction(redirect_to_signed_url=True))
ISOLATED = Actions(get=GetAction(user_isolation=True))
READ_ONLY = Actions()
TRYING = Actions(get=GetAction(try_files=("$path", "$path.html")))


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
        ({"actions": TRYING}, {"actions": TRYING, "rewrites": (("^/a.html$", "/b"),)}, "GET /a", Reason.RULES),
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


def test_what_is_demanded_of_a_user_is_told_for_each_check(make_site):
    """An upload to a directory is checked twice; passwords do not count."""
    mounts = Mounts([make_site(resources=[_staff(ANN)])])
    upload = KeptRequest(0.0, "site", "PUT", "", RequestPath("/d/"), Key("/d/a.txt"), signed_in=True)
    assert demands(mounts, upload) == [("staff", ["ann"], (), None)] * 2
    assert len(demands(mounts, upload._replace(method="GET"))) == 1
    assert demands(Mounts(()), upload) == []


@pytest.mark.parametrize(
    ("result", "is_lacking"),
    [
        ("/fixed", False),
        (lambda data: f"/{data.request.method}", False),
        (lambda data: f"/{data.request.raw_query}", True),
        (lambda data: f"/{data.user and data.user.email}", True),
    ],
)
def test_a_rule_may_read_what_is_not_kept(make_site, scripted_template, result, is_lacking):
    """Of a request, its method, host and path are kept; of a user, that there was one."""
    site = make_site((".", scripted_template(result)), resources=[_staff(ANN)])
    decision = simulate(Mounts([site]), read_request("/a"), User("ann"))
    assert reads_unkept(decision) is is_lacking
    assert not reads_unkept(_decided(make_site((".", "/b"))))


def test_the_rule_of_another_address_may_read_what_is_not_kept(make_site, scripted_template):
    """Of `tryFiles`, each address has a rule of its own."""
    reading = scripted_template(lambda data: f"/{data.request.raw_query}x")
    decision = _decided(make_site((r"^/a\.html$", reading), actions=TRYING, mount="/m/"), "GET /m/a")
    assert reads_unkept(decision)
    assert not reads_unkept(_decided(make_site(actions=TRYING)))
    assert not reads_unkept(_decided(make_site(mount="/m/")))


def test_mounts_of_other_sites_keep_the_pages(make_site):
    """With access that lets every user pass, each request is decided whose users passed once."""
    mounts = Mounts([make_site(resources=[_staff(ANN)])], (), TargetList(enabled=True, mount=Mount(paths=("/list/",))))
    site = make_site(resources=[_staff(ANN)])
    site.access = site.access.for_all_users()
    others = mounts.of_sites([site])
    assert others.target_list is not None
    assert simulate(others, read_request("/a"), User("ben")).plan[0] == Serve("a")
