"""What stands at an offset."""

from __future__ import annotations

import pytest
from editing import pointed

from tornado_proxy.lang.parser import parse
from tornado_proxy.tools.lsp.spots import RewriteSpot, SourceSpot, TargetSpot, TemplateSpot, TestSpot, spot_at


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tar‸get site {}", TargetSpot),
        ("target si‸te {}", TargetSpot),
        ('target site { rewr‸ite a `^/a` -> "/b" }', RewriteSpot),
        ('target site { rewrite a `^/‸a` -> "/b" }', SourceSpot),
        ('target site { rewrite a `^/a` -> "/‸b" }', TemplateSpot),
        ('target site { test "/a" ‸-> "/b" }', TestSpot),
        ("target site { ‸ }", None),
        ("target site {}\n‸\n", None),
    ],
)
def test_each_place_has_its_kind(text, kind):
    """A place is on a target, a rewrite, one of its strings, a test, or on nothing."""
    source, offset = pointed(text)
    found = spot_at(parse(source).document, offset)
    assert (type(found) if found else None) is kind


@pytest.mark.parametrize(
    ("written", "at"), [("`^‸/a`", 1), ('"\\u005e‸/a"', 1), ('"^/‸a"', 2), ("‸`^/a`", 0), ("`^/a`‸", 3), ("`‸`", 0)]
)
def test_a_place_in_a_string_is_one_in_its_value(written, at):
    """Escapes and quotes are taken into account."""
    source, offset = pointed(f'target site {{ rewrite {written} -> "/b" }}')
    assert spot_at(parse(source).document, offset).at == at
