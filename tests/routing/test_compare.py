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
TRYING = Actions(get=GetAction(try_files=("$path", "$path.html")))
READ_ONLY = Actions()
ISOLATED = Actions(get=GetAction(user_isolation=True))
SIGNED = Actions(get=GetAction(redirect_to_signed_url=True))


def _staff(*users):
    return Resource("/**", METHODS, provider="staff", users=users)


def _decided(site, line="GET /a"):
    method, path = line.split()
    return simulate(Mounts([site]), read_request(path, method), None)


def test_a_file_has_a_key_that_must_exist(make_site):
    """A directory without its index document is listed."""
    indexed = Actions(get=GetAction(index_document="index.html"))
    assert served_key(_decided(make_site(("^/a$", "/b")))) == "b"
    assert served_key(_decided(make_site(actions=SIGNED))) == "a"
    assert served_key(_decided(make_site(actions=indexed), "GET /d/")) is None
    assert served_key(_decided(make_site(mount="/m/"))) is None
    assert served_key(_decided(make_site(actions=TRYING))) is None


def _sites(make_site, *options):
    """The mounts of a site for each of these options."""
    return [Mounts([_site(make_site, **each)]) for each in options]


def _site(make_site, rewrites=(), **options):
    return make_site(*rewrites, **options)


MOVED, FAILING = {"rewrites": (("^/a$", "/b"),)}, {"rewrites": (("^/a$", "/../b"),)}


@pytest.mark.parametrize(
    ("old", "new", "line", "kind"),
    [
        (MOVED, MOVED, "GET /a", Kind.SAME),
        (MOVED, {}, "GET /a", Kind.KEY),
        # The key alone does not tell.
        ({}, {"bucket": Bucket("other")}, "GET /a", Kind.ANSWER),
        # How a bucket is called changes no answer, its prefix does.
        ({"bucket": Bucket("files")}, {"bucket": Bucket("files", read_timeout=1.0)}, "GET /a", Kind.SAME),
        ({"bucket": Bucket("files")}, {"bucket": Bucket("files", "v2/")}, "GET /a", Kind.KEY),
        # A redirect to the slash of a mount, and a refusal, need no bucket.
        *(
            ({"mount": "/m/"}, {"mount": "/m/", "bucket": Bucket("x")}, each, Kind.SAME)
            for each in ("GET /m", "DELETE /m/")
        ),
        ({}, {"mount": "/m/"}, "GET /a", Kind.ANSWER),
        ({"mount": "/m/"}, {"mount": "/n/"}, "GET /a", Kind.SAME),
        ({}, {"actions": SIGNED}, "GET /a", Kind.ANSWER),
        ({}, FAILING, "GET /a", Kind.ERROR),
        (FAILING, FAILING, "GET /a", Kind.SAME),
        (FAILING, {}, "GET /a", Kind.ANSWER),
    ],
)
def test_two_decisions_differ_by_what_a_client_sees(make_site, old, new, line, kind):
    """By the key, by another answer, or by an error that was none before."""
    method, path = line.split()
    sides = [simulate(mounts, read_request(path, method), None) for mounts in _sites(make_site, old, new)]
    assert difference(*sides) is kind


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
    sides = [simulate(mounts, read_request(path, method), User("ann")) for mounts in _sites(make_site, old, new)]
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
