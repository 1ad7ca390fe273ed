import pytest
from jinja_texts import rendered

from tornado_proxy.templates.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates.jinja import JinjaTemplate, compile_template


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("/users/{{ user.username }}/{{ groups.rest }}", "/users/ann/b"),
        ("\n  /a\n  {%- if key %}/b{% endif %}\r\n\n", "/a/b"),
        ("  {{ ' a b ' }}\u3000", "a b"),
        ("{{ 'a\nb' }}\rc", "abc"),
        ("", ""),
    ],
)
def test_line_ends_and_outer_spaces_are_no_part_of_a_key(text, result):
    """A template may be laid out; what it writes is one line without spaces around it."""
    assert rendered(text) == result


def test_nothing_is_escaped():
    """A key is not markup."""
    assert rendered("{{ '<&\\'>' }}é{{ '中' }}") == "<&'>é中"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{% for loop in 'ab' %}{% endfor %}", "can't assign to special loop variable in for-loop target"),
        ("{{ range(a=1, a=2) }}", "keyword argument repeated: a"),
        ("{% macro m(a, a) %}{% endmacro %}", "duplicate argument 'l_1_a' in function definition"),
    ],
)
def test_what_only_the_compiler_refuses_is_a_mistake_too(text, message):
    """Whatever a text holds, it compiles or is a mistake."""
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, {}, 0)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% filter length %}abc{% endfilter %}", "sequence item 0: expected str instance, int found"),
        ("{{ 'a' is divisibleby(2) }}", "not all arguments converted during string formatting"),
        ("{% if key %}{% set x = 1 %}{% endif %}{% if x > 'a' %}{% endif %}", None),
    ],
)
def test_errors_of_python_become_errors_of_the_template(text, message):
    """No foreign exception leaves the template."""
    with pytest.raises(RenderError) as caught:
        rendered(text)
    assert message is None or str(caught.value) == message


def test_values_that_nest_deeper_than_python_compares_are_a_limit():
    """Lists within lists by the thousand can be made, but not compared."""
    with pytest.raises(LimitError, match="the template nests too deeply"):
        rendered(
            "{% set n = namespace(x=[], y=[]) %}"
            "{% for i in range(2000) %}{% set n.x = [n.x] %}{% set n.y = [n.y] %}{% endfor %}"
            "{{ n.x == n.y }}"
        )


def test_a_long_message_is_cut_off():
    """Python's messages may hold the values that they speak of."""
    with pytest.raises(RenderError, match=r"^.x+$") as caught:
        rendered("{{ key.split(**{'" + "x" * 900 + "': 1}) }}")
    assert len(str(caught.value)) == 200


def test_templates_of_one_text_are_equal():
    """What was made of the text does not count, and is not shown."""
    first, second = compile_template("/{{ key }}", {}, 0), compile_template("/{{ key }}", {"x": 1}, 1)
    assert isinstance(first, JinjaTemplate)
    assert first == second
    assert repr(first) == "JinjaTemplate(text='/{{ key }}')"
