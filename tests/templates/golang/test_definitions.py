import pytest

from tornado_proxy.templates.data import RequestData, User
from tornado_proxy.templates.golang.definitions import BUILT_IN, built_in, calls_helpers, leading
from tornado_proxy.templates.golang.pages import compile_page

JSON = RequestData(headers=(("Accept", "application/json"),))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("main.userIdentifier", {"User": User("ann")}, "ann"),
        ("main.userIdentifier", {"User": None}, ""),
        ("main.headers.contentType", {"Request": RequestData()}, "text/html; charset=utf-8"),
        ("main.headers.contentType", {"Request": JSON}, "application/json; charset=utf-8"),
        ("main.body.errorJsonBody", {"Error": ValueError('no "x"')}, '{"error": "no \\"x\\""}'),
    ],
)
def test_built_in_helpers(name, data, text):
    """The helpers write what their names say."""
    assert compile_page(f'{{{{ template "{name}" . }}}}', [built_in([])]).render(data).strip() == text


def test_own_definitions_take_the_place_of_the_built_in_ones():
    """Go refuses a second definition, so a built-in one is left out where a text has its own."""
    own = '{{- define "main.userIdentifier" -}}me{{ end }}'
    assert "userIdentifier" not in built_in([own])
    assert all(name in built_in([]) for name in BUILT_IN)
    assert leading([own], "").endswith(f"{own}\n")
    assert "contentType" not in leading([], "{{ block `main.headers.contentType` . }}x{{ end }}")


def test_most_templates_call_no_helper():
    """They are compiled without the helpers' definitions."""
    assert not calls_helpers("/template/{{ .Key }}")
    assert calls_helpers('{{- template "a" . -}}')
    assert calls_helpers('{{ include "a" . | upper }}')
