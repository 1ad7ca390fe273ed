import pytest

from tornado_proxy.semantics.request import Request, User
from tornado_proxy.templates.go.built_in import BUILT_IN, built_in, callable_from, calls_helpers
from tornado_proxy.templates.go.pages import compile_page

JSON = Request(headers=(("Accept", "application/json"),))


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("main.userIdentifier", {"User": User("ann")}, "ann"),
        ("main.userIdentifier", {"User": None}, ""),
        ("main.headers.contentType", {"Request": Request()}, "text/html; charset=utf-8"),
        ("main.headers.contentType", {"Request": JSON}, "application/json; charset=utf-8"),
        ("main.body.errorJsonBody", {"Error": ValueError('no "x"')}, '{"error": "no \\"x\\""}'),
    ],
)
def test_built_in_helpers_have_the_output_of_their_names(name, data, text):
    """The built-in helpers write a user, a content type and an error in JSON."""
    assert compile_page(f'{{{{ template "{name}" . }}}}', [built_in([])]).render(data).strip() == text


def test_a_definition_replaces_a_built_in_helper():
    """A built-in helper is left out if a text has a definition of its name, because Go refuses a second one."""
    own = '{{- define "main.userIdentifier" -}}me{{ end }}'
    assert "userIdentifier" not in built_in([own])
    assert all(name in built_in([]) for name in BUILT_IN)
    assert callable_from('{{ template "own" }}', [own])[1:] == (own,)
    assert "contentType" not in callable_from("{{ block `main.headers.contentType` . }}x{{ end }}", [])[0]


def test_calls_of_helpers_are_recognised():
    """A template without `template` and `include` is compiled without helpers."""
    assert not calls_helpers("/template/{{ .Key }}")
    assert calls_helpers('{{- template "a" . -}}')
    assert calls_helpers('{{ include "a" . | upper }}')
