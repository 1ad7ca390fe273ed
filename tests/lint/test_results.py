import pytest
from linting import target

from tornado_proxy.lint.results import constant, has_group, head, is_address, tail


@pytest.mark.parametrize(
    ("template", "beginning", "ending"),
    [
        ("`/a/$1/b.html`", "/a/", "/b.html"),
        ("`/a`", "/a", "/a"),
        ("`$1`", "", ""),
        ("`$$x$1$$y`", "$x", "$y"),
        ("jinja `\n /a/{{ key }}/b\n`", "/a/", "/b"),
        ("jinja `{% if user %}/a{% endif %}`", "", ""),
        ("go `/a{{/* why */}}{{ .Key }}/b/ `", "/a", "/b/"),
        ("jinja `/a{# why #}`", "/a", ""),
        ("jinja `/a`", "/a", "/a"),
    ],
)
def test_text_before_the_first_hole_and_behind_the_last(template, beginning, ending):
    """What stands there is part of every result."""
    (rewrite,) = target(f"rewrite `^/(.*)$` -> {template}").rewrites
    assert (head(rewrite), tail(rewrite)) == (beginning, ending)


@pytest.mark.parametrize(
    ("text", "address"), [("https://a/", True), ("s3://b", True), ("/https://a", False), ("a:b", False)]
)
def test_addresses(text, address):
    """An address has a scheme in front."""
    assert is_address(text) is address


@pytest.mark.parametrize(
    ("reference", "exists"), [("name", True), ("0", True), ("2", True), ("3", False), ("nam", False)]
)
def test_groups_by_name_and_number(reference, exists):
    """The whole match is group 0."""
    (rewrite,) = target("rewrite `^/(?P<name>.)(.)$` -> `/`").rewrites
    assert has_group(rewrite.pattern, reference) is exists


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("`/a$$`", "/a$"),
        ("``", ""),
        ("`/$1`", None),
        ("jinja ` /a\n`", "/a"),
        ("go `/{{ .Key }}`", None),
        ("go `/$1`", "/$1"),
    ],
)
def test_results_that_are_always_the_same(template, result):
    """A template without holes makes one key."""
    (rewrite,) = target(f"rewrite `^/(.*)$` -> {template}").rewrites
    assert constant(rewrite) == result
