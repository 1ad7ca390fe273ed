"""Header fields behave as Tornado's, and are kept as they came."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tornado.httputil import HTTPHeaders, HTTPInputError

from tornado_proxy.wire.headers import Fields

names = st.sampled_from(["Host", "x-one", "X-ONE", "ETag", "etag", "content-LENGTH", "X-Two"])
values = st.text("ab, ", max_size=3).map(str.strip)
pairs = st.lists(st.tuples(names, values), max_size=6)


@given(pairs, names, values, st.sampled_from(["add", "set", "delete"]))
def test_fields_behave_as_tornados(fields, name, value, change):
    """Look-ups, lengths and changes have the results of `HTTPHeaders`, whatever the case of the names."""
    ours, tornados = Fields(tuple(fields)), HTTPHeaders()
    for each in fields:
        tornados.add(*each)
    for headers in (ours, tornados):
        if change == "add":
            headers.add(name, value)
        elif change == "set":
            headers[name] = value
        elif name in headers:
            del headers[name]
    assert dict(ours) == dict(tornados)
    assert (len(ours), ours.get_list(name), ours.get(name)) == (
        len(tornados),
        tornados.get_list(name),
        tornados.get(name),
    )
    assert (name in ours, name.swapcase() in ours) == (name in tornados, name in tornados)


def test_fields_are_kept_in_order_as_they_came():
    """`get_all` has the fields in the order and the spelling of their maker."""
    fields = (("ETag", '"a"'), ("Set-Cookie", "a"), ("Vary", "b"), ("Set-Cookie", "c"))
    assert Fields(fields).get_all() == fields


def test_an_invalid_field_is_not_added():
    """A value with a line end is refused."""
    with pytest.raises(HTTPInputError):
        Fields().add("X", "a\r\nb")


def test_a_copy_changes_on_its_own():
    """A change of a copy leaves the original as it was."""
    fields = Fields((("A", "1"),))
    fields.copy()["A"] = "2"
    assert fields["A"] == "1"


def test_a_missing_field_is_a_key_error():
    """Reading or deleting what is not there raises `KeyError`."""
    with pytest.raises(KeyError):
        Fields()["A"]
    with pytest.raises(KeyError):
        del Fields()["A"]
