from pathlib import Path

import pytest
from jinja_texts import rendered

from gotemplate.template.errors import LimitError, RenderError, TemplateMistake
from tornado_proxy.templates.jinja import compile_template
from tornado_proxy.templates.jinja_values import FILTERS, GLOBALS, RECORDS, TESTS, TEXT_METHODS
from tornado_proxy.templates.jinja_values import NAMES as VARIABLES

DOCUMENTATION = (Path(__file__).parents[2] / "docs/jinja-templates.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "names",
    [FILTERS, TESTS, GLOBALS, TEXT_METHODS, VARIABLES, *RECORDS.values()],
    ids=["filters", "tests", "functions", "methods", "variables", *RECORDS],
)
def test_every_name_of_the_dialect_is_documented(names):
    assert [name for name in names if f"`{name}`" not in DOCUMENTATION] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{% for loop in 'ab' %}{% endfor %}", "can't assign to special loop variable in for-loop target"),
        ("{{ range(a=1, a=2) }}", "keyword argument repeated: a"),
        ("{% macro m(a, a) %}{% endmacro %}", "duplicate argument 'l_1_a' in function definition"),
    ],
)
def test_a_template_that_the_compiler_refuses_is_a_mistake(text, message):
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, {}, 0)
    assert str(caught.value) == message


def test_a_comparison_of_deeply_nested_values_exceeds_a_limit():
    """Values that nest too deeply for a comparison in Python raise a `LimitError`; from 3.12 on few do."""
    nested = "{% for i in range(2000) %}{% set n.x = [n.x] %}{% set n.y = [n.y] %}{% endfor %}{{ n.x == n.y }}"
    try:
        result = rendered("{% set n = namespace(x=[], y=[]) %}" + nested)
    except LimitError as limit:
        result = str(limit)
    assert result in ("True", "the template nests too deeply")


