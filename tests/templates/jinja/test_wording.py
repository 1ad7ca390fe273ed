import pytest

from tornado_proxy.templates.errors import TemplateMistake
from tornado_proxy.templates.jinja.environment import KeyEnvironment
from tornado_proxy.templates.jinja.source import parse
from tornado_proxy.templates.jinja.wording import reworded

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
        ("{% fro x in y %}", "there is no statement named `fro`", "did you mean `for`?"),
        ("{% if a %}{% elseif b %}{% endif %}", "there is no statement named `elseif`", "did you mean `elif`?"),
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
