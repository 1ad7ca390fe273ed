import pytest
from hypothesis import given
from hypothesis import strategies as st

from tornado_proxy.templates.errors import LimitError, RenderError
from tornado_proxy.templates.jinja import sizes

TEXT = st.text("ab", max_size=6)


@given(TEXT, st.integers(0, 12))
def test_padded_texts_are_no_longer_than_told(text, width):
    """The size is that of every method that pads."""
    for method in ("center", "ljust", "rjust", "zfill"):
        assert len(getattr(text, method)(width)) == sizes.padded(text, width)


@given(st.lists(TEXT, max_size=5), TEXT)
def test_joined_texts_are_no_longer_than_told(items, separator):
    """The size may be told too large by one separator."""
    told = sizes.joined(items, separator)
    assert len(separator.join(items)) <= told == sizes.joined_by(separator, items)


@given(TEXT, TEXT, TEXT, st.one_of(st.none(), st.integers(-1, 4)))
def test_replaced_texts_are_no_longer_than_told(text, old, new, count):
    """However often one part stands in the text."""
    made = text.replace(old, new, -1 if count is None else count)
    assert len(made) <= sizes.replaced(text, old, new, count)


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
    assert len(text % values) <= sizes.formatted(text, values)
    args, named = ((), values) if isinstance(values, dict) else (values if isinstance(values, tuple) else (values,), {})
    assert sizes.formatted_with(text, *args, **named) == sizes.formatted(text, named or args)


@pytest.mark.parametrize("text", ["%10000d", "%*d", "%.*f", "%-099999s", "%(a)88888d", "%.12345f"])
def test_a_width_that_no_key_can_have_is_refused(text):
    """So is one that the values would tell."""
    with pytest.raises(LimitError, match="asks for more than 9999 characters"):
        sizes.formatted(text, ())


@pytest.mark.parametrize("value", [[1], None, object()])
def test_values_without_a_text_cannot_be_formatted(value):
    """`%s` and `%r` write what `{{ }}` would write, and nothing else."""
    with pytest.raises(RenderError, match="has no text"):
        sizes.formatted("%s", (value,))


def test_methods_are_those_of_texts():
    """Every method that is allowed exists, and none of those that format or encode is among them."""
    assert all(callable(getattr("", name)) for name in sizes.TEXT_METHODS)
    assert not {"format", "format_map", "encode", "translate", "expandtabs"} & set(sizes.TEXT_METHODS)
