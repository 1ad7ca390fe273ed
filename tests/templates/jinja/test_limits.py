import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import StrictUndefined, UndefinedError
from jinja_texts import rendered

from tornado_proxy.templates.jinja import limits
from tornado_proxy.templates.jinja.limits import (
    CHARACTERS,
    MACRO_DEPTH,
    STEPS,
    JinjaBudget,
    apply,
    backticked,
    described,
    written,
)
from tornado_proxy.templates.jinja.views import GroupsView, UserView
from tornado_proxy.templates.template import LimitError, RenderError


def test_steps_run_out():
    """The last step is allowed, the next is not."""
    budget = JinjaBudget()
    budget.work(STEPS)
    with pytest.raises(LimitError, match="the template takes more than 50000 steps"):
        budget.work()


def test_characters_run_out():
    """Text is counted in characters, and as work besides."""
    budget = JinjaBudget()
    budget.make(CHARACTERS)
    with pytest.raises(LimitError, match="the template makes more than 65536 characters"):
        budget.make(1)


def test_making_text_is_work():
    """Sixteen characters are a step."""
    budget = JinjaBudget()
    budget.work(STEPS - 2)
    budget.make(32)
    with pytest.raises(LimitError, match="steps"):
        budget.make(16)


@pytest.mark.parametrize(
    "value",
    ["x" * 16 * STEPS, [0] * STEPS, {"a": [0] * STEPS}, ([[[0] * STEPS]],)],
    ids=["text", "list", "mapping", "nested"],
)
def test_reading_is_work_as_deep_as_values_nest(value):
    """Whatever is looked at through and through is paid for."""
    with pytest.raises(LimitError):
        JinjaBudget().read(value)


def test_a_list_that_stands_in_several_places_is_read_in_each():
    """Sixty lists of two, each within the next, are more than any rendering can look at."""
    nested = [1]
    for _ in range(60):
        nested = [nested, nested]
    with pytest.raises(LimitError):
        JinjaBudget().read(nested)


def test_values_that_are_made_are_counted():
    """Texts by their characters, lists by their items, numbers not at all."""
    budget = JinjaBudget()
    budget.keep(10**100)
    budget.keep([0] * STEPS)
    with pytest.raises(LimitError, match="steps"):
        budget.keep((0,))
    with pytest.raises(LimitError, match="characters"):
        JinjaBudget().keep("x" * (CHARACTERS + 1))


def test_macros_call_one_another_only_so_deep():
    """A macro that has ended may be called again."""
    budget = JinjaBudget()

    def call(depth):
        with budget.macro():
            if depth > 1:
                call(depth - 1)

    call(MACRO_DEPTH)
    call(MACRO_DEPTH)
    with pytest.raises(LimitError, match="macros call one another more than 20 deep"):
        call(MACRO_DEPTH + 1)


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (1, "1"), (-0.5, "-0.5"), (True, "True"), ("", "")])
def test_texts_numbers_and_truth_values_have_a_text(value, text):
    """These may stand in a key."""
    assert written(value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "`none` has no text"),
        ([1], "a list has no text"),
        ((1,), "a list has no text"),
        ({}, "a mapping has no text"),
        (UserView(None), "`user` has no text"),
        (GroupsView(None), "`groups` has no text"),
        (object(), "this has no text"),
    ],
)
def test_other_values_have_no_text_that_a_key_could_mean(value, message):
    """Nobody means `None` or `['a']` to be part of a key."""
    with pytest.raises(RenderError) as caught:
        written(value)
    assert str(caught.value) == message


def test_what_is_undefined_says_so():
    """Its own message comes through."""
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        written(StrictUndefined(name="x"))


@pytest.mark.parametrize(
    ("value", "words"), [("a", "a text"), (1, "a number"), (True, "a truth value"), ({}, "a mapping")]
)
def test_values_are_described_in_the_words_of_authors(value, words):
    """Messages do not speak of Python's types."""
    assert described(value) == words


def test_messages_of_jinja_take_the_form_of_ours():
    """Names in backticks, no capital, no full stop."""
    assert backticked("Encountered unknown tag 'foo'.") == "encountered unknown tag `foo`"


TEXT = st.text("ab", max_size=6)


@given(TEXT, st.integers(0, 12))
def test_padded_texts_are_no_longer_than_told(text, width):
    """The size is that of every method that pads."""
    for method in ("center", "ljust", "rjust", "zfill"):
        assert len(getattr(text, method)(width)) == limits.padded(text, width)


@given(st.lists(TEXT, max_size=5), TEXT)
def test_joined_texts_are_no_longer_than_told(items, separator):
    """The size may be told too large by one separator."""
    told = limits.joined(items, separator)
    assert len(separator.join(items)) <= told == limits.joined_by(separator, items)


@given(TEXT, TEXT, TEXT, st.one_of(st.none(), st.integers(-1, 4)))
def test_replaced_texts_are_no_longer_than_told(text, old, new, count):
    """However often one part stands in the text."""
    made = text.replace(old, new, -1 if count is None else count)
    assert len(made) <= limits.replaced(text, old, new, count)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("%s-%s", ("ab", 12)),
        ("%05d", 7),
        ("%+.3f", 1.5),
        ("%f", 1e308),
        ("%(a)9s%(b)s", {"a": "x", "b": True}),
        ("%%", ()),
        ("%9999d", 1),
    ],
)
def test_formatted_texts_are_no_longer_than_told(text, values):
    """Widths, precisions and values are counted."""
    assert len(text % values) <= limits.formatted(text, values)
    args, named = ((), values) if isinstance(values, dict) else (values if isinstance(values, tuple) else (values,), {})
    assert limits.formatted_with(text, *args, **named) == limits.formatted(text, named or args)


@pytest.mark.parametrize("text", ["%10000d", "%*d", "%.*f", "%-099999s", "%(a)88888d", "%.12345f"])
def test_a_width_that_no_key_can_have_is_refused(text):
    """So is one that the values would tell."""
    with pytest.raises(LimitError, match="asks for more than 9999 characters"):
        limits.formatted(text, ())


@pytest.mark.parametrize("value", [[1], None, object()])
def test_values_without_a_text_cannot_be_formatted(value):
    """`%s` and `%r` write what `{{ }}` would write, and nothing else."""
    with pytest.raises(RenderError, match="has no text"):
        limits.formatted("%s", (value,))


def test_methods_are_those_of_texts():
    """Every method that is allowed exists, and none of those that format or encode is among them."""
    assert all(callable(getattr("", name)) for name in limits.TEXT_METHODS)
    assert not {"format", "format_map", "encode", "translate", "expandtabs"} & set(limits.TEXT_METHODS)


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
    """Numbers are calculated, texts and lists joined and repeated, texts formatted."""
    assert apply(JinjaBudget(), operator, left, right) == result


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
def test_nothing_is_made_that_is_larger_than_the_budget(operator, left, right):
    """The limit is reached before the work is done."""
    with pytest.raises(LimitError):
        apply(JinjaBudget(), operator, left, right)


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
def test_operators_between_other_values_say_what_they_stand_between(operator, left, right, message):
    """The message is of the template's values, not of Python's types."""
    with pytest.raises(RenderError) as caught:
        apply(JinjaBudget(), operator, left, right)
    assert str(caught.value) == message


def test_a_division_by_zero_is_an_error_of_the_template():
    """Python's own error becomes ours."""
    with pytest.raises(RenderError, match="division by zero"):
        rendered("{{ 1 / 0 }}")
