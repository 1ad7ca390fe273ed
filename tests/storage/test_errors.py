import inspect
import re

from tornado_proxy.storage import errors

CLASSES = [error for _, error in inspect.getmembers(errors, inspect.isclass) if error.__module__ == errors.__name__]


def test_the_tree_has_every_error():
    """The tree in the module's docstring has exactly the errors of the module; one `except` catches all."""
    _first_word_of_the_docstring, *names = re.findall(r"^(?:[├└]── )?([A-Z]\w+)", errors.__doc__, re.MULTILINE)
    assert sorted(names) == [error.__name__ for error in CLASSES]
    assert all(issubclass(error, errors.StorageError) for error in CLASSES)


def test_the_tree_has_every_status():
    """The tree names the status of each error."""
    shown = re.findall(r"^[├└]── (\w+) .* → ([0-9]{3})", errors.__doc__, re.MULTILINE)
    assert {name: int(status) for name, status in shown} == {
        error.__name__: error.status for error in CLASSES if error is not errors.StorageError
    }
