from __future__ import annotations

import inspect

import pytest
from hypothesis import strategies as st
from memory_store import MemoryStore

from tornado_proxy.s3.store import S3Store
from tornado_proxy.storage.store import Entry, ForwardingStore, Store, start_after

OPERATIONS = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("store", [ForwardingStore, MemoryStore, S3Store])
def test_every_store_has_every_operation(store, operation):
    """The operations of a store have the parameters and defaults of the protocol."""
    expected, actual = (inspect.signature(getattr(each, operation)).parameters for each in (Store, store))
    assert [(name, parameter.default) for name, parameter in actual.items()] == [
        (name, parameter.default) for name, parameter in expected.items()
    ]


@pytest.mark.parametrize(("name", "is_directory"), [("a", False), ("a/", True), ("/", True)])
def test_an_entry_is_a_directory_if_its_name_ends_in_a_slash(name, is_directory):
    """`is_directory` is true for a name that ends in a slash."""
    assert Entry(name).is_directory is is_directory


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)


@pytest.mark.parametrize(("name", "inside", "following"), [("b/", "d/b/1", "d/b0"), ("b", "d/b", "d/b/1")])
def test_a_listing_continues_after_all_keys_of_an_entry(name, inside, following):
    """`start_after` returns a key that follows all keys of an entry, but not the next entry's."""
    assert inside <= start_after("d/", name) < following
