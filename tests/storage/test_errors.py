from __future__ import annotations

import inspect
import re

import pytest

from tornado_proxy.storage import errors
from tornado_proxy.storage.store import ObjectInfo

CLASSES = [each for _, each in inspect.getmembers(errors, inspect.isclass) if each.__module__ == errors.__name__]


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_stands_in_the_tree(error):
    """The tree that the module's docstring draws has each error there is, and no other."""
    drawn = re.findall(r"^(?:[├└]── )?([A-Z]\w+)", errors.__doc__, re.MULTILINE)
    assert error.__name__ in drawn
    assert len(drawn) == len(CLASSES) + 1  # and the sentence's first word


@pytest.mark.parametrize("error", CLASSES)
def test_every_error_is_a_storage_error(error):
    """One `except` catches them all."""
    assert issubclass(error, errors.StorageError)


def test_errors_carry_what_an_answer_needs():
    """Not modified knows the object's info, an unsatisfiable range its size; both may be unknown."""
    info = ObjectInfo(3)
    assert (errors.NotModified("x", info).info, errors.NotModified("x").info) == (info, None)
    assert (errors.RangeUnsatisfiable("x", 3).size, errors.RangeUnsatisfiable("x").size) == (3, None)
