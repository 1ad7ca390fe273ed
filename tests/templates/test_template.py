import pytest

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates import golang, jinja, plain
from tornado_proxy.templates.template import (
    GO_SPACES,
    LimitError,
    MissingUserError,
    RenderError,
    RequestData,
    TargetData,
    TargetKeyRewriteData,
    Template,
    TemplateError,
    TemplateMistake,
    User,
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
