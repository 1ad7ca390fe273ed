import pytest
from linting import block, findings, fixed, places, report

NAME = "unknown-group"


@pytest.mark.parametrize(
    "template",
    [
        *("/$1/$page", "/${1}x/$0", "/$$page", "/$", "/price$", "/a\\b", "/$${page", "/${", "/${-}"),
        *("/{slug}", "/{{page}}", "/$(slug)", "/%2", "/%1A", "/$$(page)", "/$$&", "/$page{x}", "/100%"),
    ],
)
def test_groups_that_exist_are_left_alone(template):
    """Names, numbers, the whole match, and dollars that refer to nothing are no finding."""
    assert places(NAME, f"rewrite `^/(?P<page>.*)$` -> `{template}`") == []


@pytest.mark.parametrize(
    ("source", "template", "message", "cure"),
    [
        ("^/(.*)$", "/$1x", "`$1x` is the group `1x`, which the source does not have: the longest name counts", "write `${1}x`"),
        ("^/(?P<page>.*)$", "/$page_old", "`$page_old` is the group `page_old`, which the source does not have: the longest name counts", "write `${page}_old`"),
        ("^/(?P<page>.*)$", "/$pgae", "the source has no group `pgae`, so that this is always empty", "did you mean `${page}`?"),
        ("^/(?P<page>.*)$", "/${slug}", "the source has no group `slug`, so that this is always empty", "it has `page`"),
        ("^/(.)(.)$", "/$3", "the source has no group `3`, so that this is always empty", "it has `1` and `2`"),
        ("^/.*$", "/$1", "the source has no group `1`, so that this is always empty", "it has no group; put what is to be kept between `(?P<name>` and `)`"),
        ("^/(.*)$", r"/\1", r"`\1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<a>.*)$", r"/\g<a>", r"`\g<a>` is text here, not a reference to a group", "write `${a}`"),
        ("^/(?P<page>.*)$", "/${page", "`${page` is text here, not a reference to a group", "write `${page}`"),
        ("^/.*$", r"/\1", r"`\1` is text here, not a reference to a group", "it has no group; put what is to be kept between `(?P<name>` and `)`"),
        ("^/(?P<page>.*)$", "/$(page)", "`$(page)` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{page}", "`{page}` is text here, not a reference to a group", "write `${page}`"),
        ("^/(?P<page>.*)$", "/{1}", "`{1}` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/%1", "`%1` is text here, not a reference to a group", "write `${1}`"),
        ("^/(?P<page>.*)$", "/x$&", "`$&` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", r"/x\0", r"`\0` is text here, not a reference to a group", "write `${0}`"),
        ("^/(?P<page>.*)$", "/$1${page-x}", "`${page` is text here, not a reference to a group", "write `${page}`"),
    ],
)  # fmt: skip
def test_groups_that_do_not_exist(source, template, message, cure):
    """The message says what the reference is, the help what was probably meant."""
    (found,) = findings(NAME, f"rewrite `{source}` -> `{template}`")
    assert (found.message, found.help) == (message, cure)


@pytest.mark.parametrize(
    ("template", "after"),
    [("/$1x", "/${1}x"), ("/$pgae", "/${page}"), (r"/\1", "/${1}"), ("/${page", "/${page}"), ("/${slug}", "/${slug}")],
)
def test_the_reference_that_was_meant_is_written(template, after):
    """The fix writes the group in braces, where it is certain which."""
    text = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(NAME, f"{text}`{template}`") == f"{text}`{after}`"


def test_a_bad_escape_is_told_once():
    """What the parser says of it has the cure, and no other stands beside it."""
    found = report(site=block(r'rewrite `^/a/(.*)$` -> "/b/\1"'), only=NAME).diagnostics
    assert [(each.code, each.help) for each in found] == [("bad-escape", "write `${1}` for what the group captured")]


@pytest.mark.parametrize(
    "template",
    [
        "jinja `/$2/$slug/$$1/${slug}`",
        "jinja `/{# $page #}{% set a = '$page' %}{{ '$1' }}`",
        "go `/{{ $page := .Key }}{{ $page }}`",
        "go `/$2`",
    ],
)
def test_dollars_of_other_dialects_are_left_alone(template):
    """A template of another dialect may hold dollars, as text or within its braces, that name no group."""
    assert places(NAME, f"rewrite `^/(?P<page>.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "after"),
    [
        ("jinja `/$1`", "jinja `/{{ groups[1] }}`"),
        ("jinja `/${page}`", "jinja `/{{ groups.page }}`"),
        ('jinja "/$page"', 'jinja "/{{ groups.page }}"'),
        (r"jinja `/\1`", "jinja `/{{ groups[1] }}`"),
        (r"go `/\g<page>{{ .Key }}`", "go `/{{ .Groups.page }}{{ .Key }}`"),
        ("go `/$1`", 'go `/{{ index .Groups "1" }}`'),
    ],
)
def test_a_plain_reference_in_another_dialect_is_written_in_it(template, after):
    """Jinja and Go have groups of their own, and a dollar outside of braces is text."""
    statement = "rewrite `^/(?P<page>.*)$` -> "
    assert fixed(NAME, statement + template) == statement + after
