from tornado_proxy.templates.errors import RenderError
from tornado_proxy.templates.golang.failures import ExecutionError


def test_a_failure_says_what_failed_once_that_is_known():
    """The part of the template stands behind the fact."""
    error = ExecutionError("there is nothing to compare with")
    assert isinstance(error, RenderError)
    assert str(error) == "there is nothing to compare with"
    error.context = "eq .X"
    assert str(error) == "there is nothing to compare with, in `eq .X`"
