import pytest

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates.data import RequestData, TargetData, TargetKeyRewriteData, User


def test_what_is_not_told_of_a_request_is_empty():
    """A template may be tried without a request at hand."""
    data = TargetKeyRewriteData("/a")
    assert (data.user, data.request, data.target) == (None, RequestData(), TargetData())
    assert (data.request.method, data.request.path, data.request.headers) == ("GET", "/", ())


def test_captures_without_names_have_none():
    """Names are optional, and cannot be added to what others share."""
    captures = Captures(("/a", None))
    assert dict(captures.names) == {}
    with pytest.raises(TypeError):
        captures.names["x"] = 1


def test_data_is_frozen():
    """Nothing that a template sees can be changed by it."""
    with pytest.raises(AttributeError):
        User("ann").username = "bob"


def test_a_user_without_a_name_is_known_by_the_email_address():
    """The name tells users apart, and the address where there is no name."""
    assert User("ann", email="ann@example.org").identifier == "ann"
    assert User("", email="ann@example.org").identifier == "ann@example.org"
