import pytest
from jinja2 import filters, tests
from jinja_texts import rendered

from tornado_proxy.templates.jinja.filters import FILTERS, TESTS
from tornado_proxy.templates.template import LimitError, RenderError


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
def test_filters_do_what_jinja_documents(text, result):
    """Those that a key may need are here, with their arguments."""
    assert rendered(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ []|first }}", "no first item, sequence was empty"),
        ("{{ []|max }}", "no aggregated item, sequence was empty"),
        ("{{ ['a']|sum }}", "`sum` adds up numbers"),
        ("{{ 1.5|round(400) }}", "`round` keeps at most 15 digits"),
        ("{{ 1.5|round(0, 'up') }}", "method must be common, ceil or floor"),
        ("{{ [1]|map('nope')|list }}", "unknown filter `nope`"),
        ("{{ [1]|map(' spend', -9, -9)|list }}", "unknown filter ` spend`"),
        ("{{ [1]|select('nope')|list }}", "no test named `nope`"),
        ("{{ [[1]]|join }}", "a list has no text"),
        ("{{ user|upper }}", "`user` has no text"),
        ("{{ none|length }}", "object of type `NoneType` has no len()"),
    ],
)
def test_filters_that_cannot_do_their_work_say_why(text, message):
    """Nothing comes out empty instead."""
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
        "{{ ('a b ' * 15000)|title|title }}",
        "{% set x = 'a b ' * 15000 %}{% for i in range(2000) %}{% set y = x|length %}{% endfor %}",
        "{{ ('é' * 60000)|urlencode }}",
        "{{ ('a' * 60000)|list|list|list }}",
    ],
)
def test_filters_stay_within_the_budget(text):
    """What makes much of little, and what reads much, is cut off."""
    with pytest.raises(LimitError):
        rendered(text)


def test_no_filter_is_random_or_reaches_for_attributes_made_at_rendering():
    """What is left out of Jinja2's filters is left out on purpose."""
    assert set(FILTERS) <= set(filters.FILTERS)
    assert not {"random", "attr", "groupby", "map_attr", "pprint", "safe", "xmlattr", "tojson"} & set(FILTERS)


@pytest.mark.parametrize(
    "test",
    [
        "1 is defined",
        "request.query.zz is undefined",
        "none is none",
        "1 is not none",
        "1 is number",
        "1 is integer",
        "1.5 is float",
        "true is boolean",
        "true is true",
        "false is false",
        "'a' is string",
        "{} is mapping",
        "2 is even",
        "3 is odd",
        "6 is divisibleby(3)",
        "'a' is lower",
        "'A' is upper",
        "1 is eq(1)",
        "1 is equalto 1",
        "1 is ne 2",
        "1 is lt 2",
        "2 is gt 1",
        "1 is le 1",
        "1 is ge 1",
        "'a' is in ['a']",
    ],
)
def test_tests_hold_as_jinja_documents(test):
    """Each of them is true of what it is asked of."""
    assert rendered(f"{{{{ {test} }}}}") == "True"


def test_tests_pay_for_what_they_read():
    """Two nested lists that are equal are not gone through for ever."""
    with pytest.raises(LimitError):
        rendered(
            "{% set n = namespace(x=[1], y=[1]) %}"
            "{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}"
            "{{ n.x is eq(n.y) }}"
        )


def test_every_test_is_one_of_jinja():
    """No name means something else here."""
    assert set(TESTS) <= set(tests.TESTS)
