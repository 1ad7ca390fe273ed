import json
from pathlib import Path

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

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
    trimmed,
)


def test_a_mistake_has_a_place_and_help():
    """Editors can mark it."""
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
    ("compile_template", "text", "reads_user"),
    [
        (compile_plain, "/x/$rest$none", False),
        (jinja.compile_template, "/x/{{ groups.rest }}{{ groups.none }}", False),
        (golang.compile_template, "/x/{{ .Groups.rest }}{{ .Groups.none }}", False),
        (jinja.compile_template, "/x/{% if not user %}{{ groups.rest }}{% else %}{{ user.name }}{% endif %}", True),
        (golang.compile_template, "/x/{{ if .Key }}{{ .Groups.rest }}{{ else }}{{ .User.Username }}{{ end }}", True),
    ],
)
def test_every_dialect_keeps_the_same_promises(compile_template, text, reads_user):
    """One signature compiles, one renders; a group that took no part is empty in each."""
    template: Template = compile_template(text, CAPTURES.names, 2)
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
    """With leading zeros, other digits or more than nine of them it is a name, as in Go's regexp.extract."""
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
    """Go's unicode.IsSpace holds for Unicode's White_Space, but not for the information separators."""
    python = {chr(code) for code in range(0x110000) if chr(code).isspace()}
    assert set(GO_SPACES) == python - set("\x1c\x1d\x1e\x1f")


def test_data_has_defaults():
    """A template can be tried without a request."""
    data = TargetKeyRewriteData("/a")
    assert (data.user, data.request, data.target) == (None, RequestData(), TargetData())
    assert (data.request.method, data.request.path, data.request.headers) == ("GET", "/", ())


def test_captures_without_names_have_none():
    """Names are optional, and cannot be added: others share the mapping."""
    captures = Captures(("/a", None))
    assert dict(captures.names) == {}
    with pytest.raises(TypeError):
        captures.names["x"] = 1


def test_data_is_frozen():
    """A template cannot change its data."""
    with pytest.raises(AttributeError):
        User("ann").username = "bob"


def test_a_user_without_a_name_is_known_by_the_email_address():
    """The name identifies users, else the address."""
    assert User("ann", email="ann@example.org").identifier == "ann"
    assert User("", email="ann@example.org").identifier == "ann@example.org"


VECTORS = json.loads((Path(__file__).parents[1] / "vectors/expand.json").read_text(encoding="utf-8"))["vectors"]


def _rendered(template, groups, names=None):
    return compile_plain(template).render(Captures(groups, names or {}))


def _matches(pattern, text):
    """Go's matches: an empty one right after another does not count (Regexp.allMatches)."""
    position, last = 0, -1
    while position <= len(text):
        found = re2.compile(pattern).search(text, position)
        if found is None:
            return
        start, end = found.span()
        if end > start or end != last:
            yield found
        last, position = end, max(end, start + 1)


def _replaced(vector):
    """Go's ReplaceAll around our expansion of each match."""
    text, pieces, position = vector["text"], [], 0
    for found in _matches(vector["pattern"], text):
        groups = (found.group(), *found.groups())
        literal = vector["mode"] == "replace_all_literal"
        made = vector["template"] if literal else _rendered(vector["template"], groups, found.re.groupindex)
        pieces += text[position : found.start()], made
        position = found.end()
    return "".join((*pieces, text[position:]))


def _expanded(vector):
    found = next(_matches(vector["pattern"], vector["text"]))
    return _rendered(vector["template"], (found.group(), *found.groups()), found.re.groupindex)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
def test_recorded_expansions_of_go_come_out_the_same(vector):
    """Every recorded answer of Go's Expand and ReplaceAll is ours."""
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
def test_dollars_are_read_as_go_reads_them(template, result):
    """The longest name counts, braces end it, two dollars are one, and nothing is trimmed."""
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
    """A check can point at each group that a template names."""
    assert compile_plain(template).group_references == references


def test_a_plain_template_reads_no_user():
    """It sees the groups only."""
    assert compile_plain("/$user").reads_user is False


def test_a_plain_template_is_shown_as_its_text():
    """Its parts are left out."""
    assert repr(compile_plain("/$1")) == "PlainTemplate(text='/$1')"


@given(st.text(st.sampled_from("$a1{}_é "), max_size=12))
def test_no_text_is_refused(template):
    """Every text is a plain template; its references follow one another."""
    compiled = compile_plain(template)
    places = [place for _, start, end in compiled.group_references for place in (start, end)]
    assert places == sorted(places)
    assert all(template[start] == "$" and end <= len(template) for _, start, end in compiled.group_references)


@given(st.text(max_size=12))
def test_a_group_is_inserted_as_it_is(text):
    """The text of a group is not a template."""
    assert _rendered("/x/$1", ("", text)) == f"/x/{text}"
