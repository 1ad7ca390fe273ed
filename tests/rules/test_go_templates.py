import pytest

from tornado_proxy.rules.go_templates import compile_go_template, compile_regex
from tornado_proxy.templates.data import Captures, TargetKeyRewriteData
from tornado_proxy.templates.errors import RenderError, TemplateMistake


def _rendered(text):
    return compile_go_template(text, {}, 0).render(Captures(("/k",)), TargetKeyRewriteData("/Kαx"))


@pytest.mark.parametrize(
    ("template", "key"),
    [
        ('{{ regexFind "\\\\p{Greek}" .Key }}', "α"),
        ('{{ regexFind "\\\\p{Letter}+" .Key }}', "Kαx"),
        ('{{ regexReplaceAll "(?P<a>x)|(?P<a>K)" .Key "<$a>" }}', "/<K>α<x>"),
    ],
)
def test_expressions_in_templates_are_read_as_sources_are(template, key):
    """Go's names of classes, and two groups of one name, are no matter."""
    assert _rendered(template) == key


def test_what_go_refuses_is_refused_in_templates_as_well():
    r"""`\C` is known to RE2 only."""
    with pytest.raises(TemplateMistake, match="is no regular expression"):
        _rendered('{{ regexFind "\\\\C" .Key }}')
    with pytest.raises(RenderError, match="is no regular expression"):
        _rendered('{{ regexFind (print "\\\\" "C") .Key }}')


def test_an_expression_is_read_once():
    """However many templates and requests use it."""
    assert compile_regex("a+", 1 << 20) is compile_regex("a+", 1 << 20)
