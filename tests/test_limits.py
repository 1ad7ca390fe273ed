"""The limits of the service: each layer has one module of them, each limit its unit and its reason, and is used."""

import os
import re

from limit_tables import ROOT, limits, table

_DOCS = ROOT / "docs" / "operations.md"
_TABLE = re.compile(r"\| limit \| of what \|\n(?:\|[^\n]*\n)+")
_NUMBER = re.compile(r"^_?[A-Z][A-Z_]+ *(:.*)?= *[0-9]", re.MULTILINE)
LIMITS = list(limits())
SOURCES = {
    path: path.read_text(encoding="utf-8")
    for folder in ("gotemplate", "tornado_proxy")
    for path in (ROOT / folder).rglob("*.py")
}


def test_every_limit_says_what_it_limits():
    """The first word of a limit's docstring is its unit."""
    assert [each.name for each in LIMITS if not each.text.endswith(".")] == []


def test_every_limit_is_used():
    """A limit that nothing reads limits nothing."""
    words = {path: {*re.findall(r"\b[A-Z][A-Z_0-9]+\b", text)} for path, text in SOURCES.items()}
    unused = [each for each in LIMITS if not any(each.name in words[path] for path in words if path != each.module)]
    assert unused == []


def test_numbers_stand_with_the_limits_of_their_layer():
    """Few other modules have constants that are numbers: those of formats, protocols and calendars."""
    assert len([path for path, text in SOURCES.items() if _NUMBER.search(text)]) <= 40


def test_the_manual_has_the_limits():
    """The table of docs/operations.md is made of the limits; `UPDATE_DOCS=1` writes it."""
    text = _DOCS.read_text(encoding="utf-8")
    if "UPDATE_DOCS" in os.environ:
        text = _TABLE.sub(lambda _: table() + "\n", text)
        _DOCS.write_text(text, encoding="utf-8")
    assert table() + "\n" in text
