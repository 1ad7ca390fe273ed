from __future__ import annotations

from pathlib import Path

import pytest

from tornado_proxy.config.document import compose
from tornado_proxy.config.reader import read
from tornado_proxy.config.secrets import unresolved
from tornado_proxy.lang.diagnostic import Diagnostic, Note, Severity, SourceFile, Span

TEXT = """\
targets:
  'b': {bucket: {name: b-b}, mount: {path: [/x, /y]}, actions: {PUT: {config: {maxSize: 5}}}}
  a: {bucket: {name: a-a}, mount: {path: /z}}
"""
SHOWN = SourceFile("config.yaml", TEXT)


@pytest.fixture
def context():
    """Two targets."""
    return read(compose(TEXT).root, SHOWN, Path(), unresolved)


def _texts(*nodes):
    return [TEXT[node.start : node.end] for node in nodes]


def test_name_has_a_node(context):
    """The key that names a target is found, quotes and all."""
    assert _texts(*(context.name_key("targets", each.name) for each in context.settings.targets)) == ["'b'", "a"]


def test_items_of_a_list_have_nodes(context):
    """The nodes of a list's items are found, and the one of an item that stands for a list."""
    paths = [context.items(each.mount, "path") for each in context.settings.targets]
    assert [_texts(*nodes) for nodes in paths] == [["/x", "/y"], ["/z"]]


def test_option_has_nodes(context):
    """The key and the value of an option are found, in a group too."""
    put = context.settings.targets[0].actions.put
    nodes = context.key(put, "config.maxSize"), context.value(put, "config.maxSize")
    assert _texts(*nodes) == ["maxSize", "5"]
    assert context.given(put, "config.maxSize")


def test_option_left_out_stands_where_its_section_does(context):
    """Something can be said of a default, too."""
    put = context.settings.targets[0].actions.put
    nodes = context.key(put, "enabled"), context.value(put, "enabled")
    assert _texts(*nodes) == ["{config: {maxSize: 5}}"] * 2
    assert not context.given(put, "enabled")


def test_section_left_out_stands_nowhere(context):
    """What is not in the file has an empty place at its start."""
    log = context.settings.log
    assert _texts(context.key(log, "level")) == [""]
    assert not context.given(context.settings.targets[1].actions.put, "config.maxSize")


def test_finding_becomes_a_diagnostic_with_both_places(context):
    """An error or a warning has the span of its node, and a note that of the second."""
    first, second = (context.name_key("targets", each) for each in ("b", "a"))
    finding = ("a-code", "a fact", second, "a cure", ("the other", first))
    note = Note("the other", Span(SHOWN, first.start, first.end))
    span = Span(SHOWN, second.start, second.end)
    assert context.error(*finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,))
    assert context.warning(*finding) == Diagnostic("a-code", "a fact", span, "a cure", (note,), Severity.WARNING)


def test_settled_asks_for_every_option(context):
    """Options are settled together or not at all."""
    assert context.settled(context.settings.targets[0], "mount", "bucket", "resources")
