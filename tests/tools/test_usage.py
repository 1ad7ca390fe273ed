from rule_sites import requests, site, traffic_of

from tornado_proxy.tools.asking import Asker, Given
from tornado_proxy.tools.traffic import Request
from tornado_proxy.tools.usage import Usage, count_usage

RULES = r"""
    rewrite `^/old/` -> "/new"
    rewrite `^/dots$` -> "/../x"
"""


def _usage(*addresses):
    return count_usage(Asker([site(RULES)], Given()), requests(*addresses), lambda part: None)


def test_requests_are_counted_by_their_rewrites():
    """Each request counts, not each different one; None stands for no rewrite."""
    usage = _usage("/old/a", "/old/a", "/old/b", "/else")
    assert usage.rewrites == {("site", 1): 3, ("site", None): 1}
    assert usage.unmatched == {("site", "/else"): 1}


def test_a_failing_rewrite_counts_for_itself_and_as_a_refusal():
    """It took the key, and the client got an error; the example is a path."""
    usage = _usage("/dots", "/dots")
    refusal = (400, "the result contains a `.` or `..` segment")
    assert usage.rewrites == {("site", 2): 2}
    assert usage.refused == {refusal: 2}
    assert usage.examples == {refusal: "/dots"}


def test_a_path_that_our_own_log_could_not_decode_is_refused(tmp_path):
    """It never came to a target, and comes to none when it is asked for again."""
    log = tmp_path / "access.log"
    log.write_text("method=GET path=/%zz status=400 sent=9\nmethod=GET path=/a%0ab status=400 sent=9\n")
    usage = count_usage(Asker([site(RULES)], Given()), traffic_of(log), lambda part: None)
    assert usage.rewrites == {}
    assert [status for status, _ in usage.refused] == [400, 400]


def test_uploads_are_left_out_and_counted():
    """Nothing can be said of them."""
    traffic = requests()
    traffic.requests[Request("/a/", "PUT")] = 3
    usage = count_usage(Asker([site(RULES)], Given()), traffic, lambda part: None)
    assert (usage.left_out, usage.rewrites) == (3, {})


def test_counts_add_up():
    """The first example stays."""
    one, two = _usage("/old/a", "/else", "/a/../b"), _usage("/old/a", "/c/../d")
    whole = Usage()
    whole.add(one)
    whole.add(two)
    assert whole.rewrites == {("site", 1): 2, ("site", None): 1}
    assert list(whole.refused.values()) == [2]
    assert list(whole.examples.values()) == ["/a/../b"]
