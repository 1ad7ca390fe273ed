import pytest
from jinja2 import nodes
from jinja_texts import rendered

from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.jinja.environment import KeyEnvironment
from tornado_proxy.templates.jinja.instrument import HIDDEN_FILTERS, instrument
from tornado_proxy.templates.jinja.source import parse


def _hidden(text):
    tree, _ = parse(KeyEnvironment(), text)
    return sorted(node.name for node in instrument(tree).find_all(nodes.Filter) if node.name.startswith(" "))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ key }}{{ key|upper }}{% if user %}{% endif %}", []),
        ("{% for x in 'ab' %}{% endfor %}", [" each"]),
        ("{% for x in 'ab' if x %}{% for y in x %}{% endfor %}{% endfor %}", [" each", " each"]),
        ("{{ 1 < 2 < 3 }}", [" read", " read", " read"]),
        ("{{ 'a' ~ 'b' ~ 'c' }}", [" concatenated"]),
        ("{{ key[1:] }}{{ key[1] }}", [" kept"]),
        ("{% macro m(x=1 == 1) %}{{ x }}{% endmacro %}", [" read", " read", " spend"]),
        ("{% call m() %}{% endcall %}", [" spend"]),
    ],
)
def test_every_piece_of_work_is_paid_for_once(text, names):
    """Loops, comparisons, joined texts, slices and macros are; what the environment is asked for anyway is not."""
    assert _hidden(text) == names


def test_no_template_can_name_what_is_hidden():
    """A name that begins with a space is none in Jinja2."""
    assert all(name.startswith(" ") for name in HIDDEN_FILTERS)


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
    ],
)
def test_statements_do_what_jinja_documents(text, result):
    """Being paid for changes nothing else."""
    assert rendered(text) == result


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
    ],
)
def test_work_is_cut_off(text):
    """Loops within loops, macros within macros, and texts that grow by themselves come to an end soon."""
    with pytest.raises(LimitError):
        rendered(text)
