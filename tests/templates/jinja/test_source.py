import pytest
from jinja2 import nodes

from tornado_proxy.templates.jinja.source import parse, reworded
from tornado_proxy.templates.jinja.template import KeyEnvironment
from tornado_proxy.templates.template import TemplateMistake

ENVIRONMENT = KeyEnvironment()


@pytest.mark.parametrize(
    ("text", "message", "cure"),
    [
        ("{{ a }", "unexpected `}`", "`{{` is closed by `}}`, `{%` by `%}`"),
        ("{% if a }x{% endif %}", "unexpected `}`", "`{{` is closed by `}}`, `{%` by `%}`"),
        ("{{", "an action is not closed", "`{{` is closed by `}}`, `{%` by `%}`"),
        ("{# a", "a comment is not closed", "close it with `#}`"),
        ("{% if a %}", "the `if` is not closed", "close it with `{% endif %}`"),
        ("{% raw %}{{ a", "the `raw` is not closed", "close it with `{% endraw %}`"),
        ("{% for x in y %}{% endif %}", "`endif` closes no `for`", "close it with `{% endfor %}`"),
        ("{% fro x in y %}", "unknown statement `fro`", "did you mean `for`?"),
        ("{% if a %}{% elseif b %}{% endif %}", "unknown statement `elseif`", "did you mean `elif`?"),
        ("{{ a b }}", "expected `}}`, found `b`", "`~` joins two values; an expression ends in `}}`"),
        ("{% if a b %}", "expected `%}`, found `b`", "a statement ends in `%}`"),
        ("{{ a = 1 }}", "expected `}}`, found `=`", "`==` compares"),
        ("{{ a && b }}", "unexpected `&`", "both are asked for by `and`"),
        ("{{ a || b }}", "unexpected `||`", "either of two is asked for by `or`"),
        ("{{ !a }}", "unexpected `!`", "the contrary is `not`, and what differs `!=`"),
        ("{{ a ? b : c }}", "unexpected `?`", "a choice is written `a if condition else b`"),
        ("{{ 'a }}", "unexpected `'`", "a text ends in the quote that it begins with"),
        ("{{ a \\ b }}", r"unexpected `\\`", "a backslash stands in quotes only"),
    ],
)
def test_a_mistake_has_a_cure(text, message, cure):
    """What is wrong is said in the words of the documentation, with what to write instead."""
    with pytest.raises(TemplateMistake) as caught:
        parse(ENVIRONMENT, text)
    assert (str(caught.value), caught.value.help) == (message, cure)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 + }}", "an expression is missing before `}}`"),
        ("{% if %}", "an expression is missing before `%}`"),
        ("{{ a. }}", "a name is missing after `.`"),
        ("{{ a) }}", "unexpected `)`"),
        ("{{ (a }}", "expected `)`, found `}`"),
        ("{% for x %}", "expected `in`, found `%}`"),
        ("{% endif %}", "`endif` closes nothing"),
        ("{% else %}", "`else` stands in no `if` and no `for`"),
        ("{% set 1 = 2 %}", "only a name can be given a value"),
        ("{{ a(b=1, 2) }}", "invalid syntax for function call expression"),
    ],
)
def test_a_plain_mistake_needs_none(text, message):
    """Where the fact tells what to do, nothing is added."""
    with pytest.raises(TemplateMistake) as caught:
        parse(ENVIRONMENT, text)
    assert (str(caught.value), caught.value.help) == (message, None)


@pytest.mark.parametrize("text", ["{% %}", "{% break %}"])
def test_where_no_statement_is_meant_all_are_named(text):
    """Whoever misses one is told which there are."""
    with pytest.raises(TemplateMistake) as caught:
        parse(ENVIRONMENT, text)
    assert caught.value.help.startswith("the statements are `if`, `elif`")


