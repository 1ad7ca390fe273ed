"""Requests that a service has kept are decided by two servers, as far as what was kept tells."""

import pytest
from rule_sites import site

from tornado_proxy.config.actions import Actions, GetAction, PutAction
from tornado_proxy.config.model import Bucket, Mount
from tornado_proxy.config.providers import BasicUser, Resource
from tornado_proxy.config.secrets import Secret
from tornado_proxy.routing.compare import KeptRequest, Kind, Reason
from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.tools.diff import Comparison
from tornado_proxy.tools.simulator import RequestDefaults, Simulator, logged

ANN, BEN = (BasicUser(name, Secret("value", "secret")) for name in ("ann", "ben"))
STAFF = {"resources": (Resource("/**", provider="staff", users=(ANN,)),)}
ISOLATED = Actions(get=GetAction(user_isolation=True, user_isolation_admins=("root",)))


def kept(key, path=None, method="GET", *, signed_in=False):
    """A request that a service kept."""
    return KeptRequest(1.0, "site", method, "files.test", path or key, key, signed_in)


def compared(old, new, request):
    """The report on one request; the servers are sites, or statements of a site."""
    servers = (Mounts([site(each) if isinstance(each, str) else each]) for each in (old, new))
    comparison = Comparison(*(Simulator(each, RequestDefaults()) for each in servers), examples=5)
    comparison.add(logged(request), 1)
    return comparison


def kind(old, new, request=None):
    """How the second of two servers answers a request differently."""
    ((found, _),) = compared(old, new, request or kept("/a")).kinds.items()
    return found


def keys(old, new, request=None):
    """Both results for one request that changes."""
    ((_, group),) = compared(old, new, request or kept("/a")).groups
    return group.examples[0].old.text, group.examples[0].new.text


def test_what_an_unedited_rewrite_reads_does_not_matter():
    rules = 'rewrite `^/a$` -> jinja "/{{ request.query.q }}x"'
    assert kind(rules, f'{rules}\nrewrite `^/b$` -> "/c"') is Kind.SAME


def test_another_rewrite_may_give_the_same_key():
    assert kind('rewrite `^/a$` -> "/b"', 'rewrite `^/(a)$` -> "/b"') is Kind.SAME


def test_a_rewrite_that_fails_is_an_error():
    """A key that fails today too is not one."""
    fails = 'rewrite `^/a$` -> "/../b"'
    assert kind('rewrite `^/a$` -> "/b"', fails) is Kind.ERROR
    assert kind(fails, 'rewrite `^/(a)$` -> ""') is Kind.SAME
    assert kind(fails, 'rewrite `^/a$` -> "/b"') is Kind.ANSWER


@pytest.mark.parametrize("read", ["request.headers['X-A']", "request.query.q"])
def test_what_was_not_kept_makes_the_difference_unknown(read):
    """Whichever side reads it."""
    reads = f'rewrite `^/a$` -> jinja "/b{{{{ {read} }}}}"'
    assert kind('rewrite `^/a$` -> "/b"', reads) is Kind.UNKNOWN
    assert kind(reads, 'rewrite `^/a$` -> "/b"') is Kind.UNKNOWN


def test_what_was_kept_can_be_read():
    """Method, host, path, target and whether anybody is signed in are known."""
    read = "/{{ request.method }}{{ request.path }}/{{ request.host }}/{{ target.name }}/{{ 'u' if user else 'n' }}"
    assert keys("", f'rewrite `^/a$` -> jinja "{read}"')[1] == "/GET/a/files.test/site/n"


def test_that_somebody_is_signed_in_is_known_but_not_who():
    """A template may ask whether there is a user; one that reads the name cannot be decided."""
    before, request = site("", **STAFF), kept("/a", signed_in=True)
    asks = site("rewrite `^/a$` -> jinja \"/{{ 'staff' if user else 'public' }}\"", **STAFF)
    assert keys(before, asks, request) == ("/a", "/staff")
    assert kind(before, site('rewrite `^/a$` -> jinja "/{{ user.username }}"', **STAFF), request) is Kind.UNKNOWN


def test_who_may_is_another_answer_for_requests_without_a_user():
    """A service would ask them to sign in."""
    report = compared(site(""), site("", **STAFF), kept("/a"))
    assert [cause.reason for cause, _ in report.groups] == [Reason.ACCESS]
    assert list(report.kinds) == [Kind.ANSWER]


def test_whether_a_user_passes_another_guard_is_unknown():
    """Where nobody has to sign in any more, and where nobody may pass, that is known."""
    request, before = kept("/a", signed_in=True), site("", **STAFF)
    assert kind(before, site("", resources=(Resource("/**", provider="staff", users=(BEN,)),)), request) is Kind.UNKNOWN
    assert kind(before, site(""), request) is Kind.SAME
    assert kind(before, site("", resources=(Resource("/**"),)), request) is Kind.ANSWER


def test_another_password_of_a_user_is_no_other_demand():
    """Only one side may have its secrets, as with `--probe`."""
    resolved = BasicUser("ann", Secret("value", "another"))
    after = site('rewrite `^/a$` -> "/b"', resources=(Resource("/**", provider="staff", users=(resolved,)),))
    assert kind(site("", **STAFF), after, kept("/a", signed_in=True)) is Kind.KEY


def test_the_directory_of_an_isolated_user_names_the_user():
    """A key outside of it is refused; those who may see everything are known by the key of their request."""
    before = site("", actions=ISOLATED, **STAFF)
    leads_out = site('rewrite `a$` -> "/ben/a"', actions=ISOLATED, **STAFF)
    stays = site('rewrite `a$` -> "/ann/b"', actions=ISOLATED, **STAFF)
    request = kept("/ann/a", "/a", signed_in=True)
    assert (kind(before, leads_out, request), kind(before, stays, request)) == (Kind.ANSWER, Kind.KEY)
    assert keys(before, leads_out, kept("/a", signed_in=True)) == ("/a", "/ben/a")


def test_an_upload_has_the_name_of_its_file_in_its_key():
    """The path is that of the directory."""
    before = site("", actions=Actions(put=PutAction(enabled=True)))
    after = site('rewrite `^/in/(.*)$` -> "/out/$1"', actions=Actions(put=PutAction(enabled=True)))
    assert keys(before, after, kept("/in/a.txt", "/in/", "PUT")) == ("/in/a.txt", "/out/a.txt")


def test_another_mount_or_bucket_is_another_answer():
    moved, renamed = site("", mount=Mount("", ("/m/",))), site("", bucket=Bucket("other"))
    assert (kind(site(""), moved), kind(site(""), renamed)) == (Kind.ANSWER, Kind.ANSWER)
