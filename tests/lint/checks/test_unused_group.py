import pytest
from linting import findings, fixed, places

from tornado_proxy.lang.diagnostic import Safety

NAME = "unused-group"


@pytest.mark.parametrize(
    ("source", "template"),
    [
        ("^/(?P<page>.*)$", "`/$page`"),
        ("^/(?P<page>.*)$", "`/$1`"),
        ("^/(?P<page>.*)$", "`/x$0`"),
        ("^/(?P<all>(?P<page>.)/.*)$", "`/$all`"),
        ("^/(de|en)/a$", "`/a`"),
        ("^/(?:x/)?(a)*$", "`/a`"),
        ("^/(?P<page>.*)$", "jinja `/{{ groups.page }}`"),
        ("^/(?P<page>.*)$", "jinja `/{% set g = groups %}{{ g.page }}`"),
        ("^/(?P<page>.*)$", "go `/{{ .Groups.page }}`"),
        ("^/(?P<page>.*)$", "go `/{{ range .Groups }}{{ . }}{{ end }}`"),
        ("^/(?P<page>.*)$", "`/{{ groups.page }}`"),
        ("^/(?P<page>.*)$", "`/$pgae`"),
        ("^/k/(?P<page>.*)$", "jinja `/x/{{ key }}`"),
        ("^/k/(?P<page>.*)$", "jinja `/x{{ request.path }}`"),
        ("^/k/(?P<page>.*)$", "go `/x{{ .Key | lower }}`"),
        ("^/k/(?P<page>.*)$", "go `/x{{ .Request.URL.Path }}`"),
        ("^/(?P<page>.*)$", "`/${page`"),
        ("^/(?P<page>.*)$", "`/{page}`"),
        ("^/(?P<page>.*)$", r"`/\2`"),
        ("^/(?P<a>.)(?P<page>.*)$", "`/$a/%2`"),
        ("^/(?P<page>.*)$", "jinja `/$page`"),
        ("^/(?P<page>.*)$", "go `/$1`"),
    ],
)
def test_groups_that_are_used_or_hold_together(source, template):
    """Used groups, alternatives, repetitions, and all that cannot be known for certain are left alone."""
    assert places(NAME, f"rewrite `{source}` -> {template}") == []


@pytest.mark.parametrize(
    ("source", "template", "unused"),
    [
        ("^/(?P<page>.*)$", "`/x`", ["(?P<page>.*)"]),
        ("^/(?<page>de|en)/(.*)$", "`/$2`", ["(?<page>de|en)"]),
        ("^/([^/]+)/(.*)$", "`/$2`", ["([^/]+)"]),
        ("^/(?P<page>.*)$", "jinja `/{{ user.groups }}`", []),
        ("^/(?P<page>.*)$", "jinja `/{{ user.username }}`", ["(?P<page>.*)"]),
        ("^/(?P<page>.*)$", "go `/x{{ .User.Username }}`", ["(?P<page>.*)"]),
        ("^/(?P<key>.)/(?P<page>.*)$", "jinja `/key/{{ groups.key }}`", ["(?P<page>.*)"]),
    ],
)
def test_groups_that_the_template_never_names(source, template, unused):
    """A named group, or one that serves no other purpose, is found where the template does not use it."""
    assert places(NAME, f"rewrite `{source}` -> {template}") == unused


@pytest.mark.parametrize(
    ("source", "template", "after", "safety"),
    [
        ("^/(?P<a>.)$", "/x", "^/(?:.)$", Safety.SAFE),
        ("^/(?<a>.)(?P<b>.)$", "/$b", "^/(?:.)(?P<b>.)$", Safety.SAFE),
        ("^/(.)(.)$", "/$2", "^/(?:.)(.)$", Safety.UNSAFE),
    ],
)
def test_capturing_nothing_is_safe_unless_numbers_move(source, template, after, safety):
    """The fix keeps the group without its name; numbers of later groups would change."""
    statement = f"rewrite `{source}` -> `{template}`"
    assert [fix.safety for fix in findings(NAME, statement)[0].fixes] == [safety]
    assert fixed(NAME, statement).startswith(f"rewrite `{after}`")
