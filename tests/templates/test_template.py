import pytest

from gotemplate.regexp.matching import compile_pattern
from gotemplate.template.errors import LimitError, RenderError, TemplateMistake, marked
from tornado_proxy.semantics.request import Request
from tornado_proxy.templates.template import MissingUserError, TargetData, TargetKeyRewriteData, compile_plain


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


def test_a_plain_template_writes_the_groups():
    """Each text that it inserts is marked if that is asked for."""
    captures, template = compile_pattern("^/(a)(b)?").search("/a"), compile_plain("/$1$2/x")
    assert template.render(captures, TargetKeyRewriteData("/a")) == "/a/x"
    assert template.render(captures, TargetKeyRewriteData("/a"), marked=True) == f"/{marked('a')}/x"
