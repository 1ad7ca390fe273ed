import pytest

from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.template import MissingUserError, TargetData, TargetKeyRewriteData


@pytest.mark.parametrize("error", [MissingUserError, LimitError])
def test_failures_at_rendering_are_render_errors(error):
    """A missing user and a limit are failures of a request, not mistakes of a template."""
    assert issubclass(error, RenderError)
    assert not issubclass(error, TemplateMistake)


def test_the_data_of_a_request_has_defaults():
    """A template may be rendered with a key only."""
    data = TargetKeyRewriteData("/a")
    assert (data.user, data.request, data.target) == (None, Request(), TargetData())
    assert (data.request.method, data.request.path, data.request.headers) == ("GET", "/", ())
