from __future__ import annotations

import inspect

import pytest

from tornado_proxy.storage.memory import MemoryObject, MemoryStore
from tornado_proxy.storage.s3 import S3Store
from tornado_proxy.storage.s3.boto3_reads import S3Object
from tornado_proxy.storage.store import Entry, Opened, Store

OPERATIONS = [name for name, _ in inspect.getmembers(Store, inspect.isfunction) if not name.startswith("_")]


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("store", [MemoryStore, S3Store])
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
