import pytest
from linting import findings, fixed, places

from tornado_proxy.lang.diagnostic import Safety

NAME = "relative-result"


@pytest.mark.parametrize(
    "template", ['"/a"', '"$1"', '"/"', 'jinja "{{ key }}"', "jinja `\n  /a\n`", 'go "{{ .Key }}x"', '""']
)
def test_results_with_a_slash_or_unknown_are_left_alone(template):
    """A slash, a hole that may bring one, and a template that is empty are no finding of this check."""
    assert places(NAME, f"rewrite `^(/a/.*)$` -> {template}") == []


@pytest.mark.parametrize(
    ("template", "after"),
    [
        ('"a/$1"', '"/a/$1"'),
        ('jinja "a/{{ key }}"', 'jinja "/a/{{ key }}"'),
        ("go `\n  a{{ .Key }}\n`", "go `\n  /a{{ .Key }}\n`"),
        ('"$$x"', '"/$$x"'),
    ],
)
def test_the_slash_is_written(template, after):
    """The fix puts a slash before the text; it changes no key."""
    (found,) = findings(NAME, f"rewrite `^/(a.*)$` -> {template}")
    assert [fix.safety for fix in found.fixes] == [Safety.SAFE]
    assert fixed(NAME, f"rewrite `^/(a.*)$` -> {template}") == f"rewrite `^/(a.*)$` -> {after}"


@pytest.mark.parametrize(
    ("template", "after"),
    [('" y"', '"/y"'), ('" /y"', '"/y"'), ('" $1"', '"$1"'), ('"  "', '"/"'), ('" $$x"', '"/$$x"')],
)
def test_white_space_that_comes_first_is_taken_out(template, after):
    """A plain template is not trimmed: the slash takes the place of the white space, and that changes keys."""
    (found,) = findings(NAME, f"rewrite `^(/a)$` -> {template}")
    assert (
        found.message == "the result begins with white space, which a plain template keeps, and gets a slash before it"
    )
    assert [fix.safety for fix in found.fixes] == [Safety.UNSAFE]
    assert fixed(NAME, f"rewrite `^(/a)$` -> {template}") == f"rewrite `^(/a)$` -> {after}"


def test_an_address_is_no_redirect():
    """A result that looks like an address is explained, and left to its author."""
    (found,) = findings(NAME, 'rewrite `^/a$` -> "https://example.com/a"')
    assert found.message == "a result is a key, not an address: this asks the bucket for `/https://example.com/a…`"
    assert found.fixes == ()


@pytest.mark.parametrize(
    ("rewrite", "after"),
    [
        ('rewrite `^/a/(?P<rest>[^/]+)$` -> "$rest"', '"/$rest"'),
        ('rewrite `^/([a-z]+)\\.html$` -> "${1}.htm"', '"/${1}.htm"'),
        ('rewrite `^/((?:b|c)+)/.*$` -> "$1"', '"/$1"'),
    ],
)
def test_a_group_that_never_begins_with_a_slash_is_found(rewrite, after):
    """Every match of the group has text, and none begins with a slash."""
    (found,) = findings(NAME, rewrite)
    assert found.message == "the result has no leading slash, and gets one"
    assert fixed(NAME, rewrite).endswith(f"-> {after}")


@pytest.mark.parametrize(
    "rewrite",
    [
        'rewrite `^(/a)$` -> "$1"',
        'rewrite `^/a(.*)$` -> "$1"',
        'rewrite `^/a([b-z]*)(/.*)$` -> "$1$2"',
        'rewrite `^/a(b)?(/.*)$` -> "$1$2"',
        'rewrite `^/(?:(a)|b)(/.*)$` -> "$1$2"',
        'rewrite `^(?P<n>/a)|(?P<n>b)$` -> "$n"',
        'rewrite `^/a(\\b.)` -> "$1"',
        'rewrite `^/(?P<rest>[^/]+)$` -> "$0"',
    ],
)
def test_a_group_that_may_begin_with_a_slash_is_not(rewrite):
    """Nor one that may have no text, or no part in a match: what follows it may begin with a slash."""
    assert findings(NAME, rewrite) == []
