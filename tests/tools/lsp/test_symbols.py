"""The outline of a file."""

from __future__ import annotations

from rule_texts import document

from tornado_proxy.tools.lsp.symbols import symbols


def test_targets_hold_their_rewrites():
    """By their names, or else by their sources; tests are no part of the outline."""
    text = 'target site { rewrite move `^/a$` -> "/b" rewrite `^/c$` -> "/d" test "/a" -> "/b" }\ntarget "" {}\n'
    site, nameless = symbols(document(text))
    assert (site.name, site.name_span.text, nameless.name) == ("site", "site", "(no name)")
    assert [(each.name, each.detail) for each in site.children] == [("move", "^/a$ → /b"), ("^/c$", "/d")]


def test_a_symbol_holds_what_is_gone_to():
    """The protocol demands that the name lies within the whole."""
    (site,) = symbols(document('target site { rewrite `^/a$` -> "/b" }'))
    for each in (site, *site.children):
        assert each.span.start <= each.name_span.start <= each.name_span.end <= each.span.end
