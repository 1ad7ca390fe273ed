from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, ValidationError

from tornado_proxy.config.composer import compose
from tornado_proxy.config.nodes import plain
from tornado_proxy.config.section import NOWHERE, Line, Omittable, OneOrMany, Section, Timeout, matching


class _Door(Section):
    """A section of the tests' own."""

    has_lock: bool = False
    colour: Annotated[Line | None, Omittable()] = None
    keys: Annotated[list[str], OneOrMany()] = Field(default_factory=list)
    open_for: Timeout = 1.0


def _read(text):
    return _Door.model_validate(plain(compose(text).root))


def _error(text):
    with pytest.raises(ValidationError) as caught:
        _read(text)
    ((error),) = caught.value.errors()
    return error["type"], error["loc"]


def test_names_are_camel_case():
    """An option is written in camelCase, and in no other way."""
    assert _read("hasLock: true").has_lock
    assert _error("has_lock: true") == ("extra_forbidden", ("has_lock",))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("hasLock: 1", ("bool_type", ("hasLock",))),
        ("hasLock: 'true'", ("bool_type", ("hasLock",))),
        ("colour: 5", ("string_type", ("colour",))),
        ("colour: ~", ("string_type", ("colour",))),
        ("colour: ''", ("value_error", ("colour",))),
        ("keys: 5", ("list_type", ("keys",))),
    ],
)
def test_values_are_not_bent_to_a_type(text, error):
    """No value becomes another type's, and none may be null, even where the option may be left out."""
    assert _error(text) == error


@pytest.mark.parametrize(("text", "keys"), [("keys: a", ["a"]), ("keys: [a, b]", ["a", "b"]), ("{}", [])])
def test_one_stands_for_a_list_of_one(text, keys):
    """Where a list is wanted that mostly has one item, the item alone will do."""
    assert _read(text).keys == keys


def test_section_knows_where_it_stands():
    """A section finds the nodes of its keys and values again."""
    root = compose("hasLock: true\ncolour: red").root
    section = _Door.model_validate(plain(root))
    entry = root.fields["colour"]
    assert section.node is root
    assert section.key_node("colour") is entry.key
    assert section.value_node("colour") is entry.value


def test_option_left_out_stands_where_its_section_does():
    """Something can be said of a default, too."""
    section = _read("colour: red")
    assert section.key_node("hasLock") is section.node
    assert section.value_node("hasLock") is section.node


def test_section_left_out_stands_nowhere():
    """A section that is all defaults was read from no file."""
    assert _Door().node == NOWHERE


def test_schema_has_one_or_many():
    """An editor knows both forms."""
    one, many = _Door.model_json_schema()["properties"]["keys"]["anyOf"]
    assert one == {"type": "string"}
    assert many == {"type": "array", "items": {"type": "string"}}


def test_pattern_is_for_editors():
    """A pattern says no more than that a string matches it."""
    assert matching("^a$").json_schema == {"type": "string", "pattern": "^a$"}
