import pytest

from tornado_proxy.templates.golang.nodes import Branch, Call, Jump, Output, Range, TextNode
from tornado_proxy.templates.golang.parser import DEEPEST, TemplatePiece, parse, scan
from tornado_proxy.templates.template import TemplateMistake


def _shown(text):
    return [f"<{piece.text}>" if piece.is_action else piece.text for piece in scan(text)]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", []),
        ("plain", ["plain"]),
        ("a{{.X}}b", ["a", "<.X>", "b"]),
        ("{{ .X }}", ["< .X >"]),
        ("a \n{{- .X -}}\t b", ["a", "< .X>", "b"]),
        (" {{- .X}}", ["< .X>"]),
        ("{{-3}}", ["<-3>"]),
        ("{{.X -}} ", ["<.X>"]),
        ('{{"}}"}}{{`}}`}}{{\'"\'}}', ['<"}}">', "<`}}`>", "<'\"'>"]),
        (r'{{"\"}}"}}', [r'<"\"}}">']),
        ("{.X}}", ["{.X}}"]),
        ("{{(}}", ["<(>"]),
    ],
)
def test_text_and_actions_take_turns(text, pieces):
    """White space beside a trim marker goes; strings may hold delimiters."""
    assert _shown(text) == pieces


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a {{/* c */}} b", ["a ", " b"]),
        ("a {{- /* c */ -}} b", ["a", "b"]),
        ("a {{/* {{.X}} */ -}}\n b", ["a ", "b"]),
    ],
)
def test_comments_are_nothing(text, pieces):
    """Their trim markers count all the same."""
    assert _shown(text) == pieces


def test_pieces_know_their_places():
    """Offsets are code points of the whole text."""
    assert list(scan("é{{- .X }}")) == [TemplatePiece("é", 0), TemplatePiece(" .X ", 4, is_action=True)]


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("ab{{.X", "an action is not closed", 2),
        ("{{/* c }}", "a comment is not closed", 0),
        ("{{/* c */ }}", "a comment does not end its action", 7),
        ('{{"a}}', "a quoted string is not closed", 2),
        ("{{ 'a}}", "a character constant is not closed", 3),
        ("{{`a}}", "a raw string is not closed", 2),
        ('{{"a\n"}}', "a quoted string is not closed", 2),
    ],
)
def test_what_is_not_closed_is_reported_where_it_begins(text, message, offset):
    """The rest of the template is not read."""
    with pytest.raises(TemplateMistake) as caught:
        list(scan(text))
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_parentheses_nest_to_a_depth():
    """One more level is refused."""
    assert len(_shown("{{" + "(" * DEEPEST + "1" + ")" * DEEPEST + "}}")) == 1
    with pytest.raises(TemplateMistake, match="nest deeper"):
        _shown("{{" + "(" * (DEEPEST + 1) + "1")


def _shape(body):
    """A body in brackets: one letter a node, in parentheses what is inside it."""
    return "".join(_letter(node) for node in body)


def _letter(node):
    match node:
        case TextNode():
            return node.value.decode()
        case Output():
            return "o"
        case Branch():
            return f"{'w' if node.sets_dot else 'i'}({_shape(node.body)}|{_shape(node.otherwise)})"
        case Range():
            return f"r({_shape(node.body)}|{_shape(node.otherwise)})"
        case Call():
            return f"<{node.name.decode()}>"
        case Jump():
            return "B" if node.leaves else "C"


@pytest.mark.parametrize("count", [100, 240, 2000])
def test_a_chain_of_conditions_that_is_too_long_is_a_mistake(count):
    """Each `else if` is a level, for it stands in the `else` of the one before."""
    chain = "{{if .}}" + "{{else if .}}" * count + "{{end}}"
    with pytest.raises(TemplateMistake, match="actions nest deeper than 100 levels"):
        parse(chain)


def test_a_chain_of_conditions_leaves_no_level_behind():
    """What follows may nest as deep as before."""
    chain = "{{if .}}" + "{{else if .}}" * 60 + "{{end}}"
    assert _shape(parse(chain * 3 + "{{if .}}" * 100 + "{{end}}" * 100).body).count("i") == 283


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{{define "template-string-loaded"}}x{{.}}{{end}}\n', "xo"),
        ('y{{define "template-string-loaded"}} {{end}}', "y"),
        ('{{if .}}{{template "template-string-loaded" .}}{{end}}', "i(<template-string-loaded>|)"),
    ],
)
def test_the_outermost_template_has_a_name(text, shape):
    """It can be defined by that, and called: it is what s3-proxy gives it."""
    assert _shape(parse(text).body) == shape
    assert parse(text).callable[b"template-string-loaded"] == parse(text).body


