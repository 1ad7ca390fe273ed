from __future__ import annotations

import pytest

from tornado_proxy.config.composer import compose
from tornado_proxy.config.nodes import ScalarKind, ScalarNode, merged


def _root(text):
    return compose(text).root


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("word", "word"),
        ('"12"', "12"),
        ("12", 12),
        ("-7", -7),
        ("1.5", 1.5),
        ("yes", True),
        ("Off", False),
        ("~", None),
        ("0x10", None),
        ("2024-01-01", None),
        ("!a b", None),
    ],
)
def test_scalar_stands_for_data(text, value):
    """Scalars are strings, numbers and booleans by YAML 1.1; what no option accepts is None."""
    assert _root(text).data == value


def test_first_of_two_equal_keys_counts():
    """A key given twice keeps its first value."""
    assert _root("a: 1\na: 2").fields["a"].value.data == 1


def test_merge_brings_in_what_a_mapping_lacks():
    """`<<` adds the fields of other mappings, the first of them before the next, never over an own one."""
    text = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  <<: [*x, *y]\n  a: 0\n"
    fields = _root(text).fields["z"].value.fields
    assert {name: entry.value.data for name, entry in fields.items()} == {"a": 0, "b": 1, "c": 2}


def test_own_fields_come_before_merged_ones():
    """The order of a mapping's fields is that of the file, with merged ones at the end."""
    assert list(_root("<<: {z: 1}\na: 2\nb: 3").fields) == ["a", "b", "z"]


def test_merge_of_something_else_brings_in_nothing():
    """A scalar under `<<` is passed over; a fault tells it."""
    (entry,) = _root("<<: 1").entries
    assert merged(entry) == ()


def test_ordinary_entry_merges_nothing():
    """Only `<<` merges."""
    (entry,) = _root("a: {b: 1}").entries
    assert merged(entry) == ()


def test_repr_of_a_scalar_hides_its_text():
    """A node that ends up in a traceback tells no secret."""
    assert (
        repr(ScalarNode(0, 6, ScalarKind.STRING, "hunter"))
        == "ScalarNode(start=0, end=6, kind=<ScalarKind.STRING: 'a string'>)"
    )