def test_a_long_message_is_cut_off():
    """The message of a failure has at most 200 characters, because Python's messages may contain values."""
    with pytest.raises(RenderError, match=r"x{100}$") as caught:
        rendered("{{ key.split(**{'" + "x" * 900 + "': 1}) }}")
    assert len(str(caught.value)) == 200


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{% for x in 'ab' %}{{ loop.index }}{{ x }}{% else %}none{% endfor %}", "1a2b"),
        ("{% for x in [] %}{{ x }}{% else %}none{% endfor %}", "none"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}", "a1"),
        ("{% for x in range(5) if x is odd %}{{ x }}{% endfor %}", "13"),
        ("{% for x in user.groups %}{{ x }}{{ ',' if not loop.last }}{% endfor %}", "g1,g2"),
        ("{{ 1 < 2 }}{{ 'a' in 'abc' }}{{ 'a' not in ['b'] }}{{ 1 == 1.0 }}", "TrueTrueTrueTrue"),
        ("{{ 'a' ~ 1 ~ true }}", "a1True"),
        ("{{ 'abc'[1:] }}{{ [1, 2, 3][:2]|join }}{{ 'abc'[::-1] }}", "bc12cba"),
        ("{% macro m(a, b='x') %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 2) }}", "1x12"),
        ("{% macro m() %}<{{ caller('y') }}>{% endmacro %}{% call(z) m() %}{{ z }}{% endcall %}", "<y>"),
        ("{% set x %}a{{ key }}{% endset %}{{ x }}", "a/a/b"),
        ("{% with a = 1 %}{{ a }}{% endwith %}", "1"),
        ("{% raw %}{{ }}{% endraw %}{# note #}", "{{ }}"),
        ("{{ 'a b'.upper() }}{{ key.split('/')[1] }}{{ 'ab'.replace('a', 'b') }}", "A Babb"),
        ("{{ 'a'.center(3, '-') }}{{ '7'.zfill(3) }}{{ '-'.join(['a', 'b']) }}", "-a-007a-b"),
        ("{{ 'a=b'.partition('=')[2] }}{{ 'xa'.removeprefix('x') }}{{ 'a'.startswith('a') }}", "baTrue"),
        ("{% set m = {'a': 1, 'items': 2} %}{{ m.a }}{{ m['items'] }}{{ m.get('z', 3) }}", "123"),
        ("{{ {'a': 1}.keys()|join }}{{ {'a': 1}.values()|join }}", "a1"),
        ("{% set n = namespace(x=1) %}{% set n.x = n.x + 1 %}{{ n.x }}{{ n['x'] }}", "22"),
        ("{% for a in 'ab' %}{{ loop.cycle('x', 'y') }}{{ loop.revindex }}{{ loop.length }}{% endfor %}", "x22y12"),
        ("{% for a in 'ab' %}{{ loop.previtem|default('-') }}{{ loop.first }}{% endfor %}", "-TrueaFalse"),
        ("{{ range(3)|join }}{{ range(1, 6, 2)|join }}{{ range(3, 0, -1)|join }}", "012135321"),
        ("{{ [1, 2][0] }}{{ 'ab'[-1] }}{{ (1, 2)[1] }}", "1b2"),
        ("{{ [1][5]|default('none') }}{{ {}.x|default('none') }}{{ namespace().x|default('none') }}", "nonenonenone"),
        ("{% set f = 'ab'.upper %}{{ f() }}", "AB"),
    ],
)
def test_statements_and_expressions_have_the_results_of_jinja(text, result):
    """The hidden filters that charge for work change no result of a statement, a method, a namespace, a loop or an index."""
    assert rendered(text) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% filter length %}abc{% endfilter %}", "object of type `int` has no len()"),
        ("{{ 'a' is divisibleby(2) }}", "not all arguments converted during string formatting"),
        ("{% if key %}{% set x = 1 %}{% endif %}{% if x > 'a' %}{% endif %}", None),
        ("{% set k = key %}{{ k.__class__ }}", "a text has no `__class__`"),
        ("{{ ''['__class__'] }}", "a text has no `__class__`"),
        ("{{ ().__class__.__bases__ }}", "a list has no `__class__`"),
        ("{{ range.__globals__ }}", "this value has no `__globals__`"),
        ("{{ namespace.__init__ }}", "this value has no `__init__`"),
        ("{{ namespace(x=1)['__class__'] }}", "a namespace has no `__class__`"),
        ("{{ namespace(x=1)._Namespace__attrs }}", "a namespace has no `_Namespace__attrs`"),
        ("{% macro m() %}{% endmacro %}{{ m._func }}", "a macro has no `_func`"),
        ("{% for i in 'a' %}{{ loop._iterator }}{% endfor %}", "`loop` has no `_iterator`"),
        ("{% for i in 'a' %}{{ loop.changed(i) }}{% endfor %}", "`loop` has no `changed`"),
        ("{{ 'a'.format(1) }}", "a text has no `format`"),
        ("{{ 'a'.encode() }}", "a text has no `encode`"),
        ("{{ [1].append(2) }}", "a list has no `append`"),
        ("{{ {}.update({}) }}", "a mapping has no `update`"),
        ("{{ {}.items.__self__ }}", "a method that is not called has no `__self__`"),
        ("{{ key() }}", "a text cannot be called"),
        ("{{ groups.rest() }}", "a text cannot be called"),
        ("{{ 5() }}", "a number cannot be called"),
        ("{{ user() }}", "`user` cannot be called"),
        ("{{ ''.join }}", "a method that is not called cannot be written as text"),
        ("{{ {'a': 1}[(1,)] }}", "a mapping has no item for a list"),
        ("{{ [1]['a' ~ 'b'] }}", "a list has no `ab`"),
        ("{{ {}.get([]) }}", "unhashable type: `list`"),
        ("{{ namespace([[1, 2], 3]) }}", None),
        ("{{ range() }}", "range expected at least 1 argument, got 0"),
        ("{{ range(1, 2, 0) }}", "range() arg 3 must not be zero"),
        ("{{ range('a') }}", None),
        ("{{ user }}", "`user` cannot be written as text"),
        ("{{ loop }}", "`loop` is undefined"),
    ],
)
def test_unsupported_attributes_and_calls_fail(text, message):
    """No attribute leads to Python's own objects, only functions and methods can be called, and no error of Python comes through."""
    with pytest.raises(RenderError) as caught:
        rendered(text)
    assert message is None or str(caught.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(10000) %}{% for b in range(10000) %}{% endfor %}{% endfor %}",
        "{% for a in range(200) %}{% for b in range(200) %}{{ a }}{% endfor %}{% endfor %}",
        "{% for a in range(40000) if false %}{% endfor %}",
        "{% for a in range(900) %}" + "x" * 1000 + "{% endfor %}",
        "{% for a in 'a' * 60000 %}{{ a }}{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% macro f(n) %}{% for i in range(9) %}{{ f(n) }}{% endfor %}{% endmacro %}{{ f(1) }}",
        "{% macro f() %}" + "x" * 9000 + "{% endmacro %}{% for a in range(9) %}{{ f() }}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
        "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
        "{% set x = 'a' * 60000 %}{% for i in range(2000) %}{% set y = x[1:] %}{% endfor %}",
        "{% set x = 'a' * 60000 %}{% for i in range(2000) %}{% if 'b' in x %}{% endif %}{% endfor %}",
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x == n.x }}",
        "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ 1 in n.x }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 'x'.center(10**9) }}",
        "{{ '1'.zfill(10**9) }}",
        "{{ ('b' * 9000).join(['a'] * 9000) }}",
        "{{ ('a' * 1000).replace('a', 'b' * 60000) }}",
        "{% set f = 'x'.ljust %}{{ f(10**9) }}",
        "{{ range(10**9) }}",
        "{{ range(10**9)|list|length }}",
        "{{ range(-(10**12), 10**12, 3) }}",
        "{{ range(10**9, 0, -1)|last }}",
        "{{ 'a' in range(10**12) }}",
        "{% set x = 'a/' * 30000 %}{% for i in range(99) %}{% set y = x.split('/') %}{% endfor %}",
        "{% for a in range(60000) %}{% endfor %}",
        "{{ 'a' * 60000 }}{{ 'a' * 60000 }}",
        "{% set n = namespace(x=(1,)) %}{% for i in range(60) %}{% set n.x = (n.x, n.x) %}{% endfor %}{{ {}.get(n.x) }}",
    ],
)
def test_endless_work_exceeds_a_limit(text):
    """Loops, macros and growing texts exceed a limit; a call that would take a second or a gigabyte is refused before it begins."""
    with pytest.raises(LimitError):
        rendered(text)


@pytest.mark.parametrize("argument", ["_loop_vars={' budget': 5}", "**{'_block_vars': {' budget': 5}}"])
def test_a_template_cannot_choose_its_budget(argument):
    """Arguments that are internal to Jinja2 are dropped."""
    assert rendered(f"{{{{ range(1, {argument})|length }}}}") == "1"


def test_a_large_number_has_no_text():
    """A number with thousands of digits cannot be written, because Python refuses to format it."""
    with pytest.raises(RenderError, match="exceeds the limit"):
        rendered("{{ ('f' * 30000)|int(0, 16) }}")
