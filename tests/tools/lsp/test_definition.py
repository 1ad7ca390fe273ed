"""Where something is defined."""

from __future__ import annotations

import pytest
from editing import asked, site

from tornado_proxy.tools.lsp.definition import definitions


def _defined(text: str, **others: str) -> list[str]:
    return [f"{span.source.name}: {span.text}" for span in definitions(*asked(text, **others))]


@pytest.mark.parametrize(
    ("template", "defined"),
    [
        ('"/b/$pa‸ge"', ["(?P<page>[^/]+)"]),
        ('"/b/$2‸"', ["(?P<page>[^/]+)"]),
        ('"/b/$0‸"', ["`^/(a)/(?P<page>[^/]+)$`"]),
        ('"/b/$no‸where"', []),
        ('jinja "/{{ groups.pa‸ge }}"', ["(?P<page>[^/]+)"]),
        ('jinja "/{{ ke‸y }}"', []),
        ('go "/{{ .Groups.pa‸ge }}"', ["(?P<page>[^/]+)"]),
        ('"/‸b"', []),
    ],
)
def test_a_group_is_defined_in_the_source(template, defined):
    """From a reference to the parentheses that take the text."""
    assert _defined(site(f"rewrite `^/(a)/(?P<page>[^/]+)$` -> {template}")) == [
        f"site.rules: {each}" for each in defined
    ]


@pytest.mark.parametrize(
    ("test", "defined"),
    [
        ('test "/a"‸ -> "/b"', ["site.rules: move"]),
        ('test "/c"‸ -> "/d"', ["site.rules: `^/c$`"]),
        ('test "/x"‸ -> unchanged', []),
    ],
)
def test_a_test_leads_to_the_rewrite_that_takes_its_key(test, defined):
    """To its name, or where it has none to its source."""
    assert _defined(site('rewrite move `^/a$` -> "/b"', 'rewrite `^/c$` -> "/d"', test)) == defined


def test_a_rewrite_that_takes_a_tests_key_may_stand_in_another_file():
    """Files that are read together are one."""
    assert _defined(site('test "/a‸" -> "/b"'), other=site('rewrite move `^/a$` -> "/b"')) == ["other.rules: move"]


def test_a_target_leads_to_all_its_blocks():
    """Blocks of one target add up across files."""
    assert _defined("target si‸te {}\n", other="target site {}\n") == ["site.rules: site", "other.rules: site"]


@pytest.mark.parametrize(
    ("text", "defined"),
    [(site('rewr‸ite move `^/a$` -> "/b"'), ["site.rules: move"]), (site('rewrite `^/‸a$` -> "/b"'), []), ("‸", [])],
)
def test_elsewhere_there_is_little_to_go_to(text, defined):
    """A rewrite is defined where it stands."""
    assert _defined(text) == defined