def test_words_that_are_not_known_are_kept():
    """A message of another release of Jinja2 is shown as it is, in our form."""
    assert reworded("Something 'odd' happened at 5") == ("something `odd` happened", None)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("{{ a }}", {"a": 3}),
        ("é{{- a }}\n{{ b }}", {"a": 5, "b": 13}),
        ("\r\n{{ a }}\r\n{{b}}", {"a": 5, "b": 13}),
        ("{% if a %}{% raw %}{{ b }}{% endraw %}{{ b }}{% endif %}", {"a": 6, "b": 41}),
        ("{# a #}{{ a }}", {"a": 10}),
    ],
)
def test_every_node_knows_its_offset(text, places):
    """Offsets count code points of the text as written, over line ends, comments and raw parts."""
    tree, tokens = parse(ENVIRONMENT, text)
    found = {node.name: node.lineno for node in tree.find_all(nodes.Name)}
    assert found == places
    assert all(text[start : tokens.end(start)] == name for name, start in places.items())


def test_the_token_behind_another_is_found():
    """The last has none behind it."""
    _, tokens = parse(ENVIRONMENT, "{{ a .b }}")
    assert [tokens.after(start) for start in (0, 3, 5, 6, 8)] == [3, 5, 6, 8, 8]
    assert parse(ENVIRONMENT, "text")[1].end(2) == 2


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("/{{ a b }}", 6, 7, "expected `}}`, found `b`"),
        ("{% foo %}", 3, 6, "unknown statement `foo`"),
        ("{{ a }", 5, 6, "unexpected `}`"),
        ("{{ 1 + }}", 7, 9, "an expression is missing before `}}`"),
        ("é{{ a ? b }}", 6, 7, "unexpected `?`"),
        ('{{ "a }}', 3, 4, 'unexpected `"`'),
        ("{{ a[ }}", 6, 7, "expected `]`, found `}`"),
        ("{# a", 2, 3, "a comment is not closed"),
        ("\r\n\r\n{{ 1 1 }}", 9, 10, "expected `}}`, found a number"),
    ],
)
def test_a_syntax_error_is_told_where_it_is(text, start, end, message):
    """The message stands at the token that it speaks of."""
    with pytest.raises(TemplateMistake) as caught:
        parse(ENVIRONMENT, text)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)


def test_what_is_missing_is_missing_at_the_end():
    """A statement that nothing closes is told behind the last character."""
    with pytest.raises(TemplateMistake, match="the `if` is not closed") as caught:
        parse(ENVIRONMENT, "{% if a %}b")
    assert (caught.value.offset, caught.value.end) == (11, None)


@pytest.mark.parametrize("number", ["9" * 50_000, "0x" + "f" * 50_000, "0b" + "1" * 1025, "1_0" * 400, "1e999"])
def test_a_number_that_is_too_large_is_refused(number):
    """Python could not write it into the compiled template."""
    with pytest.raises(TemplateMistake, match="the number is too large") as caught:
        parse(ENVIRONMENT, "a {{ " + number + " }}")
    assert (caught.value.offset, caught.value.end) == (5, 5 + len(number))


def test_a_number_of_1024_bits_is_read():
    """It is the largest that arithmetic makes."""
    parse(ENVIRONMENT, "{{ 0x" + "f" * 256 + " }}")


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("{{ .User.Username }}", "did you mean `user.username`? names have no dot before them"),
        ("{{ .User.GetUsername }}", "did you mean `user.username`? names have no dot before them"),
        ("{{ .Key }}", "did you mean `key`? names have no dot before them"),
        ("{{ .Groups.Rest }}", "did you mean `groups.Rest`? names have no dot before them"),
        ("{{ .Values.x }}", None),
        ("{{ key ! }}", "the contrary is `not`, and what differs `!=`"),
    ],
)
def test_a_path_of_go_is_answered_with_ours(text, help):
    """The dot before it is a habit of Go's templates."""
    with pytest.raises(TemplateMistake) as raised:
        parse(KeyEnvironment(), text)
    assert raised.value.help == help
