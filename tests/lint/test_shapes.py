import pytest
from linting import target

from tornado_proxy.lint.shapes import (
    constant,
    head,
    tail,
)


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
def test_the_fixed_text_at_both_ends_is_found(template, beginning, ending):
    """The text before the first expression and after the last one is part of every result."""
    (rewrite,) = target(f"rewrite `^/(.*)$` -> {template}").rewrites
    assert (head(rewrite), tail(rewrite)) == (beginning, ending)


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
def test_a_constant_result_is_found(template, result):
    """A template without expressions has one result."""
    (rewrite,) = target(f"rewrite `^/(.*)$` -> {template}").rewrites
    assert constant(rewrite) == result
