from __future__ import annotations

import pytest

from tornado_proxy.config.composer import compose
from tornado_proxy.config.reading import read
from tornado_proxy.config.scene import Finding, Scene, item_nodes
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity
from tornado_proxy.lang.source import SourceFile, Span

TEXT = (
    "targets:\n  'b': {bucket: {name: b-b}, mount: {path: [/x, /y]}}\n  a: {bucket: {name: a-a}, mount: {path: /z}}\n"
)
SHOWN = SourceFile("config.yaml", TEXT)


@pytest.fixture
def scene():
    """Two targets."""
    reading = read(compose(TEXT).root)
    return Scene(reading.configuration, reading, SHOWN)


def test_targets_come_with_their_keys(scene):
    """A target is known by its name as it may be shown, and by the place of that name."""
    assert [(each.name, TEXT[each.key.start : each.key.end]) for each in scene.targets()] == [("b", "'b'"), ("a", "a")]


def test_items_of_a_list_have_nodes(scene):
    """The nodes of a list's items are found, and the one of an item that stands for a list."""
    paths = [item_nodes(each.section.mount, "path") for each in scene.targets()]
    assert [[TEXT[node.start : node.end] for node in nodes] for nodes in paths] == [["/x", "/y"], ["/z"]]


def test_finding_becomes_a_diagnostic_with_both_places(scene):
    """An error or a warning has the span of its node, and a note that of the second."""
    first, second = (each.key for each in scene.targets())
    finding = Finding("a-code", "a fact", second, "a cure", ("the other", first))
    note = Note("the other", Span(SHOWN, first.start, first.end))
    span = Span(SHOWN, second.start, second.end)
    assert scene.error(finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,))
    assert scene.warning(finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,), Severity.WARNING)


def test_settled_asks_for_every_option(scene):
    """Options are settled together or not at all."""
    target = next(scene.targets()).section
    assert scene.settled(target, "mount", "bucket", "resources")
