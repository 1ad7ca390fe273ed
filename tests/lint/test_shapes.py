import pytest
from linting import target

from tornado_proxy.goregex.parser import parse
from tornado_proxy.goregex.syntax import Alternation, Text
from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.shapes import (
    bare,
    constant,
    edge_part,
    ends_anchored,
    has_group,
    head,
    is_address,
    open_end,
    open_start,
    reference,
    slips,
    starts_anchored,
    tail,
    takes_anything,
)


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
def test_both_ends_are_read_off_the_tree(source, start, end):
    """An end is anchored if every match must touch it."""
    tree = parse(source).tree
    assert (starts_anchored(tree), ends_anchored(tree)) == (start, end)


def test_the_part_at_the_edge():
    """Groups are opened; what reads nothing is passed over."""
    first = edge_part(parse("^(?:(a)b)").tree, last=False)
    assert isinstance(first, Text)
    assert first.characters == "a"
    assert isinstance(edge_part(parse("(?:a|b)$").tree, last=True), Alternation)


@pytest.mark.parametrize("source", ["", "^", "^$", "(?i)", "(?:^)"])
def test_nothing_at_the_edge(source):
    """A source that reads no character has no part at its edges."""
    assert edge_part(parse(source).tree, last=False) is None


@pytest.mark.parametrize(
    ("source", "anything"), [(".*", True), ("(?:.)+", True), (".?", False), ("[^/]*", False), (".", False)]
)
def test_what_takes_anything(source, anything):
    """Only a repeated dot does."""
    assert takes_anything(edge_part(parse(source).tree, last=False)) is anything


def test_parentheses_are_taken_off():
    """What a part holds is the same, however many groups are around it."""
    assert isinstance(bare(parse("((?:a|b))").tree), Alternation)


@pytest.mark.parametrize(
    ("source", "start", "end"),
    [("/a", True, True), ("^/a/", False, False), (r"\.x$", False, False), ("^a/|^b", False, True)],
)
def test_ends_that_are_not_spoken_of(source, start, end):
    """An end is open if it is not anchored and its part does not seem to mean that."""
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


def _found(template):
    (rewrite,) = target(f"rewrite `^/(?P<page>.)(.*)$` -> {template}").rewrites
    return [(group, rewrite.template.text[start:end]) for group, start, end in slips(rewrite)]


@pytest.mark.parametrize(
    ("template", "found"),
    [
        (r"`/\1\9\g<page>`", [("1", r"\1"), ("9", r"\9"), ("page", r"\g<page>")]),
        ("`/${page/$&`", [("page", "${page"), ("0", "$&")]),
        ("`/$(page)/{2}/%2`", [("page", "$(page)"), ("2", "{2}"), ("2", "%2")]),
        ("`/$(slug)/{3}/%3/$$1/${page}`", []),
        ("jinja `/$1/${page}/$page`", [("1", "$1"), ("page", "${page}"), ("page", "$page")]),
        ("go `/$3{{ $1 := 2 }}$$1`", []),
    ],
)
def test_what_was_meant_as_a_reference(template, found):
    """References of other languages, and plain ones in other dialects, where they can be one, with their places."""
    assert _found(template) == found


@pytest.mark.parametrize(
    ("dialect", "number", "name"),
    [
        (Dialect.PLAIN, "${1}", "${page}"),
        (Dialect.JINJA, "{{ groups[1] }}", "{{ groups.page }}"),
        (Dialect.GO, '{{ index .Groups "1" }}', "{{ .Groups.page }}"),
    ],
)
def test_how_a_dialect_refers_to_a_group(dialect, number, name):
    """By its number, or by its name."""
    assert (reference("1", dialect), reference("page", dialect)) == (number, name)
