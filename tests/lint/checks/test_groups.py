import pytest
from linting import block, findings, fixed, marked_texts, report

from tornado_proxy.rules.diagnostic import Safety

UNKNOWN_GROUP = "unknown-group"
UNUSED_GROUP = "unused-group"


@pytest.mark.parametrize(
    "template",
    [
        *("/$1/$page", "/${1}x/$0", "/$$page", "/$", "/price$", "/a\\b", "/$${page", "/${", "/${-}"),
        *("/{slug}", "/{{page}}", "/$(slug)", "/%2", "/%1A", "/$$(page)", "/$$&", "/$page{x}", "/100%"),
    ],
)
def test_existing_groups_have_no_finding(template):
    """References by name and number, the whole match, and dollars that refer to no group have no finding."""
    assert marked_texts(UNKNOWN_GROUP, f"rewrite `^/(?P<page>.*)$` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message", "help"),
    [
        ("^/(.*)$", "/$1x", "`$1x` refers to the group `1x`, which the source does not have", "write `${1}x`"),
        ("^/(?P<page>.*)$", "/$page_old", "`$page_old` refers to the group `page_old`, which the source does not have", "write `${page}_old`"),
        ("^/(?P<page>.*)$", "/$pgae", "the source has no group `pgae`, so this is always empty", "did you mean `${page}`?"),
        ("^/(?P<page>.*)$", "/${slug}", "the source has no group `slug`, so this is always empty", "the source has the group `page`"),
        ("^/(.)(.)$", "/$3", "the source has no group `3`, so this is always empty", "the source has the groups `1` and `2`"),
        ("^/.*$", "/$1", "the source has no group `1`, so this is always empty", "the source has no group: capture the part that you want to keep with `(?P<name>…)`"),
        ("^/(.*)$", r"/\1", r"`\1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<a>.*)$", r"/\g<a>", r"`\g<a>` is text here, not a reference to a group", "write `${a}`"),
        ("^/(?P<page>.*)$", "/${page", "`${page` is text here, not a reference to a group", "write `${page}`"),
        ("^/.*$", r"/\1", r"`\1` is text here, not a reference to a group", "the source has no group: capture the part that you want to keep with `(?P<name>…)`"),
        ("^/(?P<page>.*)$", "/$(page)", "`$(page)` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{page}", "`{page}` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{1}", "`{1}` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/%1", "`%1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/x$&", "`$&` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", r"/x\0", r"`\0` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", "/$1${page-x}", "`${page` is text here, not a reference to a group", "write `${page}`"),
    ],
)  # fmt: skip
def test_a_missing_group_is_reported(source, template, message, help):
    """The message explains the reference, and the help suggests the intended one."""
    (finding,) = findings(UNKNOWN_GROUP, f"rewrite `{source}` -> `{template}`")
    assert (finding.message, finding.help) == (message, help)


@pytest.mark.parametrize(
    ("template", "expected"),
    [("/$1x", "/${1}x"), ("/$pgae", "/${page}"), (r"/\1", "/${1}"), ("/${page", "/${page}"), ("/${slug}", "/${slug}")],
)
def test_the_fix_writes_the_intended_reference(template, expected):
    """The fix writes the group in braces, if it is certain which one."""
    text = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(UNKNOWN_GROUP, f"{text}`{template}`") == f"{text}`{expected}`"


def test_a_bad_escape_is_reported_once():
    """A bad escape is a diagnostic of the parser, and the check doesn't repeat it."""
    diagnostics = report(site=block(r'rewrite `^/a/(.*)$` -> "/b/\1"'), check=UNKNOWN_GROUP).diagnostics
    assert [(diagnostic.code, diagnostic.help) for diagnostic in diagnostics] == [
        ("bad-escape", "write `${1}` in a plain template for what the group captured")
    ]


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/$2/$slug/$$1/${slug}`",
        "jinja `/{# $page #}{% set a = '$page' %}{{ '$1' }}`",
        "go `/{{ $page := .Key }}{{ $page }}`",
        "go `/$2`",
    ],
)
def test_dollars_in_other_dialects_have_no_finding(template):
    """A template of another dialect may contain dollars that name no group, in its text or in its braces."""
    assert marked_texts(UNKNOWN_GROUP, f"rewrite `^/(?P<page>.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("jinja `/$1`", "jinja `/{{ groups[1] }}`"),
        ("jinja `/${page}`", "jinja `/{{ groups.page }}`"),
        ('jinja "/$page"', 'jinja "/{{ groups.page }}"'),
        (r"jinja `/\1`", "jinja `/{{ groups[1] }}`"),
        (r"go `/\g<page>{{ .Key }}`", "go `/{{ .Groups.page }}{{ .Key }}`"),
        ("go `/$1`", 'go `/{{ index .Groups "1" }}`'),
    ],
)
def test_a_plain_reference_in_another_dialect_is_replaced(template, expected):
    """The fix writes the reference of the dialect, because a dollar outside braces is text."""
    statement = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(UNKNOWN_GROUP, statement + template) == statement + expected


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
def test_used_and_necessary_groups_have_no_finding(source, template):
    """Used groups, alternatives, repetitions, and groups whose use is uncertain have no finding."""
    assert marked_texts(UNUSED_GROUP, f"rewrite `{source}` -> {template}") == []


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
def test_an_unused_group_is_reported(source, template, unused):
    """A named group, or one without another purpose, is reported if the template doesn't use it."""
    assert marked_texts(UNUSED_GROUP, f"rewrite `{source}` -> {template}") == unused


@pytest.mark.parametrize(
    ("source", "template", "expected", "safety"),
    [
        ("^/(?P<a>.)$", "/x", "^/(?:.)$", Safety.SAFE),
        ("^/(?<a>.)(?P<b>.)$", "/$b", "^/(?:.)(?P<b>.)$", Safety.SAFE),
        ("^/(.)(.)$", "/$2", "^/(?:.)(.)$", Safety.UNSAFE),
    ],
)
def test_the_fix_of_an_unused_group_is_safe_unless_numbers_change(source, template, expected, safety):
    """The fix keeps the group without capturing, and is unsafe if the numbers of later groups change."""
    statement = f"rewrite `{source}` -> `{template}`"
    assert [fix.safety for fix in findings(UNUSED_GROUP, statement)[0].fixes] == [safety]
    assert fixed(UNUSED_GROUP, statement).startswith(f"rewrite `{expected}`")
