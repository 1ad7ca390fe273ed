"""Files that redirect, as rules: their order, their lists, their limits. How they answer is tested end to end."""

from __future__ import annotations

import re
from contextlib import suppress

from conversions import converted_redirects
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.rules.expectations import evaluate
from tornado_proxy.tools.convert.hosting import READERS
from tornado_proxy.tools.convert.options import OptionOutcome, Unreadable

_SOURCES = st.sampled_from(["/a", "/b", "/a/", "/a/b", "/b/c", "/*", "/a/*", "/:x/b", "/b/:x", "/a*"])
_STATUSES = st.sampled_from([301, 302, 308])


def _model(lines, key):
    """The status and the place of the first line that takes a key, as Cloudflare has it."""
    for source, result, status in lines:
        start, star, _ = source.partition("*")
        segments, asked = source.split("/"), key.split("/")
        named = len(segments) == len(asked) and all(
            each == other or (each == ":x" and other) for each, other in zip(segments, asked, strict=True)
        )
        if key.startswith(start) if star else named:
            return f"redirect {status} {result}"
    return None


@given(st.lists(st.tuples(_SOURCES, st.sampled_from(["/x", "/y#z", "https://example.org/"]), _STATUSES), max_size=30))
def test_the_first_line_decides_whether_or_not_it_is_in_a_list(lines):
    """Exact addresses that go to a list neither gain nor lose by it."""
    text = "".join(f"{source} {result} {status}\n" for source, result, status in lines) + "/last /x 301\n"
    for lists in (True, False):
        rules, _, report = converted_redirects(text, origin="cloudflare", lists=lists)
        assert report.complete
        for key in ("/a", "/b", "/a/", "/a/b", "/b/c", "/b/b", "/ab", "/c", "/last"):
            moved = rules.rewrite(key).moved
            assert (str(moved) if moved else None) == _model([*lines, ("/last", "/x", 301)], key)


def test_many_exact_addresses_are_a_list_with_its_most_frequent_status():
    """A few stand as statements; a list has tests of some of its lines."""
    few, none, _ = converted_redirects(
        "".join(f"/{number} /x\n" for number in range(10)), origin="netlify", lists=False
    )
    assert (none, len(few.lists)) == ([], 0)
    lines = "".join(f"/p%20{number} /x{' 302' if number == 7 else ''}\n" for number in range(50))
    text = f"/p%20{{}}/* /y\n{lines}/p%203 /never\n/* /rest\n"
    rules, lists, report = converted_redirects(text, origin="netlify")
    assert (lists, len(rules.lists), len(rules.tests)) == (["site-moved.txt"], 1, 22)
    assert [str(rules.rewrite(key).moved) for key in ("/p 7", "/p 8/")] == ["redirect 302 /x", "redirect 301 /x"]
    (remark,) = report.of(OptionOutcome.ADAPTED)
    expected = (52, "never used: the entry at file:5 takes its addresses first")
    assert (remark.place.first.line, remark.message) == expected


def test_without_a_place_for_lists_every_address_is_a_statement():
    rules, lists, _ = converted_redirects(
        "".join(f"/{number} /x\n" for number in range(20)), origin="cloudflare", lists=False
    )
    assert (lists, len(rules.rewrites)) == ([], 20)


_WORDS = st.sampled_from(
    ["/a", "/a/", "/b/*", "/:x/y", "/x?y", "/a#b", "*", "//", "/%zz", "/é", "/", "^/a(.*)$", "^a(b)?$", ".*", "^", "(", "[",
     "(?=x)", "^/a|b", "\\", "$1", "/$0", "/$9", "$uri", "$request_uri", "$new", "$host", "https://a.test/$1", "http://", "-",
     "a", "\x01", "301", "404", "410", "{", "}", ";", '"', "'", "", "<x"]
)  # fmt: skip
_TEMPLATES = {
    "nginx": ["return 301 {};", "return 410;", "rewrite {} {} permanent;", "rewrite {} {} last;", "return {};", "{} {};",
              "location = {} {{ return 302 {}; }}", "location ~ {} {{ rewrite {} {} redirect; }}", "location ^~ {} {{ }}",
              "map $uri $new {{ {} {}; ~{} {}; default {}; }}", "if ($new) {{ return 308 {}; }}", "server {{ return {} {}; }}"],
    "apache": ["Redirect {} {}", "Redirect gone {}", "RedirectMatch 301 {} {}", "RewriteRule {} {} [R,L]", "{} {}", "<{}>", "</{}>",
               "RewriteRule {} {} [NC,R=301,NE]", "RewriteRule {} {} [G]", "RewriteRule {} {} [L]", "RewriteCond {} !-f"],
    "s3": ["<RoutingRule><KeyPrefixEquals>{}</KeyPrefixEquals><ReplaceKeyWith>{}</ReplaceKeyWith></RoutingRule>", "<{}/>",
           '[{{"Redirect": {{"ReplaceKeyPrefixWith": "{}", "HostName": "{}"}}}}]', "{}"],
}  # fmt: skip
_COLUMNS = ["{} {}", "{} {} 301!", "{} {} 200!", "{} {} 410", "{}\t{}\t302", "{} {} {} {}", "{}"]


@given(st.data(), st.sampled_from([*READERS]))
def test_any_text_is_converted_or_refused(data, origin):
    """What is written always loads, and its tests pass."""
    lines = data.draw(st.lists(st.sampled_from(_TEMPLATES.get(origin, _COLUMNS)), max_size=12))
    text = "\n".join(
        re.sub(r"\{\}", lambda _: data.draw(_WORDS), line).replace("{{", "{").replace("}}", "}") for line in lines
    )
    with suppress(Unreadable):
        rules, _, _ = converted_redirects(text, origin=origin)
        assert [each for each in rules.tests if not evaluate(rules, each).passed] == []
