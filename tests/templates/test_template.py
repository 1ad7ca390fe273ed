import pytest

from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates.template import MissingUserError


@pytest.mark.parametrize("error", [MissingUserError, LimitError])
def test_failures_at_rendering_are_render_errors(error):
    """A missing user and a limit are failures of a request, not mistakes of a template."""
    assert issubclass(error, RenderError)
    assert not issubclass(error, TemplateMistake)
