import pytest

from gotemplate.limits import DEEPEST_TEMPLATE
from gotemplate.template.errors import TemplateMistake
from gotemplate.template.nodes import Branch, Call, Jump, Output, Range, TextNode
from gotemplate.template.parser import parse, parse_start, scan


def _scanned(text):
    """Returns the pieces of a template, with actions between angle brackets."""
    return [f"<{piece.text}>" if piece.is_action else piece.text for piece in scan(text)]


def test_the_depth_of_parentheses_is_limited():
    assert len(_scanned("{{" + "(" * DEEPEST_TEMPLATE + "1" + ")" * DEEPEST_TEMPLATE + "}}")) == 1
    with pytest.raises(TemplateMistake, match="nest deeper"):
        _scanned("{{" + "(" * (DEEPEST_TEMPLATE + 1) + "1")


def _shape(body):
    """Returns a body as text: one letter for a node, with the bodies in it between parentheses."""
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
            return "B" if node.keyword == "break" else "C"


@pytest.mark.parametrize("count", [100, 240, 2000])
def test_a_chain_of_conditions_that_is_too_long_is_a_mistake(count):
    """Each `else if` is a level, because it stands in the `else` of the condition before it."""
    chain = "{{if .}}" + "{{else if .}}" * count + "{{end}}"
    with pytest.raises(TemplateMistake, match="actions nest deeper than 100 levels"):
        parse(chain)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{{define "template-string-loaded"}}x{{.}}{{end}}\n', "xo"),
        ('y{{define "template-string-loaded"}} {{end}}', "y"),
        ('{{if .}}{{template "template-string-loaded" .}}{{end}}', "i(<template-string-loaded>|)"),
    ],
)
def test_the_outermost_template_has_a_name(text, shape):
    """The outermost template can be defined and called by the name that s3-proxy gives to it."""
    assert _shape(parse(text).body) == shape
    assert parse(text).callable[b"template-string-loaded"] == parse(text).body


def test_the_outermost_template_is_defined_once():
    """Text outside of a definition of the outermost template is a second definition."""
    with pytest.raises(TemplateMistake, match="`template-string-loaded` is defined twice") as caught:
        parse('a{{define "template-string-loaded"}}b{{end}}')
    assert (caught.value.offset, caught.value.end) == (10, 34)


def test_too_many_templates_are_a_mistake():
    """The number of defined templates is limited, because their calls may nest as deep."""
    with pytest.raises(TemplateMistake, match="more than 100 templates are defined"):
        parse("".join(f'{{{{define "t{number}"}}}}x{{{{end}}}}' for number in range(101)))


def test_templates_are_defined_by_name():
    """A block defines a template and calls it in its place."""
    parsed = parse('{{define "a"}}x{{end}}{{block "b" .}}y{{end}}')
    assert {name: _shape(body) for name, body in parsed.templates.items()} == {b"a": "x", b"b": "y"}
    assert _shape(parsed.body) == "<b>"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ('{{define "a"}} {{end}}{{define "a"}}x{{end}}', "x"),
        ('{{define "a"}}x{{end}}{{define "a"}} {{end}}', "x"),
        ('{{define "a"}}{{end}}{{define "a"}} {{end}}', " "),
    ],
)
def test_an_empty_definition_may_be_repeated(text, shape):
    """Of two definitions with one name, the one that isn't empty is used."""
    assert _shape(parse(text).templates[b"a"]) == shape


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
def test_unclosed_and_unexpected_actions_are_mistakes(text, message, offset):
    """What Go's parser refuses is a mistake with its offset, which is the start of what is not closed."""
    with pytest.raises(TemplateMistake) as caught:
        parse(text)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_the_depth_of_actions_is_limited():
    assert parse("{{if .}}" * DEEPEST_TEMPLATE + "{{end}}" * DEEPEST_TEMPLATE).body
    with pytest.raises(TemplateMistake, match="nest deeper"):
        parse("{{if .}}" * (DEEPEST_TEMPLATE + 1))


@pytest.mark.parametrize(
    "start", ["", " a \n", '{{ define "x" -}} y {{- end }}', '{{ block "x" . }}{{ end -}} ', "{{/* c */ -}}\n"]
)
@pytest.mark.parametrize(
    "text", ["", "\n b", " {{- .X }}", '{{ template "x" . }}', '{{ define "z" }}{{ end }}', "{{/* d */}}"]
)
def test_a_start_is_parsed_once_for_all_templates(start, text):
    """A template after a start that is parsed already has the tree of the whole text, trimmed as in one text."""
    for before in (start, f"b\n{start}", f"{start}\n"):
        assert parse(before + text, parse_start(before)) == parse(before + text)
