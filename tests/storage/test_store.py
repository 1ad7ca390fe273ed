from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_store import MemoryStore

from tornado_proxy.storage.cache import MemoryObject
from tornado_proxy.storage.s3 import S3Store
from tornado_proxy.storage.s3.boto3_reads import S3Object
from tornado_proxy.storage.store import Entry, ForwardingStore, Opened, Store, from_token, start_after, to_token

OPERATIONS = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("store", [ForwardingStore, MemoryStore, S3Store])
def test_every_store_has_every_operation(store, operation):
    """A store's operations take what the protocol says, by the same names and with the same defaults."""
    promised, kept = (inspect.signature(getattr(each, operation)).parameters for each in (Store, store))
    assert [(name, each.default) for name, each in kept.items()] == [
        (name, each.default) for name, each in promised.items()
    ]


@pytest.mark.parametrize("opened", [MemoryObject, S3Object])
def test_every_opened_object_has_what_the_protocol_says(opened):
    """An opened object has its info, its part, its chunks and an end."""
    promised = {name for name in vars(Opened) if not name.startswith("_")}
    assert promised <= set(dir(opened))


@pytest.mark.parametrize(("name", "directory"), [("a", False), ("a/", True), ("/", True)])
def test_an_entry_knows_whether_it_is_a_directory(name, directory):
    """A name that ends in a slash stands for everything below it."""
    assert Entry(name).is_directory is directory


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)


@given(NAMES)
def test_a_name_survives_its_token(name):
    """Whatever a name holds, its token leads back to it, and is never empty."""
    assert (from_token(to_token(name)), bool(to_token(name))) == (name, True)


@given(NAMES)
def test_a_token_needs_no_escape_in_a_query(name):
    """A token is made of letters, digits, `-` and `_`."""
    assert all(character.isascii() and (character.isalnum() or character in "-_") for character in to_token(name))


@pytest.mark.parametrize(
    "token",
    [None, "", "a", "garbage", "====", "é", "\ud800", "L_8", to_token("x" * 1025), to_token("a\0b"), "YQ"],
    ids=ascii,
)
def test_a_text_that_is_no_token_is_the_first_page(token):
    """What no page gave, no key could be or is not text leads to the beginning."""
    assert from_token(token) == ""


@pytest.mark.parametrize(("name", "inside", "following"), [("b/", "d/b/1", "d/b0"), ("b", "d/b", "d/b/1")])
def test_a_listing_goes_on_after_all_that_a_name_stands_for(name, inside, following):
    """A directory is left with everything in it; a file's name may begin others'."""
    assert inside <= start_after("d/", name) < following
