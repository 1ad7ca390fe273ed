import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.config.model import Bucket, Resource
from tornado_proxy.routing.access import Anyone
from tornado_proxy.routing.plan import Serve
from tornado_proxy.routing.trace import RequestTrace, RuleFailure, RuleOutcome, trace
from tornado_proxy.templates.template import MissingUserError, RenderError

OPEN = Resource("/open/**", white_list=True)
REST = Resource("/**", provider="staff")
FOLDER = Bucket("bucket", prefix="folder1/")


@pytest.fixture(scope="session")
def traced(decided, site):
    """What the rules of pairs make of a path."""
    return lambda path, *pairs: trace(decided(site(*pairs, bucket=FOLDER), f"GET {path}")).rewriting


def test_every_rewrite_is_shown_until_one_matches(traced):
    """Those before the one that matched did not match; those after it were not tried."""
    found = traced("/b", ("^/a", "/1"), ("^/(b)", "/2$1"), ("^/b", "/3"))
    outcomes = [RuleOutcome.NO_MATCH, RuleOutcome.MATCHED, RuleOutcome.NOT_TRIED]
    assert [each.outcome for each in found.attempts] == outcomes
    assert found.matched.rewrite.label == "#2"
    assert found.matched.captures.groups == ("/b", "b")
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
        ("/../x", "/../x", RuleFailure(400, "the result contains a `.` or `..` segment")),
        (MissingUserError("it reads the user"), None, RuleFailure(403, "it reads the user")),
        (RenderError("it fails"), None, RuleFailure(500, "it fails")),
        ("/" + "x" * 1018, "/" + "x" * 1018, RuleFailure(400, "the object key is longer than 1024 bytes")),
    ],
    ids=["refused", "missing user", "failed", "too long"],
)
def test_a_failure_is_shown_with_its_status(traced, scripted, outcome, result, failure):
    """Where the way ends early, the trace has what was made so far and the status that answers."""
    found = traced("/a", (".", scripted(outcome)))
    assert (found.result, found.failure, found.object_key) == (result, failure, None)
    assert found.matched.captures.groups == ("/",)


@given(st.lists(st.sampled_from(["a", "^/b", "c$", "/", "x"]), max_size=5), st.text("/abcx", max_size=6))
def test_the_trace_shows_what_the_rules_do(decided, site, sources, rest):
    """A rewrite that is shown as not matching does not match, and the one that is shown as matching does."""
    found = trace(decided(site(*((source, f"/{number}") for number, source in enumerate(sources))), f"GET /{rest}"))
    for each in found.rewriting.attempts if found.rewriting else ():
        if each.outcome is not RuleOutcome.NOT_TRIED:
            assert each.captures == each.rewrite.pattern.search(f"/{rest}")


def test_a_request_is_followed_to_its_plan(decided, site):
    """The trace of a request has its access, its rewriting and the decision with target and plan."""
    found = trace(decided(site(("^/a$", "/b"), bucket=FOLDER, mount="/m/"), "GET /m/a"))
    assert (found.decision.match.mount, found.decision.match.key) == ("/m/", "/a")
    assert [(each.path, each.covering, each.guard) for each in found.checks] == [("/m/a", (), Anyone())]
    assert found.rewriting.object_key == "folder1/b"
    assert found.decision.plan[0] == Serve("folder1/b")


def test_a_request_that_ends_early_has_no_rewriting(decided, site):
    """Where no target is mounted there is nothing to show, and where a method is refused no rule was asked."""
    nowhere, refused = decided(site(mount="/m/"), "GET /x"), decided(site(), "POST /x")
    assert trace(nowhere) == RequestTrace(nowhere)
    assert trace(refused) == RequestTrace(refused)


def test_an_overlap_is_shown(decided, site):
    """Every resource that covers the path is listed, the one that decides first."""
    found = trace(decided(site(resources=[OPEN, REST]), "GET /open/a"))
    assert found.checks[0].covering == (OPEN, REST)
    assert found.checks[0].guard == Anyone()
