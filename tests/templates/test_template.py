import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st
from recorded import vectors

from tornado_proxy.goregex.matching import Captures
from tornado_proxy.templates import golang, jinja
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
    compile_plain,
    group_number,
    groups_of,
    trimmed,
)


@pytest.mark.parametrize(
    ("header", "groups"), [("", ()), ("staff", ("staff",)), (" staff,press , ", ("staff", "press")), (",", ())]
)
def test_groups_in_a_header_are_separated_by_commas(header, groups):
    """Spaces around a group and empty groups are left out."""
    assert groups_of(header) == groups


def test_a_mistake_has_a_place_and_help():
    """A mistake has its message, its start and end in the template, and help."""
    mistake = TemplateMistake("unknown variable `usr`", 3, 6, "did you mean `user`?")
    assert (str(mistake), mistake.offset, mistake.end, mistake.help) == (
        "unknown variable `usr`",
        3,
        6,
        "did you mean `user`?",
    )


@pytest.mark.parametrize("error", [MissingUserError, LimitError])
def test_failures_at_rendering_are_render_errors(error):
    """A missing user and a limit are failures of a request, not mistakes of a template."""
    assert issubclass(error, RenderError)
    assert not issubclass(error, TemplateMistake)
    assert issubclass(error, TemplateError)


CAPTURES = Captures(("/a/b", "b", None), {"rest": 1, "none": 2})


@pytest.mark.parametrize(
    ("compile_template", "text", "reads_user"),
    [
        (compile_plain, "/x/$rest$none", False),
        (jinja.compile_template, "/x/{{ groups.rest }}{{ groups.none }}", False),
        (golang.compile_template, "/x/{{ .Groups.rest }}{{ .Groups.none }}", False),
        (jinja.compile_template, "/x/{% if not user %}{{ groups.rest }}{% else %}{{ user.name }}{% endif %}", True),
        (golang.compile_template, "/x/{{ if .Key }}{{ .Groups.rest }}{{ else }}{{ .User.Username }}{{ end }}", True),
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
def test_digits_refer_to_a_group_by_its_number(reference, number):
    """A reference with leading zeros, other digits or more than nine digits is a name, as in Go's regexp.extract."""
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
def test_line_ends_and_outer_spaces_are_removed(text, key):
    """Line ends and outer spaces are removed; a lone carriage return and inner spaces stay."""
    assert trimmed(text) == key


def test_outer_spaces_are_those_of_go():
    """The spaces of Go's unicode.IsSpace are those of Python without the information separators."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")


def test_the_data_of_a_request_has_defaults():
    """A template may be rendered with a key only."""
    data = TargetKeyRewriteData("/a")
    assert (data.user, data.request, data.target) == (None, RequestData(), TargetData())
    assert (data.request.method, data.request.path, data.request.headers) == ("GET", "/", ())


def test_captures_may_have_no_names():
    """The names of captures are empty by default and cannot be changed, because captures share the mapping."""
    captures = Captures(("/a", None))
    assert dict(captures.names) == {}
    with pytest.raises(TypeError):
        captures.names["x"] = 1


def test_the_data_of_a_request_is_frozen():
    """The fields of a user cannot be changed."""
    with pytest.raises(AttributeError):
        User("ann").username = "bob"


def test_the_identifier_of_a_user_is_a_name_or_an_address():
    """The identifier of a user is the user name, or else the email address."""
    assert User("ann", email="ann@example.org").identifier == "ann"
    assert User("", email="ann@example.org").identifier == "ann@example.org"


VECTORS = vectors("expand")


def _rendered(template, groups, names=None):
    return compile_plain(template).render(Captures(groups, names or {}))


def _matches(pattern, text):
    """Yields the matches of a pattern as Go does: an empty match right after another one does not count."""
    position, last_end = 0, -1
    while position <= len(text):
        match = re2.compile(pattern).search(text, position)
        if match is None:
            return
        start, end = match.span()
        if end > start or end != last_end:
            yield match
        last_end, position = end, max(end, start + 1)


def _replaced(vector):
    """Returns the result of Go's ReplaceAll, with each match expanded by a plain template."""
    text, pieces, position = vector["text"], [], 0
    for match in _matches(vector["pattern"], text):
        groups = (match.group(), *match.groups())
        literal = vector["mode"] == "replace_all_literal"
        replacement = vector["template"] if literal else _rendered(vector["template"], groups, match.re.groupindex)
        pieces += text[position : match.start()], replacement
        position = match.end()
    return "".join((*pieces, text[position:]))


def _expanded(vector):
    match = next(_matches(vector["pattern"], vector["text"]))
    return _rendered(vector["template"], (match.group(), *match.groups()), match.re.groupindex)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_expansions_are_those_of_go(vector):
    """A plain template has every recorded result of Go's Expand and ReplaceAll."""
    assert (_expanded if vector["mode"] == "expand" else _replaced)(vector) == vector["expect"]


@pytest.mark.parametrize(
    ("template", "result"),
    [
        ("/x", "/x"),
        ("", ""),
        ("$0", "/a"),
        ("$1$2", "a"),
        ("[$2]", "[]"),
        ("$3$999999999$9999999999", ""),
        ("$name", "a"),
        ("${name}s", "as"),
        ("$names", ""),
        ("${1}0$10", "a0"),
        ("$1x", ""),
        ("$01", "zero"),
        ("$$1$$", "$1$"),
        ("$", "$"),
        ("a$ b$-", "a$ b$-"),
        ("${}${a-b}${name", "${}${a-b}${name"),
        ("$é${é}", ""),
        ("$\u0663", ""),
        ("$\u00b2", "$\u00b2"),
        ("$1\u00b2${1\u00b2}$$", "a\u00b2${1\u00b2}$"),
        (" $1\n", " a\n"),
    ],
)
def test_references_are_expanded_as_in_go(template, result):
    """A name is as long as possible or in braces, two dollars are one, and nothing is trimmed."""
    assert _rendered(template, ("/a", "a", None), {"name": 1, "01": 0, "zero": 0}) == result.replace("zero", "/a")


@pytest.mark.parametrize(
    ("template", "references"),
    [
        ("/a", ()),
        ("/$x/${y_1}/$1", (("x", 1, 3), ("y_1", 4, 10), ("1", 11, 13))),
        ("$$x${}$", ()),
        ("é$x", (("x", 1, 3),)),
    ],
)
def test_references_have_places(template, references):
    """A plain template has the place of each group reference."""
    assert compile_plain(template).group_references == references


def test_a_plain_template_reads_no_user():
    """A plain template has access to the groups only."""
    assert compile_plain("/$user").reads_user is False


def test_the_representation_of_a_plain_template_is_its_text():
    """The representation leaves out the compiled parts."""
    assert repr(compile_plain("/$1")) == "PlainTemplate(text='/$1')"


@given(st.text(st.sampled_from("$a1{}_é "), max_size=12))
def test_any_text_is_a_plain_template(template):
    """Any text compiles as a plain template, with sorted references that begin with a dollar."""
    compiled = compile_plain(template)
    offsets = [offset for _, start, end in compiled.group_references for offset in (start, end)]
    assert offsets == sorted(offsets)
    assert all(template[start] == "$" and end <= len(template) for _, start, end in compiled.group_references)


@given(st.text(max_size=12))
def test_the_text_of_a_group_is_not_expanded(text):
    """The text of a group is inserted as it is, even if it has a dollar."""
    assert _rendered("/x/$1", ("", text)) == f"/x/{text}"
