import pytest

from tornado_proxy.routing import errors


@pytest.mark.parametrize("kind", [errors.BadAddress, errors.BadPath, errors.BadFileName, errors.KeyTooLong])
def test_every_error_is_answered_as_the_tree_says(kind):
    """Each error of the tree is a request error, whose status the tree in the docstring names."""
    assert issubclass(kind, errors.RequestError)
    line = next(line for line in (errors.__doc__ or "").splitlines() if kind.__name__ in line)
    assert line.endswith(f"→ {kind.status}")
