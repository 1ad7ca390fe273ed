from __future__ import annotations

import pytest

from tornado_proxy.config.composer import compose
from tornado_proxy.config.options import options
from tornado_proxy.config.reading import read, trace


def _reading(text):
    return read(compose(text).root)


def _errors(text):
    return [(error["type"], error["loc"]) for error in _reading(text).errors]


def test_valid_document_has_no_errors():
    """What is right is read as it is."""
    reading = _reading("targets: {site: {bucket: {name: my-bucket}}}")
    assert reading.errors == ()
    assert reading.configuration.targets["site"].bucket.name == "my-bucket"


def test_every_error_is_found_in_one_run():
    """Unknown options, missing ones and wrong values of several sections come together."""
    text = "server: {prot: 1, port: x}\ntargets: {a: {bucket: {}}, b: {bucket: {name: 1, prefix: ..}}}"
    assert _errors(text) == [
        ("int_type", ("server", "port")),
        ("extra_forbidden", ("server", "prot")),
        ("missing", ("targets", "a", "bucket", "name")),
        ("string_type", ("targets", "b", "bucket", "name")),
        ("value_error", ("targets", "b", "bucket", "prefix")),
    ]


def test_what_is_right_is_read_around_what_is_wrong():
    """Wrong values give way to defaults, so that all else can be looked at."""
    text = "server: {port: x, listenAddr: '::1'}\ntargets: {a: {bucket: {name: a-b, region: 1}, mount: {path: [/x, 5, /y]}}}"
    configuration = _reading(text).configuration
    assert (configuration.server.port, configuration.server.listen_addr) == (8080, "::1")
    assert configuration.targets["a"].bucket.region == "us-east-1"
    assert configuration.targets["a"].mount.path == ["/x/", "/y/"]


def test_what_is_missing_is_stood_in_for():
    """A target without its bucket is kept for the sake of its mount."""
    configuration = _reading("targets: {a: {mount: {path: /x}}}").configuration
    assert configuration.targets["a"].mount.path == ["/x/"]


def test_several_items_of_one_list_can_be_wrong():
    """Items are taken out so that the others keep their places."""
    configuration = _reading("rules: [1, a, 2, b, 3]\ntargets: {a: {bucket: {name: a-b}}}").configuration
    assert configuration.rules == ["a", "b"]


def test_single_item_that_is_wrong_is_taken_out():
    """What stands for a list of one is taken out whole."""
    text = "targets: {a: {bucket: {name: a-b}, mount: {path: /..}}}"
    assert _reading(text).configuration.targets["a"].mount.path == ["/"]


def test_entry_with_a_wrong_key_is_taken_out():
    """A target whose name cannot be one is left out."""
    reading = _reading('targets: {"": {bucket: {name: a-b}}, b: {bucket: {name: a-b}}}')
    assert list(reading.configuration.targets) == ["b"]


@pytest.mark.parametrize("text", ["[]", "word", "{}", "targets: 5", "targets: {}", "targets: {a: 5}"])
def test_nothing_is_left_of_a_document_without_targets(text):
    """Where no target can be read there is no configuration, but there are errors."""
    reading = _reading(text)
    assert reading.configuration is None
    assert reading.errors


def test_intact_is_what_has_no_error_below():
    """A section with an error in it is not intact, nor is what contains it; its neighbours are."""
    root = compose("server: {port: x}\nlog: {level: info}\ntargets: {a: {bucket: {name: a-b}}}").root
    reading = read(root)
    assert not reading.intact(root)
    assert not reading.intact(root.fields["server"].value)
    assert reading.intact(root.fields["log"].value)


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("bucket: {name: a-b}", True),
        ("bucket: {name: a-b}, mount: {path: /a}", True),
        ("bucket: {name: a-b}, mount: {path: 5}", False),
        ("bucket: {name: a-b}, muont: {path: /a}", False),
        ("mount: {path: /a}", True),
        ("resources: []", False),
    ],
)
def test_option_is_settled_if_its_value_is_meant(text, settled):
    """A default is not taken for what is meant where something unknown, or missing, stands in the same section."""
    reading = _reading(f"targets: {{a: {{{text}}}}}")
    assert reading.settled(reading.configuration.targets["a"], "mount") is settled


def test_trace_leads_to_the_node_of_a_location():
    """The way goes through mappings by key and through lists by number."""
    root = compose("a: [b, {c: d}]").root
    way = trace(root, ("a", 1, "c"))
    assert way.complete
    assert way.node.text == "d"
    assert [key.text for key in way.keys] == ["a", "c"]


def test_trace_ends_where_there_are_no_more_nodes():
    """Of a location that leads nowhere, the last node on the way is known."""
    root = compose("a: {b: c}").root
    way = trace(root, ("a", "x", "y"))
    assert not way.complete
    assert way.node is root.fields["a"].value


def test_every_required_option_has_an_example_but_targets():
    """What is missing can be stood in for, so that the rest is looked at; without targets there is no rest."""
    required = [option for option in options() if option.field.is_required() and not option.field.examples]
    assert [option.dotted for option in required] == ["targets"]
