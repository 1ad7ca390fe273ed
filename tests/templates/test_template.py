import pytest

from gotemplate.regexp.matching import Captures
from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates import go, jinja
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.template import MissingUserError, Template, compile_plain, trimmed


@pytest.mark.parametrize("error", [MissingUserError, LimitError])
def test_failures_at_rendering_are_render_errors(error):
    """A missing user and a limit are failures of a request, not mistakes of a template."""
    assert issubclass(error, RenderError)
    assert not issubclass(error, TemplateMistake)


CAPTURES = Captures(("/a/b", "b", None), {"rest": 1, "none": 2})


@pytest.mark.parametrize(
    ("compile_template", "text", "reads_user"),
    [
        (compile_plain, "/x/$rest$none", False),
        (jinja.compile_template, "/x/{{ groups.rest }}{{ groups.none }}", False),
        (go.compile_template, "/x/{{ .Groups.rest }}{{ .Groups.none }}", False),
        (jinja.compile_template, "/x/{% if not user %}{{ groups.rest }}{% else %}{{ user.name }}{% endif %}", True),
        (go.compile_template, "/x/{{ if .Key }}{{ .Groups.rest }}{{ else }}{{ .User.Username }}{{ end }}", True),
    ],
)
def test_all_dialects_have_one_interface(compile_template, text, reads_user):
    """Templates of all dialects are compiled and rendered alike, and a group that took no part is empty."""
    template: Template = compile_template(text, CAPTURES.names, 2)
    assert template.render(CAPTURES, TargetKeyRewriteData("/a/b")) == "/x/b"
    assert (template.text, template.reads_user) == (text, reads_user)
    references = [(name, text[start:end]) for name, start, end in template.group_references]
    assert all(name in reference for name, reference in references)
    assert {name for name, _ in references} >= {"rest"}


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("/a/b", "/a/b"),
        ("\n  /a\n  /b\n", "/a  /b"),
        ("/a\r\n/b\r\n", "/a/b"),
        ("\r\r\n/a\rb\r\n\n", "/a\rb"),
        ("\u3000/a b\xa0\x85", "/a b"),
        ("\x1c/a\x1f", "\x1c/a\x1f"),
        ("\u200b/a\ufeff", "\u200b/a\ufeff"),
        (" \n ", ""),
    ],
)
def test_line_ends_and_outer_spaces_are_removed(text, key):
    """Line ends and outer spaces are removed; a lone carriage return and inner spaces stay."""
    assert trimmed(text) == key


def test_a_plain_template_reads_no_user():
    """A plain template has access to the groups only."""
    assert compile_plain("/$user").reads_user is False


def test_the_representation_of_a_plain_template_is_its_text():
    """The representation leaves out the compiled parts."""
    assert repr(compile_plain("/$1")) == "PlainTemplate(text='/$1')"
