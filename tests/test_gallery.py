"""Each file of the gallery of rules is formatted and passes its own tests, and the demo loads it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tornado_proxy.lang.diagnostic import SourceFile
from tornado_proxy.lang.parser import parse
from tornado_proxy.lang.printer import print_document
from tornado_proxy.rules import load
from tornado_proxy.rules.model import evaluate
from tornado_proxy.service.demo import read_demo
from tornado_proxy.service.reload.snapshot import compile_snapshot

GALLERY = sorted((Path(__file__).parent.parent / "rules").glob("*.rules"))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_is_formatted(path):
    """The formatter would change nothing in the file."""
    text = path.read_text(encoding="utf-8")
    assert print_document(parse(SourceFile(path.name, text)).document) == text


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.name)
def test_a_file_of_the_gallery_passes_its_own_tests(path):
    """All tests of a file pass, and it has at least as many tests as rewrites."""
    for rule_set in load(path).values():
        assert len(rule_set.tests) >= len(rule_set.rewrites)
        assert [test.key for test in rule_set.tests if not evaluate(rule_set, test).passed] == []


def test_the_demo_loads_without_diagnostics():
    """The demo's configuration with the gallery compiles without a diagnostic."""
    configuration = compile_snapshot(read_demo("http://127.0.0.1:9000"))
    assert (configuration.usable, configuration.diagnostics) == (True, ())
