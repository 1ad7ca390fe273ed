import pytest

from gotemplate.template.errors import TemplateMistake
from tornado_proxy.templates.jinja import KeyEnvironment, TemplateReading, compile_template, reworded

ENVIRONMENT = KeyEnvironment()
NAMES = {"rest": 1, "items": 2}


@pytest.mark.parametrize(
    ("message", "expected", "help"),
    [
        ("Something 'odd' happened at 5", "something `odd` happened", None),
        ("can't assign to 'const'", "can't assign to `const`", None),
        (
            "Encountered unknown tag 'fi'. Jinja was looking for the following tags: 'endif'.",
            "encountered unknown tag `fi`",
            "Jinja was looking for the following tags: `endif`",
        ),
        ("expected token 'end of print statement', got '='", "expected token `}}`, got `=`", None),
        (None, "", None),
    ],
)
def test_messages_of_jinja_are_reworded(message, expected, help):
    """The first sentence is the message, the others are the help, and names stand between backticks."""
    assert reworded(message) == (expected, help)


@pytest.mark.parametrize(
    ("text", "start", "end", "message"),
    [
        ("/{{ a b }}", 6, 7, "expected token `}}`, got `b`"),
        ("{% foo %}", 3, 6, "encountered unknown tag `foo`"),
        ("{{ a }", 5, 6, "unexpected `}`"),
        ("{{ 1 + }}", 7, 9, "unexpected `}}`"),
        ("é{{ a ? b }}", 6, 7, "unexpected char `?`"),
        ("{{ a[ }}", 6, 7, "unexpected `}`, expected `]`"),
        ("{# a", 2, 3, "missing end of comment tag"),
        ("\r\n\r\n{{ 1 1 }}", 9, 10, "expected token `}}`, got `integer`"),
    ],
)
def test_a_syntax_error_has_its_place(text, start, end, message):
    with pytest.raises(TemplateMistake) as caught:
        TemplateReading(ENVIRONMENT, text)
    assert (str(caught.value), caught.value.offset, caught.value.end) == (message, start, end)


@pytest.mark.parametrize(
    ("text", "help"),
    [("{{ a }/{{ b }}", "close it with `}}`"), ("{{ a }}{% if b }c", "close it with `%}`"), ("{{ a[ }}", None)],
)
def test_a_lone_brace_has_the_end_that_is_meant(text, help):
    """The help for one brace where two characters end an expression or a statement names these."""
    with pytest.raises(TemplateMistake) as caught:
        TemplateReading(ENVIRONMENT, text)
    assert caught.value.help == help


def test_an_unclosed_statement_is_reported_at_the_end():
    with pytest.raises(TemplateMistake, match="unexpected end of template") as caught:
        TemplateReading(ENVIRONMENT, "{% if a %}b")
    assert (caught.value.offset, caught.value.end) == (11, None)


@pytest.mark.parametrize("number", ["9" * 101, "0x" + "f" * 50_000, "1_0" * 400, "1e999"])
def test_a_number_that_is_too_large_is_refused(number):
    """A number that Python cannot write into the compiled template is a mistake."""
    with pytest.raises(TemplateMistake, match="the number is too large") as caught:
        TemplateReading(ENVIRONMENT, "a {{ " + number + " }}")
    assert (caught.value.offset, caught.value.end) == (5, 5 + len(number))


def test_a_number_of_a_hundred_digits_is_read():
    TemplateReading(ENVIRONMENT, "{{ " + "9" * 100 + " }}")


