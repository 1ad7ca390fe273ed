import pytest

from tornado_proxy.templates.jinja import compile_template
from tornado_proxy.templates.template import TemplateMistake

NAMES = {"rest": 1, "items": 2}


@pytest.mark.parametrize(
    ("text", "start", "end", "message", "help"),
    [
        ("/{{ usr.username }}", 4, 7, "unknown variable `usr`", "did you mean `user`?"),
        ("{{ self }}", 3, 7, "unknown variable `self`", None),
        ("{{ lipsum() }}", 3, 9, "unknown variable `lipsum`", None),
        ("{{ user.usernam }}", 8, 15, "`user` has no field `usernam`", "did you mean `username`?"),
        (
            "{{ target . bucket.xyz }}",
            19,
            22,
            "`target.bucket` has no field `xyz`",
            "it has `name`, `prefix`, `region`",
        ),
        ("{{ request.header }}", 11, 17, "`request` has no field `header`", "did you mean `headers`?"),
        ("{{ groups.rst }}", 3, 13, "the source has no group `rst`", "did you mean `rest`?"),
        ("{{ groups['9'] }}", 3, 14, "the source has no group `9`", None),
        ("{{ groups[3] }}", 3, 12, "the source has no group `3`", None),
        ("{{ groups.7 }}", 3, 11, "the source has no group `7`", None),
        ("{{ groups[1].upper }}", 13, 18, "`upper` is not called", "write `upper()`"),
        ("{{ 'a' ~ key.lower }}", 13, 18, "`lower` is not called", "write `lower()`"),
        ("{{ groups.rest.uper }}", 15, 19, "a text has no `uper`", "did you mean `upper`?"),
        ("{{ request.headers['A'].foo | lower }}", 24, 27, "a text has no `foo`", None),
        ("{{ target.bucket.name.xyz() }}", 22, 25, "a text has no `xyz`", None),
        ("{{ key|uper }}", 7, 11, "unknown filter `uper`", "did you mean `upper`?"),
        ("{{ key | indent }}", 9, 15, "unknown filter `indent`", None),
        ("{% filter random %}{% endfilter %}", 10, 16, "unknown filter `random`", None),
        ("{{ key is foo }}", 10, 13, "unknown test `foo`", None),
        ("{% include 'x' %}", 3, 10, "a template stands alone: it cannot include another", None),
        ("{% import 'x' as y %}", 3, 9, "a template stands alone: it cannot import another", None),
        ("{% from 'x' import y %}", 3, 7, "a template stands alone: it cannot import another", None),
        ("{% extends 'x' %}", 3, 10, "a template stands alone: it cannot extend another", None),
        ("{% block x %}{% endblock %}", 3, 8, "a template stands alone: nothing can replace its blocks", None),
        (
            "{% autoescape true %}{% endautoescape %}",
            3,
            13,
            "a key is not markup: there is nothing to escape",
            None,
        ),
        (
            "{% for a in 'a' recursive %}{% endfor %}",
            3,
            6,
            "a loop cannot be recursive; write one loop within another",
            None,
        ),
        ("{{ {key: 1} }}", 4, 7, "the keys of a mapping are written out, not computed", None),
    ],
)
def test_a_mistake_is_found_at_load_where_it_is(text, start, end, message, help):
    """What can never work is not a surprise at rendering."""
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, NAMES, 2)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)
    if help is not None:
        assert caught.value.help == help


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("{{ rest }}", "did you mean `groups.rest`?"),
        ("{{ username }}", "did you mean `user.username`?"),
        ("{{ bucket }}", "did you mean `target.bucket`?"),
        ("{{ email }}", "did you mean `groups.email`?"),
    ],
)
def test_a_name_that_stands_alone_is_led_to_where_it_belongs(text, help):
    """A group or a field that is called so is meant, whatever is spelt alike; the author's own groups come first."""
    with pytest.raises(TemplateMistake) as raised:
        compile_template(text, {"rest": 1, "email": 2}, 2)
    assert raised.value.help == help


