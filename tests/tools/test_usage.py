import json
from pathlib import Path
from textwrap import dedent

from jsonschema import Draft202012Validator
from rule_sites import read_request_log, requests, site

from tornado_proxy.routing.mounts import Mounts
from tornado_proxy.tools.explain import UsageReport, count_usage, usage_json, usage_text
from tornado_proxy.tools.simulator import LoggedRequest, RequestDefaults, Simulator

COUNTED_RULES = r"""
    rewrite `^/old/` -> "/new"
    rewrite `^/dots$` -> "/../x"
"""


def _usage(*addresses):
    return count_usage(
        Simulator(Mounts([site(COUNTED_RULES)]), RequestDefaults()), requests(*addresses), lambda part: None
    )


def test_requests_are_counted_by_their_rewrites():
    """Repeated requests count each time, and requests without a rewrite have the number None."""
    usage = _usage("/old/a", "/old/a", "/old/b", "/else")
    assert usage.rewrites == {("site", 1): 3, ("site", None): 1}
    assert usage.unmatched == {("site", "/else"): 1}


def test_a_failing_rewrite_counts_as_used_and_as_an_error():
    """The rewrite matched and the client got an error, with the path as the example."""
    usage = _usage("/dots", "/dots")
    error = (400, "the result contains a `.` or `..` segment")
    assert usage.rewrites == {("site", 2): 2}
    assert usage.errors == {error: 2}
    assert usage.examples == {error: "/dots"}


def test_a_path_that_the_service_could_not_decode_is_refused(tmp_path):
    """It had no target when it was logged, and has no target when it is simulated."""
    log = tmp_path / "access.log"
    log.write_text("method=GET path=/%zz status=400 sent=9\nmethod=GET path=/a%0ab status=400 sent=9\n")
    usage = count_usage(
        Simulator(Mounts([site(COUNTED_RULES)]), RequestDefaults()), read_request_log(log), lambda part: None
    )
    assert usage.rewrites == {}
    assert [status for status, _ in usage.errors] == [400, 400]


def test_uploads_are_excluded_and_counted():
    """Their keys are unknown, since a log doesn't have the names of uploaded files."""
    log = requests()
    log.requests[LoggedRequest("/a/", "PUT")] = 3
    usage = count_usage(Simulator(Mounts([site(COUNTED_RULES)]), RequestDefaults()), log, lambda part: None)
    assert (usage.left_out, usage.rewrites) == (3, {})


SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "requests.json"

RULES = r"""
    rewrite press `^/press/` -> "/archive/all.html"
    rewrite `^/never$` -> "/x"
    rewrite `^/dots$` -> "/../x"
"""


def _report(*addresses, top=10, strange=0):
    sites, log = [site(RULES)], requests(*addresses)
    log.requests.update({LoggedRequest("/up/", "PUT"): 2} if strange else {})
    log.strange, log.first_strange = strange, 7 if strange else None
    return UsageReport(
        sites, log, count_usage(Simulator(Mounts(sites), RequestDefaults()), log, lambda part: None), top
    )


def test_an_unused_rewrite_is_shown():
    """Every rewrite has its line, with its share of the target's requests."""
    assert usage_text(_report("/press/a", "/press/b", "/press/b", "/else")) == dedent("""\
        requests    4, 3 distinct

        target      site: 4 requests
        rewrites            3   75.0 %  press  ^/press/  site.rules:3:5
                            0    0.0 %  #2     ^/never$  site.rules:4:5
                            0    0.0 %  #3     ^/dots$   site.rules:5:5
        no rewrite          1   25.0 %
                            1  /else
        """)


def test_paths_without_a_rewrite_are_listed_by_frequency():
    """The number of paths is limited, and equally frequent ones are sorted by name."""
    report = _report("/c", "/b", "/b", "/a", top=2)
    assert report.unmatched("site") == [("/b", 2), ("/a", 1)]


def test_refusals_are_listed_with_an_example():
    """The number of reasons is limited, and the others are counted."""
    text = usage_text(_report("/dots", "/dots", "/a/../b", "nonsense", top=1))
    assert (
        "refused             2  400  the result contains a `.` or `..` segment  for example /dots\n"
        "                       2 more reasons\n"
    ) in text


def test_lines_without_a_request_and_uploads_are_reported():
    """The report has the number of each and the first line without a request."""
    header = usage_text(_report("/a", strange=2)).split("\n\n")[0]
    assert header == dedent("""\
        requests    3, 2 distinct
                    2 lines without a request; the first is line 7
                    2 left out: a log does not contain the name of an uploaded file""")


def test_all_shares_of_an_empty_log_are_zero():
    """Shares of no requests are 0 %."""
    assert "  0    0.0 %  press" in usage_text(_report())


def test_the_json_report_obeys_its_schema():
    """`docs/schemas/requests.json` describes the whole report."""
    report = usage_json(_report("/press/a", "/dots", "/else", strange=1))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(report)
    assert [rewrite["requests"] for rewrite in report["targets"][0]["rewrites"]] == [1, 0, 1]
