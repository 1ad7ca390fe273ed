import pytest
import yaml

from tornado_proxy.templates.data import User
from tornado_proxy.templates.errors import LimitError
from tornado_proxy.templates.golang.limits import RenderLimits
from tornado_proxy.templates.golang.pages import compile_page


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"number": 1, "string": "str"}, "number: 1\nstring: str"),
        ({"a": {"b": [1, "x y"]}, "c": []}, "a:\n    b:\n        - 1\n        - x y\nc: []"),
        ([{"a": 1, "b": {}}, ["c"]], "- a: 1\n  b: {}\n- - c"),
        ("yes", '"yes"'),
        ("a: b", '"a: b"'),
        ("<é>\n", '"<é>\\n"'),
        (None, "null"),
        (1.5, "1.5"),
    ],
)
def test_values_are_written_in_blocks(value, text):
    """Mappings and lists are indented, and text that could be read as something else is quoted."""
    written = compile_page("{{ toYaml .V }}").render({"V": value})
    assert written == text
    assert yaml.safe_load(written) == value


def test_a_value_without_a_form_is_empty():
    """As in Helm, what cannot be written is not an error."""
    assert compile_page("{{ toYaml .V }}").render({"V": float("inf")}) == ""
    assert compile_page("{{ toYaml .User }}").render({"User": User("ann")}) != ""


def test_the_text_is_bounded():
    """A large value is refused as any other text is."""
    with pytest.raises(LimitError):
        compile_page("{{ toYaml .V }}").render({"V": ["x"] * 100}, RenderLimits(steps=10_000, text=200))