def test_the_outermost_template_is_defined_once():
    """Text beside its definition would be another one."""
    with pytest.raises(TemplateMistake, match="`template-string-loaded` is defined twice") as caught:
        parse('a{{define "template-string-loaded"}}b{{end}}')
    assert (caught.value.offset, caught.value.end) == (10, 34)


def test_too_many_templates_are_a_mistake():
    """Whoever follows their calls goes as deep as there are templates."""
    with pytest.raises(TemplateMistake, match="more than 100 templates are defined"):
        parse("".join(f'{{{{define "t{number}"}}}}x{{{{end}}}}' for number in range(101)))


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("a{{.}}b", "aob"),
        ("{{if .}}x{{end}}", "i(x|)"),
        ("{{if .}}x{{else}}y{{end}}", "i(x|y)"),
        ("{{if .}}x{{else if .}}y{{else}}z{{end}}", "i(x|i(y|z))"),
        ("{{with .}}x{{else with .}}y{{end}}", "w(x|w(y|))"),
        ("{{range .}}x{{break}}{{continue}}{{else}}y{{end}}", "r(xBC|y)"),
        ("{{range .}}{{if .}}{{break}}{{end}}{{end}}", "r(i(B|)|)"),
        ('{{template "a"}}{{template "b" .}}', "<a><b>"),
        ("{{if .}}{{/* c */}}{{end}}", "i(|)"),
    ],
)
def test_actions_nest_as_their_keywords_say(text, shape):
    """Each body ends with its `end`, `else if` with the same."""
    assert _shape(parse(text).body) == shape


def test_templates_are_defined_by_name():
    """A block is one as well, called where it stands."""
    parsed = parse('{{define "a"}}x{{end}}{{block "b" .}}y{{end}}')
    assert {name: _shape(body) for name, body in parsed.templates.items()} == {b"a": "x", b"b": "y"}
    assert _shape(parsed.body) == "<b>"


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{{define "a"}} {{end}}{{define "a"}}x{{end}}', "x"),
        ('{{define "a"}}x{{end}}{{define "a"}} {{end}}', "x"),
        ('{{define "a"}}{{end}}{{define "a"}} {{end}}', " "),
    ],
)
def test_of_two_templates_of_one_name_one_may_be_empty(text, kept):
    """The other one is used."""
    assert _shape(parse(text).templates[b"a"]) == kept


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("{{end}}", "there is nothing to `end`", 2),
        ("{{else}}", "there is nothing to `else`", 2),
        ("a{{if .}}x", "the `if` is not closed", 3),
        ('{{define "a"}}', "the `define` is not closed", 2),
        ("{{if .}}{{else}}{{else}}{{end}}", "`else` does not belong to `if`", 18),
        ("{{if .}}{{else with .}}{{end}}", "`else with` does not belong to `if`", 10),
        ("{{range .}}{{else if .}}{{end}}", "`else if` does not belong to `range`", 13),
        ("{{range .}}{{else}}{{else}}{{end}}", "`else` does not belong to `range`", 21),
        ('{{define "a"}}{{else}}{{end}}', "`else` does not belong to `define`", 16),
        ("{{break}}", "there is no `range` to break", 2),
        ("{{range .}}{{end}}{{continue}}", "there is no `range` to continue", 20),
        ("{{range .}}{{else}}{{break}}{{end}}", "there is no `range` to break", 21),
        ('{{range .}}{{block "a" .}}{{break}}{{end}}{{end}}', "there is no `range` to break", 28),
        ('{{if .}}{{define "a"}}{{end}}{{end}}', "a template is defined at the outermost level only", 10),
        ('{{define "a"}}x{{end}}{{define "a"}}y{{end}}', "the template `a` is defined twice", 31),
    ],
)
def test_what_does_not_fit_is_a_mistake_with_its_place(text, message, offset):
    """Go's parser refuses it too."""
    with pytest.raises(TemplateMistake) as caught:
        parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_actions_nest_to_a_depth():
    """One more level is refused."""
    assert parse("{{if .}}" * DEEPEST + "{{end}}" * DEEPEST).body
    with pytest.raises(TemplateMistake, match="nest deeper"):
        parse("{{if .}}" * (DEEPEST + 1))
