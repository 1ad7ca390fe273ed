from __future__ import annotations

import inspect

import pytest

from tornado_proxy.storage import errors
from tornado_proxy.storage.store import ObjectInfo

CLASSES = [error for _, error in inspect.getmembers(errors, inspect.isclass) if error.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_a_storage_error(error):
    """Each error is a subclass of `StorageError`, so that one `except` catches all."""
    assert issubclass(error, errors.StorageError)


def test_errors_have_the_data_of_their_answers():
    """`NotModified` has the object's info and `RangeUnsatisfiable` the object's size, or None if they are unknown."""
    info = ObjectInfo(3)
    assert (errors.NotModified("x", info).info, errors.NotModified("x").info) == (info, None)
    assert (errors.RangeUnsatisfiable("x", 3).size, errors.RangeUnsatisfiable("x").size) == (3, None)
