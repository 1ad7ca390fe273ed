import pytest
from jinja2 import filters, tests
from jinja_texts import rendered

from gotemplate.template.errors import LimitError, RenderBudget, RenderError
from tornado_proxy.templates.jinja_values import FILTERS, LIMITS, TESTS, TEXT_METHODS, apply, formatted


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ -1|abs }}", "1"),
        ("{{ 'aB c'|capitalize }}", "Ab c"),
        ("[{{ 'a'|center(3) }}]", "[ a ]"),
        ("{{ 'abc'|count }}{{ [1, 2]|length }}", "32"),
        ("{{ ''|d('x') }}{{ ''|default('y', true) }}", "y"),
        ("{{ [2, 1]|first }}{{ 'ab'|first }}", "2a"),
        ("{{ '1.5'|float }}{{ 'x'|float }}", "1.50.0"),
        ("{{ '%s-%03d'|format('a', 7) }}{{ '%(x)s'|format(x=1) }}", "a-0071"),
        ("{{ '42'|int }}{{ 'x'|int }}{{ 'x'|int(7) }}{{ 'ff'|int(0, 16) }}", "4207255"),
        ("{{ ['a', 1]|join('-') }}{{ 'ab'|join }}{{ [1, 2]|join(d='+') }}", "a-1ab1+2"),
        ("{{ [1, 2]|last }}{{ 'ab'|last }}", "2b"),
        ("{{ 'ab'|list|join(',') }}{{ {'k': 1}|list|join }}", "a,bk"),
        ("{{ 'AB'|lower }}{{ 'ab'|upper }}{{ 12|lower }}", "abAB12"),
        ("{{ ['a', 'b']|map('upper')|join }}{{ [{'k': 'v'}]|map(attribute='k')|join }}", "ABv"),
        ("{{ [['a'], ['b', 'c']]|map('join', '+')|join(' ') }}", "a b+c"),
        ("{{ [1, 3, 2]|max }}{{ [3, 1]|min }}{{ ['b', 'A']|min }}", "31A"),
        ("{{ [1, 2, 3]|select('odd')|join }}{{ [1, 2, 3]|reject('odd')|join }}", "132"),
        ("{{ [0, 1, '']|select|join }}{{ [0, 1, '']|reject|join }}", "10"),
        ("{{ [1, 2, 3]|select('gt', 1)|join }}", "23"),
        ("{{ 'a/b/c'|replace('/', '-') }}{{ 'aaa'|replace('a', 'b', 2) }}", "a-b-cbba"),
        ("{{ 'abc'|reverse }}{{ [1, 2]|reverse|join }}", "cba21"),
        ("{{ 1.25|round(1) }}{{ 1.2|round(0, 'ceil') }}{{ 1.7|round(method='floor')|int }}", "1.22.01"),
        ("{{ ['b', 'A', 'c']|sort|join }}{{ [1, 2]|sort(reverse=true)|join }}", "Abc21"),
        ("{{ 1|string ~ 2|string }}", "12"),
        ("{{ [1, 2]|sum }}{{ [1.5]|sum(1) }}", "32.5"),
        ("{{ 'ab cd-ef'|title }}", "Ab Cd-Ef"),
        ("[{{ ' a '|trim }}{{ 'xax'|trim('x') }}]", "[aa]"),
        ("{{ 'abcdef'|truncate(3, true, '') }}{{ 'ab'|truncate(9) }}", "abcdefab"),
        ("{{ 'abcdefghij'|truncate(3, true, '', 0) }}", "abc"),
        ("{{ ['a', 'A', 'b']|unique|join }}", "ab"),
        ("{{ 'a b/é'|urlencode }}", "a%20b/%C3%A9"),
        ("{% filter upper %}a{{ key }}{% endfilter %}", "A/A/B"),
    ],
)
def test_filters_have_the_results_of_jinja(text, result):
    assert rendered(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ []|first }}", "no first item, sequence was empty"),
        ("{{ []|max }}", "no aggregated item, sequence was empty"),
        ("{{ ['a']|sum }}", "`sum` takes a list of numbers"),
        ("{{ 1.5|round(400) }}", "`round` keeps at most 15 digits"),
        ("{{ 1.5|round(0, 'up') }}", "method must be common, ceil or floor"),
        ("{{ [1]|map('nope')|list }}", "unknown filter `nope`"),
        ("{{ [1]|map(' spend', -9, -9)|list }}", "unknown filter ` spend`"),
        ("{{ [1]|select('nope')|list }}", "unknown test `nope`"),
        ("{{ [[1]]|join }}", "a list cannot be written as text"),
        ("{{ user|upper }}", "`user` cannot be written as text"),
        ("{{ none|length }}", "object of type `NoneType` has no len()"),
    ],
)
def test_a_filter_that_fails_has_a_message(text, message):
    with pytest.raises(RenderError) as caught:
        rendered(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x'|center(10**9) }}",
        "{{ ('a' * 1000)|replace('a', 'b' * 60000) }}",
        "{{ ('a' * 1000)|replace('', 'b' * 60000) }}",
        "{{ (['a' * 9000] * 9000)|join }}",
        "{{ ('ab' * 9000)|join('c' * 9000) }}",
        "{{ '%999999999d'|format(1) }}",
        "{{ '%(a)999999999d'|format(a=1) }}",
        "{% set x = 'a b ' * 15000 %}{% for i in range(99) %}{% set y = x|title %}{% endfor %}",
        "{% set x = 'a b ' * 15000 %}{% for i in range(2000) %}{% set y = x|length %}{% endfor %}",
        "{{ ('é' * 60000)|urlencode }}",
        "{{ ('a' * 60000)|list|list|list }}",
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x is eq(n.x) }}",
    ],
)
def test_filters_and_tests_stay_within_the_budget(text):
    """What makes a large result, or reads large values, exceeds a limit."""
    with pytest.raises(LimitError):
        rendered(text)


