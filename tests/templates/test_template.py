import pytest

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates import golang, jinja, plain
from tornado_proxy.templates.data import TargetKeyRewriteData
from tornado_proxy.templates.template import (
    GO_SPACES,
    LimitError,
    MissingUserError,
    RenderError,
    Template,
    TemplateError,
    TemplateMistake,
    group_number,
    trimmed,
)


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


@pytest.mark.parametrize(
    ("reference", "number"),
    [
        ("0", 0),
        ("1", 1),
        ("10", 10),
        ("999999999", 999_999_999),
        ("1000000000", None),
        ("01", None),
        ("00", None),
        ("1x", None),
        ("x", None),
        ("", None),
        ("٣", None),
        ("²", None),
    ],
)
def test_a_reference_of_digits_is_a_number(reference, number):
    """Leading zeros, other digits and more than nine make a name, as in Go's regexp.extract."""
    assert group_number(reference) == number


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
def test_line_ends_and_outer_spaces_go(text, key):
    """A template may be written over several lines; a lone carriage return and inner spaces stay."""
    assert trimmed(text) == key


def test_spaces_are_those_of_go():
    """Go's unicode.IsSpace holds for what Unicode calls White_Space, and for no separator of information."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")
