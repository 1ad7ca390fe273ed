"""What may be written next within a template."""

from __future__ import annotations

import pytest
from editing import pointed

from tornado_proxy.tools.lsp.completion import Proposal, completions

_PAGE = "rewrite `^/(a)/(?P<page>[^/]+)$` -> "


def _proposed(text: str) -> list[Proposal]:
    return completions(*pointed(text), ["site", "team"])


def _labels(text: str) -> list[str]:
    return [each.label for each in _proposed(text)]


@pytest.mark.parametrize(
    ("template", "labels"),
    [
        ('"/b/$‸"', ["1", "page"]),
        ('"/b/$pa‸"', ["1", "page"]),
        ('"/b/${‸"', ["1}", "page}"]),
        ('"/b/${‸}"', ["1", "page"]),
        ('"/b/${pa‸ge}"', ["1", "page"]),
        ('"/b/${‸/c"', ["1}", "page}"]),
        ('"/b/$$‸"', []),
        ('"/b/$$$‸"', ["1", "page"]),
        ('"/b‸"', []),
        ("`/b/$‸", ["1", "page"]),
        ('jinja "/{{ groups.‸ }}"', ["page"]),
        ("jinja \"/{{ groups['‸'] }}\"", ["1", "page"]),
        ('jinja "/{{ groups[\\"pa‸', ["1", "page"]),
        ('jinja "/‸{{ key }}"', []),
        ('go "/{{ .Groups.‸ }}"', ["page"]),
        ('go "/{{ $.Groups.pa‸', ["page"]),
        ('go `/{{ index .Groups "‸" }}`', ["1", "page"]),
        ('go "/{{ index $.Groups `p‸', ["1", "page"]),
        ('go `/{{ .Request.Header.Get "‸" }}`', []),
        ("jinja \"/{{ request.headers['‸'] }}\"", []),
        ('jinja `/{{ "it\\"s" ~ groups["‸"] }}`', ["1", "page"]),
        ('go "/‸"', []),
    ],
)
def test_groups_of_the_source_are_proposed_in_the_template(template, labels):
    """Whether the string is closed already or not."""
    assert _labels(f"target site {{ {_PAGE}{template}") == labels


@pytest.mark.parametrize(
    ("template", "some"),
    [
        ('jinja "/{{ ‸ }}"', {"user", "request", "target", "key", "groups"}),
        ('jinja "{% if us‸', {"user", "groups"}),
        ('jinja "/{{ user.‸ }}"', {"username", "email", "groups"}),
        ('jinja "/{{ target.bucket.na‸ }}"', {"name", "prefix", "region"}),
        ('jinja "/{{ key | ‸ }}"', {"lower", "replace"}),
        ('go "/{{ ‸ }}"', {".User", ".Key", ".Groups", "lower"}),
        ('go "/{{ .‸ }}"', {"User", "Key", "Groups"}),
        ('go "/{{ .User.Get‸ }}"', {"GetUsername", "GetEmail"}),
        ('go "/{{ .Request.URL.‸ }}"', {"Path", "RawQuery"}),
        ('jinja "/{{ key is ‸ }}"', {"defined", "none"}),
        ('jinja "/{{ key is not de‸ }}"', {"defined"}),
        ('jinja "/{{ key is defined and ‸ }}"', {"user", "key"}),
        ('jinja "{% ‸ %}"', {"if", "for", "set", "endif"}),
        ('jinja "{%- end‸', {"endif", "endfor"}),
        ('go "/{{ .Key | lo‸ }}"', {"lower"}),
    ],
)
def test_variables_and_functions_are_proposed_in_templates(template, some):
    """What the dialect lets a template read at that place."""
    assert some <= set(_labels(f"target site {{ {_PAGE}{template}"))


def test_variables_that_a_go_template_declares_are_proposed():
    """Each once, behind the dollar sign that begins it."""
    text = f"target site {{ {_PAGE}go `{{{{ $a := 1 }}}}{{{{ range $i, $x := .Groups }}}}{{{{ $a = 2 }}}}{{{{ $‸ }}}}"
    found = _proposed(text)
    assert [each.label for each in found] == ["$a", "$i", "$x"]
    assert all(each.span.end - each.span.start == 1 for each in found)
