"""The gallery of rules is true: each file parses, is formatted, and passes its own tests; the demo's files fit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.rules import load
from tornado_proxy.rules.model import evaluate
from tornado_proxy.service.demo import read_demo
from tornado_proxy.service.snapshot import compile_snapshot

GALLERY = sorted((Path(__file__).parent.parent / "rules").glob("*.rules"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_is_formatted(path):
    """A file looks as the formatter would write it."""
    text = path.read_text(encoding="utf-8")
    assert print_document(parse(SourceFile(path.name, text)).document) == text


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_passes_its_own_tests(path):
    """What a file's tests claim is true, and there is at least one for each rewrite."""
    for rule_set in load(path).values():
        assert len(rule_set.tests) >= len(rule_set.rewrites)
        assert [test.key for test in rule_set.tests if not evaluate(rule_set, test).passed] == []


def test_the_demo_loads_without_a_word():
    """The demo's configuration and the gallery have nothing to be said about."""
    loaded = compile_snapshot(read_demo("http://127.0.0.1:9000"))
    assert (loaded.usable, loaded.diagnostics) == (True, ())
