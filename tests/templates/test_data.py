from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.data import TargetData, TargetKeyRewriteData


def test_the_data_of_a_request_has_defaults():
    """A template may be rendered with a key only."""
    data = TargetKeyRewriteData("/a")
    assert (data.user, data.request, data.target) == (None, Request(), TargetData())
    assert (data.request.method, data.request.path, data.request.headers) == ("GET", "/", ())
