import pytest
from go_programs import GO

from tornado_proxy.templates.golang.actions import DEEPEST
from tornado_proxy.templates.golang.nodes import Branch, Call, Jump, Output, Range, TextNode
from tornado_proxy.templates.golang.parser import parse
from tornado_proxy.templates.template import TemplateMistake, refuse


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
        parse(chain, GO)


def test_a_chain_of_conditions_leaves_no_level_behind():
    """What follows may nest as deep as before."""
    chain = "{{if .}}" + "{{else if .}}" * 60 + "{{end}}"
    assert _shape(parse(chain * 3 + "{{if .}}" * 100 + "{{end}}" * 100, GO).body).count("i") == 283


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
    assert _shape(parse(text, GO).body) == shape
    assert parse(text, GO).callable[b"template-string-loaded"] == parse(text, GO).body


def test_the_outermost_template_is_defined_once():
    """Text beside its definition would be another one."""
    with pytest.raises(TemplateMistake, match="`template-string-loaded` is defined twice") as caught:
        parse('a{{define "template-string-loaded"}}b{{end}}', GO)
    assert (caught.value.offset, caught.value.end) == (10, 34)


def test_too_many_templates_are_a_mistake():
    """Whoever follows their calls goes as deep as there are templates."""
    with pytest.raises(TemplateMistake, match="more than 100 templates are defined"):
        parse("".join(f'{{{{define "t{number}"}}}}x{{{{end}}}}' for number in range(101)), GO)


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
    assert _shape(parse(text, GO).body) == shape


def test_templates_are_defined_by_name():
    """A block is one as well, called where it stands."""
    parsed = parse('{{define "a"}}x{{end}}{{block "b" .}}y{{end}}', GO)
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
    """The other counts."""
    assert _shape(parse(text, GO).templates[b"a"]) == kept


@pytest.mark.parametrize(
    "text",
    [
        "{{$x := 1}}{{$x}}",
        "{{if $x := 1}}{{$x}}{{else}}{{$x}}{{end}}",
        "{{range $i, $e := .}}{{$i}}{{$e}}{{end}}",
        "{{with $x := 1}}{{end}}{{$x := 2}}{{$x}}",
        "{{($x := 1)}}{{$x}}",
        "{{$}}",
        "{{$x = 1}}{{$x}}",
        '{{template "a" $x := 1}}{{$x}}',
    ],
)
def test_variables_are_known_from_their_declaration_to_the_end_of_their_body(text):
    """An assignment counts as one, which Go finds wrong only when it runs."""
    assert parse(text, GO).body


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
        ("{{$x}}", "unknown variable `$x`", 2),
        ("{{with $x := 1}}{{end}}{{$x.Y}}", "unknown variable `$x`", 25),
        ('{{$x := 1}}{{define "a"}}{{$x}}{{end}}', "unknown variable `$x`", 27),
        ("{{print (len $x).y}}", "unknown variable `$x`", 13),
        ("{{nope}}", "unknown function `nope`", 2),
        ("{{print if}}", "the keyword `if` cannot stand here", 8),
        ("{{$x, $y := .}}", "two variables are declared by a `range` only", 2),
        ("{{range ($x, $y := .)}}{{end}}", "two variables are declared by a `range` only", 8),
        ("{{1 | 2}}", "a constant takes no piped value", 6),
        ("{{1 | print | .}}", "a constant takes no piped value", 14),
    ],
)
def test_what_does_not_fit_is_a_mistake_with_its_place(text, message, offset):
    """As Go's parser refuses it."""
    with pytest.raises(TemplateMistake) as caught:
        refuse(parse(text, GO).mistakes)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_an_action_that_is_not_closed_hides_no_unknown_name():
    """What was found before the text could not be read on is told after that."""
    with pytest.raises(TemplateMistake) as caught:
        parse("{{nope $x}}{{if .}}", GO)
    found = [str(mistake) for mistake in (caught.value, *caught.value.others)]
    assert found == ["the `if` is not closed", "unknown function `nope`", "unknown variable `$x`"]


def test_actions_nest_to_a_depth():
    """One more is refused."""
    assert parse("{{if .}}" * DEEPEST + "{{end}}" * DEEPEST, GO).body
    with pytest.raises(TemplateMistake, match="nest deeper"):
        parse("{{if .}}" * (DEEPEST + 1), GO)