def test_random_and_unsafe_filters_are_left_out():
    assert set(FILTERS) <= set(filters.FILTERS)
    assert not {"random", "attr", "groupby", "map_attr", "pprint", "safe", "xmlattr", "tojson"} & set(FILTERS)


@pytest.mark.parametrize(
    "condition",
    [
        "1 is defined", "request.query.zz is undefined", "none is none", "1 is not none", "1 is number",
        "1 is integer", "1.5 is float", "true is boolean", "true is true", "false is false", "'a' is string",
        "{} is mapping", "2 is even", "3 is odd", "6 is divisibleby(3)", "'a' is lower", "'A' is upper", "1 is eq(1)",
        "1 is equalto 1", "1 is ne 2", "1 is lt 2", "2 is gt 1", "1 is le 1", "1 is ge 1", "'a' is in ['a']",
    ],
)  # fmt: skip
def test_tests_have_the_results_of_jinja(condition):
    assert rendered(f"{{{{ {condition} }}}}") == "True"


def test_every_test_is_one_of_jinja():
    assert set(TESTS) <= set(tests.TESTS)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("%s-%s", ("ab", 12)),
        ("%05d", 7),
        ("%+.3f", 1.5),
        ("%f", 1e308),
        ("%(a)9s%(b)s", {"a": "x", "b": True}),
        ("%%", ()),
        ("%99d", 1),
        ("%.99f", 1e308),
        ("%(a)s" * 9, {"a": "x" * 999}),
    ],
)
def test_formatted_texts_fit_into_the_calculated_size(text, values):
    assert len(text % values) <= formatted(text, values)


def test_methods_are_those_of_texts():
    """Each listed method is one of Python's texts, and methods that format or encode are left out."""
    assert all(callable(getattr("", name)) for name in TEXT_METHODS)
    assert not {"format", "format_map", "encode", "translate", "expandtabs"} & set(TEXT_METHODS)


@pytest.mark.parametrize(
    ("operator", "left", "right", "result"),
    [
        ("+", 1, 2, 3),
        ("-", 1.5, 1, 0.5),
        ("*", 3, 4, 12),
        ("/", 1, 2, 0.5),
        ("//", 7, 2, 3),
        ("%", -3, 2, 1),
        ("**", 2, 10, 1024),
        ("**", 2, -1, 0.5),
        ("**", 2.0, 3, 8.0),
        ("+", "a", "b", "ab"),
        ("+", [1], [2], [1, 2]),
        ("+", (1,), (2,), (1, 2)),
        ("*", "ab", 2, "abab"),
        ("*", 2, "ab", "abab"),
        ("*", "ab", -1, ""),
        ("*", [0], 3, [0, 0, 0]),
        ("*", 2, (0,), (0, 0)),
        ("%", "%s/%03d", ("a", 7), "a/007"),
        ("%", "%(x)s", {"x": "y"}, "y"),
    ],
)
def test_operators_are_those_of_python(operator, left, right, result):
    """Operators calculate numbers, join and repeat texts and lists, and format texts."""
    assert apply(RenderBudget(LIMITS), operator, left, right) == result


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("*", "a", 300_000_000),
        ("*", 300_000_000, "a"),
        ("*", [1], 300_000_000),
        ("*", 300_000_000, (1,)),
        ("**", 2, 10**8),
        ("**", 10**300, 4),
        ("*", 10**300, 10**300),
        ("%", "%1000000000d", 1),
        ("%", "%*d", (10**9, 1)),
        ("+", "a" * 40_000, "b" * 40_000),
        ("+", [0] * 40_000, [0] * 40_000),
    ],
)
def test_results_of_operators_are_limited(operator, left, right):
    """An operator with a result that is too large is refused before the result is made."""
    with pytest.raises(LimitError):
        apply(RenderBudget(LIMITS), operator, left, right)


@pytest.mark.parametrize(
    ("operator", "left", "right", "message"),
    [
        ("+", "a", 1, "`+` cannot be put between a text and a number"),
        ("-", "a", "b", "`-` cannot be put between a text and a text"),
        ("/", [1], 2, "`/` cannot be put between a list and a number"),
        ("+", None, "a", "`+` cannot be put between `none` and a text"),
        ("*", "a", "b", "`*` cannot be put between a text and a text"),
    ],
)
def test_operators_between_other_values_are_refused(operator, left, right, message):
    """The message describes the values, without Python's names of types."""
    with pytest.raises(RenderError) as caught:
        apply(RenderBudget(LIMITS), operator, left, right)
    assert str(caught.value) == message
