import pytest
from linting import target

from tornado_proxy.lang.tree import Dialect
from tornado_proxy.lint.slips import reference, slips


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
