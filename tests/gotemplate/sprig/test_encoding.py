import base64

import pytest
import yaml
from go_programs import failure, json_value, rendered
from hypothesis import given
from hypothesis import strategies as st

from gotemplate.sprig.encoding import FUNCTIONS
from gotemplate.template.errors import LimitError, RenderLimits
from gotemplate.template.values import is_string_map, type_name
from tornado_proxy.semantics.request import User
from tornado_proxy.templates.go import compile_page

B32DEC, B64DEC = FUNCTIONS["b32dec"].call, FUNCTIONS["b64dec"].call


@pytest.mark.parametrize(
    ("decode", "kind", "offsets"),
    [
        (B64DEC, b"base64", {b"!!": 0, b"ab=": 3, b"ab=x": 2, b"ab==x": 4, b"abcd=": 4, b"ab\xff=": 2}),
        (B32DEC, b"base32", {b"AB": 0, b"AB=": 3, b"AB====X=": 5, b"AB=ABCDEFGHI": 2, b"AAAAAAAA=": 8}),
    ],
)
def test_an_invalid_text_is_decoded_to_go_s_message(decode, kind, offsets):
    assert {text: decode(text) for text in offsets} == {
        text: b"illegal %b data at input byte %d" % (kind, offset) for text, offset in offsets.items()
    }


@given(st.binary(max_size=30))
def test_encoded_bytes_are_decoded_to_the_same_bytes(text):
    assert B64DEC(base64.b64encode(text)) == text
    assert B32DEC(base64.b32encode(text)) == text


DATA = {"a": [1, 2.5, None, True], "b": {"c": "<é&>\u2028"}, "e": [], "m": {}}


@pytest.mark.parametrize(
    ("function", "text"),
    [
        ("toJson", '{"a":[1,2.5,null,true],"b":{"c":"\\u003cé\\u0026\\u003e\\u2028"},"e":[],"m":{}}'),
        ("toRawJson", '{"a":[1,2.5,null,true],"b":{"c":"<é&>\\u2028"},"e":[],"m":{}}'),
        (
            "toPrettyJson",
            '{\n  "a": [\n    1,\n    2.5,\n    null,\n    true\n  ],\n  "b": {\n    "c": "\\u003cé\\u0026\\u003e\\u2028"\n  },\n  "e": [],\n  "m": {}\n}',
        ),
    ],
)
def test_values_are_written_as_json(function, text):
    """The JSON text has one line or several, and is safe in HTML or raw."""
    assert rendered(f"{{{{ {function} . }}}}", DATA) == text
    must_function = f"must{function[0].upper()}{function[1:]}"
    assert rendered(f"{{{{ {must_function} . }}}}", DATA) == text


@pytest.mark.parametrize(
    "value", ['(float64 "nan")', '(float64 "inf")', "1i", '(dateModify "-20000h" (toDate "x" "y"))']
)
def test_values_without_a_json_form_are_empty_or_fail(value):
    """A value without a form in JSON is an empty text, or an error in functions with `must`."""
    assert rendered(f"{{{{ toJson {value} }}}}{{{{ toPrettyJson {value} }}}}") == ""
    assert "in JSON" in failure(f"{{{{ mustToJson {value} }}}}")
    assert "in JSON" in failure(f"{{{{ toRawJson {value} }}}}")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, "x", null, true]}', 'map[string]interface {}{"a":[]interface {}{1, "x", interface {}(nil), true}}'),
        ('"\\ud800"', '"�"'),
    ],
)
def test_json_is_read(text, value):
    """Every number in a JSON text is read as a float64."""
    assert rendered('{{ printf "%#v" (fromJson .t) }}', {"t": text}) == value
    assert rendered('{{ typeOf (mustFromJson "1") }}') == "float64"


@pytest.mark.parametrize("text", ["", "{", "nope", "NaN", "[Infinity]", "01", '"\n"', "[1,]", "{'a': 1}"])
def test_invalid_json_is_nil_or_fails(text):
    assert rendered("{{ fromJson .t }}", {"t": text}) == "<no value>"
    assert failure("{{ mustFromJson .t }}", {"t": text}).startswith("invalid JSON")


def test_a_number_out_of_range_is_zero_or_fails():
    assert rendered("{{ fromJson .t }}", {"t": "[1, -1e999, 2]"}) == "[1 0 2]"
    assert "1e999 is out of range" in failure("{{ mustFromJson .t }}", {"t": "1e999"})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": {"b": [1, "x y"]}, "c": []}, "a:\n    b:\n        - 1\n        - x y\nc: []"),
        ([{"a": 1, "b": {}}, ["c"]], "- a: 1\n  b: {}\n- - c"),
        ("yes", '"yes"'),
        ("<é>\n", '"<é>\\n"'),
    ],
)
def test_values_are_written_as_yaml(value, text):
    """Mappings and lists are indented, and an ambiguous text is quoted."""
    result = compile_page("{{ toYaml .V }}").render({"V": value})
    assert result == text
    assert yaml.safe_load(result) == value


def test_a_value_without_a_yaml_form_is_empty():
    """An infinite number is written as an empty text, as in Helm."""
    assert compile_page("{{ toYaml .V }}").render({"V": float("inf")}) == ""
    assert compile_page("{{ toYaml .User }}").render({"User": User("ann")}) != ""


def test_the_size_of_a_yaml_text_is_limited():
    with pytest.raises(LimitError):
        compile_page("{{ toYaml .V }}").render({"V": ["x"] * 100}, RenderLimits(steps=10_000, text=200))


def test_json_values_have_go_s_general_types():
    """Objects and lists have the general types of Go, and numbers without a fraction are integers."""
    value = json_value({"a": [1, 2.5, None, True, "é"]})
    assert value == {b"a": [1, 2.5, None, True, "é".encode()]}
    assert is_string_map(value)
    assert type_name(value[b"a"]) == "[]interface {}"


def test_a_json_text_may_not_nest_without_end():
    with pytest.raises(LimitError, match="the JSON text nests too deeply"):
        rendered('{{ mustFromJson (repeat 100000 "[") }}')
