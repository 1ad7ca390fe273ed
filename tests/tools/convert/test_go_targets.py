import pytest

from gotemplate.template.errors import TemplateMistake
from tornado_proxy.tools.convert.options import NotConvertible
from tornado_proxy.tools.convert.patterns import Here
from tornado_proxy.tools.convert.rewrites import Surroundings, go_target_here

SOURCE = Here("^/(?P<rest>.*)$")
WITHOUT_PREFIX = Surroundings("", "")
WITH_PREFIX = Surroundings("folder1", "folder1/")

HELPERS = (
    '{{ define "below" }}{{ .Key }}{{ end }}{{ define "host" }}{{ .Request.Host }}{{ end }}',
    '{{ define "who" }}{{ .User.Username }}{{ end }}{{ define "dir" }}{{ if .User }}/x{{ end }}{{ end }}',
    '{{ define "again" }}{{ template "again" . }}{{ end }}',
)
WITH_HELPERS = Surroundings("", "", HELPERS)

UNCHANGED_OR_TRIMMED = {
    "/{{ .User.GetUsername }}/x": "/{{ .User.GetUsername }}/x",
    "a/{{ .Key }}": 'a/{{ (trimPrefix "/" .Key) }}',
    "a/{{ $.Key | lower }}": 'a/{{ (trimPrefix "/" .Key) | lower }}',
    'a/{{ .Key | trimPrefix "b/" }}': 'a/{{ (trimPrefix "/" .Key) | trimPrefix "b/" }}',
    "{{/* for all */}}\n  /{{ .Target.Name }}\n": "{{/* for all */}}\n  /{{ .Target.Name }}\n",
}

JOINED = {
    "x{{ .Key | base }}": 'x{{ (trimPrefix "/" .Key) | base }}',
    "{{ .Key }}/x": '{{ (trimPrefix "/" .Key) }}/x',
    "x/\n/y": "x/\n/y",
    'a/{{ .Key | trimPrefix "b" }}': 'a/{{ (trimPrefix "/" .Key) | trimPrefix "b" }}',
    '{{ if eq .Key "a" }}x{{ else if .User }}y{{ end }}': (
        '{{ if eq (trimPrefix "/" .Key) "a" }}x{{ else if .User }}y{{ end }}'
    ),
    '{{ $k := len (print .Key "x").String }}z': '{{ $k := len (print (trimPrefix "/" .Key) "x").String }}z',
    'x{{ if .Request.Header.Get "X" }}{{ .Request.Method }}{{ end }}': (
        'x{{ if .Request.Header.Get "X" }}{{ .Request.Method }}{{ end }}'
    ),
    'a/{{ template "main.userIdentifier" . }}': 'a/{{ template "main.userIdentifier" . }}',
    'a{{- template "dir" $ }}': 'a{{- template "dir" $ }}',
    '{{ $u := include "who" . }}\n{{ printf "a/%s/b" $u }}': '{{ $u := include "who" . }}\n{{ printf "a/%s/b" $u }}',
}


@pytest.mark.parametrize(("target", "expected"), JOINED.items())
def test_slashes_are_joined_where_they_may_meet(target, expected):
    """s3-proxy's SDK joins them on the way to S3."""
    joined = '{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" (include "s3-proxy" .) "/" }}'
    assert go_target_here(target, SOURCE, WITH_HELPERS) == f'{{{{ define "s3-proxy" }}}}{expected}{{{{ end }}}}{joined}'


@pytest.mark.parametrize(("target", "expected"), UNCHANGED_OR_TRIMMED.items())
def test_a_converted_template_reads_the_same_key(target, expected):
    """The leading slash is removed from each key that the template reads."""
    assert go_target_here(target, SOURCE, WITH_HELPERS) == expected


PREFIXED = {
    "folder1/x": "/x",
    "\n  /folder1/x": "\n  /x",
    "{{ .Key }}.html": "{{ .Key }}.html",
    "{{/* hm */}} {{ $.Key }}": "{{/* hm */}} {{ $.Key }}",
    "folder1/{{ .User.Username }}": "/{{ .User.Username }}",
}


@pytest.mark.parametrize(("target", "expected"), PREFIXED.items())
def test_a_converted_template_reads_the_same_prefix(target, expected):
    """The prefix is removed from the beginning of the result."""
    assert go_target_here(target, SOURCE, WITH_PREFIX) == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ('folder1/{{ if hasPrefix "folder1/a" .Key }}b{{ end }}', '(print "folder1/" (trimPrefix "/" .Key))'),
        ("folder1/{{ if .Target.Bucket.Prefix }}x{{ end }}", '/{{ if "folder1" }}x{{ end }}'),
    ],
)
def test_the_prefix_is_inserted_where_it_is_read(target, expected):
    """Here neither the key nor the target's prefix is the text that s3-proxy has."""
    assert expected in go_target_here(target, SOURCE, WITH_PREFIX)


CALL = "it has a `with`, a `range` or a call that is not of a helper with all data"
SHOWN = Surroundings("", "", ('{{ define "shown" }}{{ .GetUsername }}{{ end }}',))
NOT_BELOW = "nothing proves that its result begins with the prefix `folder1/`"


@pytest.mark.parametrize(
    ("target", "surroundings", "reason"),
    [
        ("{{ .Request.Host }}", WITHOUT_PREFIX, "`.Request.Host` is not the same here"),
        ("{{ toJson . }}", WITHOUT_PREFIX, "`.` is not the same here"),
        ("{{ toJson $ }}", WITHOUT_PREFIX, "`.` is not the same here"),
        ("{{ .Groups.rest }}", WITHOUT_PREFIX, "`.Groups.rest` is not the same here"),
        ("{{ with .User }}{{ .GetUsername }}{{ end }}", WITHOUT_PREFIX, CALL),
        ('{{ define "x" }}{{ end }}x', WITHOUT_PREFIX, "it defines templates of its own"),
        ('{{ include "below" . }}', WITH_HELPERS, "the helper template `below` reads the key or the prefix"),
        ('{{ template "below" . }}', WITH_HELPERS, "the helper template `below` reads the key or the prefix"),
        ('{{ template "shown" .User }}', SHOWN, CALL),
        ('{{ template "again" . }}', WITH_HELPERS, "the helper template `again` reads the key or the prefix"),
        ('{{ include "host" . }}', WITH_HELPERS, "`.Request.Host` is not the same here"),
        ("other/x", WITH_PREFIX, "it may lead outside the prefix `folder1/`"),
        ("{{ .Key | lower }}", WITH_PREFIX, NOT_BELOW),
        ("{{ if .User }}folder1/a{{ end }}", WITH_PREFIX, NOT_BELOW),
        (" ", WITH_PREFIX, NOT_BELOW),
    ],
)
def test_a_template_is_not_converted_without_a_proof(target, surroundings, reason):
    with pytest.raises(NotConvertible) as caught:
        go_target_here(target, SOURCE, surroundings)
    assert str(caught.value).startswith(reason)


def test_a_template_with_an_unknown_function_is_refused():
    with pytest.raises(TemplateMistake, match="humanSize"):
        go_target_here("{{ humanSize 3 }}", SOURCE, WITHOUT_PREFIX)
