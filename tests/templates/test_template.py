import pytest

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates import golang, jinja, plain
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.template import Template

CAPTURES = Captures(("/a/b", "b", None), {"rest": 1, "none": 2})


@pytest.mark.parametrize(
    ("dialect", "text", "reads_user"),
    [
        (plain, "/x/$rest$none", False),
        (jinja, "/x/{{ groups.rest }}{{ groups.none }}", False),
        (golang, "/x/{{ .Groups.rest }}{{ .Groups.none }}", False),
        (jinja, "/x/{% if not user %}{{ groups.rest }}{% else %}{{ user.name }}{% endif %}", True),
        (golang, "/x/{{ if .Key }}{{ .Groups.rest }}{{ else }}{{ .User.Username }}{{ end }}", True),
    ],
)
def test_every_dialect_keeps_the_same_promises(dialect, text, reads_user):
    """One signature compiles, one renders; a group that took no part is empty in each."""
    template: Template = dialect.compile_template(text, CAPTURES.names, 2)
    assert template.render(CAPTURES, TargetKeyRewriteData("/a/b")) == "/x/b"
    assert (template.text, template.reads_user) == (text, reads_user)
    names = [(name, text[start:end]) for name, start, end in template.group_references]
    assert all(name in shown for name, shown in names)
    assert {name for name, _ in names} >= {"rest"}
