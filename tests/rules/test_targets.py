from tornado_proxy.lang.diagnostic import Safety
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.source import SourceFile
from tornado_proxy.rules.targets import unknown_targets


def _unknown(text, *names):
    return list(unknown_targets([parse(SourceFile("site.rules", text)).document], names))


def test_known_targets_are_in_order():
    """A block whose target the configuration names needs no comment."""
    assert _unknown("target site {}", "site", "team") == []


def test_misspelt_target_is_told_with_what_was_meant():
    """A name close to a target's comes with that name, and with a fix that writes it."""
    (found,) = _unknown("target sit {}", "site", "team")
    assert (found.code, found.span.text, found.help) == ("unknown-target", "sit", "did you mean `site`?")
    assert [(fix.edits[0].text, fix.safety) for fix in found.fixes] == [("site", Safety.UNSAFE)]


def test_name_that_needs_quotes_gets_them():
    """The fix writes a name as the language needs it."""
    (found,) = _unknown("target annsfiles {}", "ann's files")
    assert found.fixes[0].edits[0].text == '"ann\'s files"'


def test_strange_target_is_told_where_targets_are_named():
    """A name like no target's comes with the place where targets are named, and without a fix."""
    (found,) = _unknown("target shop {}", "site")
    assert found.help == "name it in `targets` of the configuration"
    assert found.fixes == ()
