import json
from pathlib import Path
from textwrap import dedent

from jsonschema import Draft202012Validator
from rule_sites import requests, site

from tornado_proxy.tools.asking import Asker, Given
from tornado_proxy.tools.traffic import Request
from tornado_proxy.tools.usage import count_usage
from tornado_proxy.tools.usage_report import Report, to_json, to_text

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "requests.json"

RULES = r"""
    rewrite press `^/press/` -> "/archive/all.html"
    rewrite `^/never$` -> "/x"
    rewrite `^/dots$` -> "/../x"
"""


def _report(*addresses, top=10, strange=0):
    where, traffic = [site(RULES)], requests(*addresses)
    traffic.requests.update({Request("/up/", "PUT"): 2} if strange else {})
    traffic.strange, traffic.first_strange = strange, 7 if strange else None
    return Report(where, traffic, count_usage(Asker(where, Given()), traffic, lambda part: None), top)


def test_a_rewrite_that_is_never_taken_is_shown():
    """Every rewrite has its line, with its share of the target's requests."""
    assert to_text(_report("/press/a", "/press/b", "/press/b", "/else")) == dedent("""\
        requests    4, 3 of them different

        target      site: 4 requests
        rewrites            3   75.0 %  press  ^/press/  site.rules:3:5
                            0    0.0 %  #2     ^/never$  site.rules:4:5
                            0    0.0 %  #3     ^/dots$   site.rules:5:5
        no rewrite          1   25.0 %
                            1  /else
        """)


def test_paths_without_a_rewrite_are_listed_by_how_often_they_were_asked_for():
    """As many as are asked for; among equals in the order of their names."""
    report = _report("/c", "/b", "/b", "/a", top=2)
    assert report.unmatched("site") == [("/b", 2), ("/a", 1)]


def test_refusals_are_listed_with_an_example():
    """What is left over is counted."""
    text = to_text(_report("/dots", "/dots", "/a/../b", "nonsense", top=1))
    assert (
        "refused             2  400  the result contains a `.` or `..` segment  such as /dots\n"
        "                       2 more reasons\n"
    ) in text


def test_lines_without_a_request_and_uploads_are_told():
    """Nothing is dropped in silence."""
    told = to_text(_report("/a", strange=2)).split("\n\n")[0]
    assert told == dedent("""\
        requests    3, 2 of them different
                    2 lines hold no request; the first is line 7
                    2 left out: the name of an upload's file is in no log""")


def test_a_log_without_requests_has_no_shares():
    """Nothing of nothing is no part."""
    assert "  0    0.0 %  press" in to_text(_report())


def test_the_json_form_obeys_its_schema():
    """docs/schemas/requests.json describes all of it."""
    told = to_json(_report("/press/a", "/dots", "/else", strange=1))
    Draft202012Validator(json.loads(SCHEMA.read_text())).validate(told)
    assert [each["requests"] for each in told["targets"][0]["rewrites"]] == [1, 0, 1]
