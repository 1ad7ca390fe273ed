"""Files of Netlify, Cloudflare and S3 that cannot be read, and what a line has; how they answer is tested end to end."""

from __future__ import annotations

import pytest
from conversions import converted_redirects

from tornado_proxy.tools.convert.options import OptionOutcome, Unreadable


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><RoutingRules>&b;</RoutingRules>", "`file` has a document type"),
        ("<RoutingRules>", "`file` is not XML: no element found"),
        ("<RoutingRules>" + "<!--" * 100_000, "`file` is not XML: "),
        ("[1, 2", "`file`: "),
        ('{"IndexDocument": {"Suffix": "index.html"}}', "it is neither the website configuration of a bucket nor"),
    ],
)
def test_a_file_of_s3_that_cannot_be_read_has_a_reason(text, message):
    with pytest.raises(Unreadable) as raised:
        converted_redirects(text, origin="s3")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("/a /b 200", "it hides a file at this path, which Netlify would serve"),
        ("/a /b.html 410!", "its page `/b.html` is not shown"),
    ],
)
def test_a_line_of_netlify_that_differs_is_converted_with_a_remark(text, message):
    rules, _, report = converted_redirects(text, origin="netlify")
    assert rules.rewrites
    assert [each.message for each in report.of(OptionOutcome.CHANGED)] == [message]


@pytest.mark.parametrize(
    ("origin", "text", "message"),
    [
        ("netlify", "/alone", "it is not a path, where it leads, and perhaps a status"),
        ("netlify", "/*.html /x", "it is for a host, or `*` is not the last segment, or `:name` not a whole one"),
        ("netlify", "/a //example.org/", "the result begins with `//`, which would name a host"),
        ("cloudflare", "/a /b 404", "it answers with 404"),
        ("cloudflare", "/*/* /b", "it is for a host, or has several `*`"),
        ("s3", '[{"Redirect": {"HttpRedirectCode": "404", "ReplaceKeyWith": "a"}}]', "it answers with 404"),
        ("list", "/a /b 200", "it is not a path, where it leads, and perhaps a status"),
    ],
)
def test_a_line_that_cannot_be_expressed_has_a_reason(origin, text, message):
    _, _, report = converted_redirects(text, origin=origin)
    assert [each.message for each in report.of(OptionOutcome.LEFT_OUT)] == [message]


def test_a_redirect_of_everything_may_be_json():
    """As `aws s3api get-bucket-website` prints it."""
    text = '{"RedirectAllRequestsTo": {"HostName": "example.org", "Protocol": "https"}}'
    rules, _, report = converted_redirects(text, origin="s3")
    assert (str(rules.rewrite("/a").moved), report.complete) == ("redirect 301 https://example.org/a", True)


def test_an_entry_that_an_earlier_one_covers_is_never_used():
    """It is so in the file, too."""
    rules, _, report = converted_redirects("/a/* /b\n/a/:x/* /c\n/:x/* /d\n", origin="cloudflare")
    assert (len(rules.rewrites), report.complete) == (2, True)
    (remark,) = report.of(OptionOutcome.ADAPTED)
    assert remark.message == "never used: the entry at file:1 takes its addresses first"


def test_a_host_without_a_scheme_is_a_remark():
    """S3's endpoint for websites is reached without TLS only."""
    rules, _, report = converted_redirects('[{"Redirect": {"HostName": "example.org"}}]', origin="s3")
    assert str(rules.rewrite("/a").moved) == "redirect 301 http://example.org/a"
    assert not report.complete