@pytest.mark.parametrize(
    "text",
    [
        "{{ groups[1].upper() }}{{ key.split('/')[0].lower() }}",
        "{% set shout = key.upper %}{{ shout() }}",
        "{{ key.foo is defined }}{{ key.foo | default('x') }}{{ groups.rest.foo | d('x') }}",
        "{{ user.groups[0].upper() }}",
        "{% set key = {'foo': 'a'} %}{{ key.foo }}",
    ],
)
def test_what_a_text_may_be_asked(text):
    """Methods that are called or kept, what is asked about, and what may be no text of ours."""
    compile_template(text, NAMES, 2)


def test_templates_that_nest_too_deeply_are_refused():
    """Jinja2 and Python would go down as deep as the text does."""
    for text in ("{{ " + "not " * 100 + "1 }}", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"):
        with pytest.raises(TemplateMistake, match="the template nests"):
            compile_template(text, {}, 0)


@pytest.mark.parametrize(
    ("text", "references"),
    [
        ("/a", ()),
        ("{{ groups.rest }}", (("rest", 3, 14),)),
        ("é{{ groups . rest }}{{ groups['items'] }}", (("rest", 4, 17), ("items", 23, 38))),
        ("{{ groups[1] }}{{ groups['2'] }}{{ groups.0 }}", (("1", 3, 12), ("2", 18, 29), ("0", 35, 43))),
        ("{% if groups.rest %}{{ groups[key] }}{% endif %}", (("rest", 6, 17),)),
        ("{% set groups = {'x': 1} %}{{ groups.x }}", ()),
    ],
)
def test_groups_that_are_named_by_literals_are_told(text, references):
    """Each with its place; a name that the template gives another meaning is not a group."""
    assert compile_template(text, NAMES, 2).group_references == references


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("/{{ key }}", False),
        ("{% if user %}a{% endif %}", False),
        ("{{ 'a' if user else 'b' }}{{ 'x' if not user }}", False),
        ("{% if user is none %}a{% endif %}", False),
        ("{{ user.username }}", True),
        ("{% if user %}{{ user.username }}{% endif %}", True),
        ("{% if user.email %}a{% endif %}", True),
        ("{% set u = user %}", True),
        ("{{ user or 'b' }}", True),
        ("{% for user in 'ab' %}{{ user }}{% endfor %}", False),
    ],
)
def test_a_template_reads_the_user_where_it_asks_more_than_whether_there_is_one(text, reads):
    """That it asks first does not count: who tests a rule should try it with a user."""
    assert compile_template(text, {}, 0).reads_user is reads


def test_a_template_may_give_our_names_another_meaning():
    """What it sets itself has the fields that it gives."""
    compile_template("{% set user = {'nick': 'a'} %}{{ user.nick }}", {}, 0)
    compile_template("{% for request in 'ab' %}{{ request.upper() }}{% endfor %}", {}, 0)


def test_names_of_loops_and_macros_are_known():
    """Jinja2 gives them where they belong."""
    compile_template(
        "{% for a in 'ab' %}{{ loop.index }}{% endfor %}"
        "{% macro m(x) %}{{ x }}{{ varargs }}{{ kwargs }}{{ caller() }}{% endmacro %}{{ m(1) }}",
        {},
        0,
    )


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            "{{ (usr ~ user.nam) | uper | lowr }}",
            [
                "unknown variable `usr`",
                "`user` has no field `nam`",
                "unknown filter `uper`",
                "unknown filter `lowr`",
            ],
        ),
        ("{{ usr.name.first | lower }}", ["unknown variable `usr`"]),
        ("{{ groups.rst.uper() }}", ["the source has no group `rst`", "a text has no `uper`"]),
        ("{% if usr %}{{ key is foo }}{% endif %}", ["unknown variable `usr`", "unknown test `foo`"]),
    ],
)
def test_all_mistakes_of_a_text_are_found_at_once(text, messages):
    """Each has its own place, and none follows from another."""
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, NAMES, 2)
    assert [str(mistake) for mistake in (caught.value, *caught.value.others)] == messages