@pytest.mark.parametrize(
    ("text", "start", "end", "message", "help"),
    [
        ("/{{ usr.username }}", 4, 7, "unknown variable `usr`", "did you mean `user`?"),
        ("{{ self }}", 3, 7, "unknown variable `self`", "there are `user`, `request`, `target`, `key`, `groups`"),
        ("{{ lipsum() }}", 3, 9, "unknown variable `lipsum`", None),
        ("{{ user.usernam }}", 8, 15, "`user` has no field `usernam`", "did you mean `username`?"),
        ("{{ target . bucket.xyz }}", 19, 22, "`target.bucket` has no field `xyz`", "it has `name`, `prefix`, `region`"),
        ("{{ request.header }}", 11, 17, "`request` has no field `header`", "did you mean `headers`?"),
        ("{{ groups.rst }}", 3, 13, "the source has no group `rst`", "did you mean `rest`?"),
        ("{{ groups['9'] }}", 3, 14, "the source has no group `9`", "there are `0`, `1`, `2`, `items`, `rest`"),
        ("{{ groups[3] }}", 3, 12, "the source has no group `3`", None),
        ("{{ groups.7 }}", 3, 11, "the source has no group `7`", None),
        ("{{ key|uper }}", 7, 11, "unknown filter `uper`", "did you mean `upper`?"),
        ("{{ key | indent }}", 9, 15, "unknown filter `indent`", None),
        ("{% filter random %}{% endfilter %}", 10, 16, "unknown filter `random`", None),
        ("{{ key is foo }}", 10, 13, "unknown test `foo`", None),
        ("{% include 'x' %}", 3, 10, "the statement `include` is not supported", None),
        ("{% import 'x' as y %}", 3, 9, "the statement `import` is not supported", None),
        ("{% from 'x' import y %}", 3, 7, "the statement `from` is not supported", None),
        ("{% extends 'x' %}", 3, 10, "the statement `extends` is not supported", None),
        ("{% block x %}{% endblock %}", 3, 8, "the statement `block` is not supported", None),
        ("{% autoescape true %}{% endautoescape %}", 3, 13, "the statement `autoescape` is not supported", None),
        ("{% for a in 'a' recursive %}{% endfor %}", 3, 6, "a loop cannot be recursive", None),
        ("{{ {key: 1} }}", 4, 7, "the keys of a mapping must be literals", None),
    ],
)  # fmt: skip
def test_unknown_names_and_statements_are_found_at_load(text, start, end, message, help):
    """A mistake has its place, and a suggestion if a similar name exists."""
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
def test_a_name_without_its_record_has_a_suggestion(text, help):
    """The suggestion is a group or a field of the same name; groups come first."""
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, {"rest": 1, "email": 2}, 2)
    assert caught.value.help == help


def test_templates_that_nest_too_deeply_are_refused():
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
def test_literal_references_to_groups_are_found(text, references):
    """A reference has its place, and a template that assigns to `groups` has no references."""
    assert compile_template(text, NAMES, 2).group_references == references


@pytest.mark.parametrize(
    ("text", "reads_user"),
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
def test_a_test_for_a_user_is_not_a_read(text, reads_user):
    """A template reads the user even if it tests for one first, so that an author tries the rule with a user."""
    assert compile_template(text, {}, 0).reads_user is reads_user


def test_a_template_can_assign_to_the_names_of_variables():
    """A variable that the template assigns has the fields of its own value."""
    compile_template("{% set user = {'nick': 'a'} %}{{ user.nick }}", {}, 0)
    compile_template("{% for request in 'ab' %}{{ request.upper() }}{% endfor %}", {}, 0)


def test_the_variables_of_loops_and_macros_are_known():
    """The variables that Jinja2 assigns in loops and macros are not unknown."""
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
            ["unknown variable `usr`", "`user` has no field `nam`", "unknown filter `uper`", "unknown filter `lowr`"],
        ),
        ("{{ usr.name.first | lower }}", ["unknown variable `usr`"]),
        ("{% if usr %}{{ key is foo }}{% endif %}", ["unknown variable `usr`", "unknown test `foo`"]),
    ],
)
def test_all_mistakes_of_a_template_are_reported(text, messages):
    """A template has a mistake for each unknown name, and none that follows from another."""
    with pytest.raises(TemplateMistake) as caught:
        compile_template(text, NAMES, 2)
    assert [str(mistake) for mistake in (caught.value, *caught.value.others)] == messages


@pytest.mark.parametrize("count", [100, 101])
def test_a_template_sets_a_hundred_names_at_most(count):
    """The mistake is at the first name that is too many."""
    text = "".join(f"{{% set n{number} = 1 %}}" for number in range(count))
    if count == 100:
        assert compile_template(text, {}, 0)
        return
    with pytest.raises(TemplateMistake, match="the template sets more than 100 names") as mistake:
        compile_template(text, {}, 0)
    assert text[mistake.value.offset : mistake.value.end] == "n100"
