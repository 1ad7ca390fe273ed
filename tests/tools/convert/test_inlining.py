import pytest
from conversions import target

from tornado_proxy.tools.convert.inlining import with_helpers
from tornado_proxy.tools.convert.report import OptionOutcome

OWN = """
{{- /* Who asks. */ -}}
{{- define "who" -}}
  {{- if .User -}}{{- .User.GetIdentifier -}}{{- end -}}
{{- end -}}
{{ define "twice" }}{{ template "who" . }}/{{ template "who" . }}{{ end }}
"""


@pytest.mark.parametrize(
    ("text", "inlined"),
    [
        ('{{ template "who" . }}', "{{- if .User -}}{{- .User.GetIdentifier -}}{{- end -}}"),
        ('a {{- include "who" $ -}} b', "a{{- if .User -}}{{- .User.GetIdentifier -}}{{- end -}}b"),
        ('{{ template "main.userIdentifier" . }}', "{{ if .User }}{{ .User.GetIdentifier }}{{ end }}"),
        ('{{ template "unknown" . }}', '{{ template "unknown" . }}'),
        ('{{ include "who" . | upper }}', '{{ include "who" . | upper }}'),
        ("{{ .Key }}", "{{ .Key }}"),
    ],
)
def test_calls_on_the_whole_data_are_replaced(text, inlined):
    """The helper's text stands where it was called, spaces trimmed as the actions say."""
    assert with_helpers(text, [OWN]) == inlined


def test_helpers_may_call_helpers():
    """All are replaced; one that calls itself is left to the proof, which refuses it."""
    assert with_helpers('{{ template "twice" . }}', [OWN]).count(".User.GetIdentifier") == 2
    again = '{{ define "a" }}{{ template "a" . }}{{ end }}'
    assert with_helpers('{{ template "a" . }}', [again]) == '{{ template "a" . }}'


def test_a_rewrite_that_calls_a_helper_is_carried_over():
    """It makes the same keys as in s3-proxy."""
    text = """
keyRewriteList:
  - source: ^input.*$
    target: '{{ template "main.userIdentifier" . }}'
    targetType: TEMPLATE
"""
    made = target(text)
    assert made.messages(OptionOutcome.LEFT_OUT, OptionOutcome.CLOSED) == []
    assert made.rule_sets["site"].rewrite("/input/a", user="ann").key == "/ann"
