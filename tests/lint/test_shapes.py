import pytest
from linting import target

from gotemplate.regexp.parser import parse
from tornado_proxy.lint.shapes import (
    constant,
    ends_anchored,
    head,
    open_end,
    open_start,
    reference,
    slips,
    starts_anchored,
    tail,
)
from tornado_proxy.rules.tree import Dialect


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [
        ("^/a$", True, True),
        ("/a", False, False),
        (r"\A/a\z", True, True),
        ("(?m)^/a$", True, True),
        ("(?i)^/a", True, False),
        (r"\b^/a$\b", True, True),
        ("^a|^b", True, False),
        ("^a|b$", False, False),
        ("(?:^/a$)", True, True),
        ("(?:^a)?b", False, False),
        ("(?:^a)+", True, False),
        (r"[a]\pL\d.", False, False),
        ("", False, False),
    ],
)
def test_anchors_are_found_in_the_tree(source, start, end):
    """An end is anchored if every match must touch it."""
    tree = parse(source).tree
    assert (starts_anchored(tree), ends_anchored(tree)) == (start, end)


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [("/a", True, True), ("^/a/", False, False), (r"\.x$", False, False), ("^a/|^b", False, True)],
)
def test_open_ends_are_found(source, start, end):
    """An end is open if it is neither anchored nor seems to be intended."""
    assert (open_start(parse(source).tree), open_end(parse(source).tree)) == (start, end)


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


def _find_slips(template):
    (rewrite,) = target(f"rewrite `^/(?P<page>.)(.*)$` -> {template}").rewrites
    return [(group, rewrite.template.text[start:end]) for group, start, end in slips(rewrite)]


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (r"`/\1\9\g<page>`", [("1", r"\1"), ("9", r"\9"), ("page", r"\g<page>")]),
        ("`/${page/$&`", [("page", "${page"), ("0", "$&")]),
        ("`/$(page)/{2}/%2`", [("page", "$(page)"), ("2", "{2}"), ("2", "%2")]),
        ("`/$(slug)/{3}/%3/$$1/${page}`", []),
        ("jinja `/$1/${page}/$page`", [("1", "$1"), ("page", "${page}"), ("page", "$page")]),
        ("go `/$3{{ $1 := 2 }}$$1`", []),
    ],
)
def test_misspelt_references_are_found(template, expected):
    """References in the notation of other languages or dialects are found with their places."""
    assert _find_slips(template) == expected


@pytest.mark.parametrize(
    ("dialect", "number", "name"),
    [
        (Dialect.PLAIN, "${1}", "${page}"),
        (Dialect.JINJA, "{{ groups[1] }}", "{{ groups.page }}"),
        (Dialect.GO, '{{ index .Groups "1" }}', "{{ .Groups.page }}"),
    ],
)
def test_a_reference_is_written_in_a_dialect(dialect, number, name):
    """Each dialect refers to a group by its number or by its name."""
    assert (reference("1", dialect), reference("page", dialect)) == (number, name)
