import pytest

from tornado_proxy.templates.errors import LimitError, MissingUserError, RenderError, TemplateError, TemplateMistake


def test_a_mistake_has_a_place_and_a_cure():
    """What is found at load can be pointed at."""
    mistake = TemplateMistake("unknown variable `usr`", 3, 6, "did you mean `user`?")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "unknown variable `usr`",
        3,
        6,
        "did you mean `user`?",
    )


@pytest.mark.parametrize("kind", [MissingUserError, LimitError])
def test_failures_at_rendering_are_of_one_kind(kind):
    """A missing user and a limit are failures of one request, not mistakes of the text."""
    assert issubclass(kind, RenderError)
    assert not issubclass(kind, TemplateMistake)
    assert issubclass(kind, TemplateError)
