import pytest

from tornado_proxy.templates.template import TemplateMistake
from tornado_proxy.tools.convert.go_targets import Surroundings, go_target_here
from tornado_proxy.tools.convert.patterns import Here, NotConvertible

SOURCE = Here("^/(?P<rest>.*)$")
BARE = Surroundings("", "")
BELOW = Surroundings("folder1", "folder1/")

HELPERS = (
    '{{ define "below" }}{{ .Key }}{{ end }}{{ define "host" }}{{ .Request.Host }}{{ end }}',
    '{{ define "who" }}{{ .User.Username }}{{ end }}{{ define "dir" }}{{ if .User }}/x{{ end }}{{ end }}',
    '{{ define "again" }}{{ template "again" . }}{{ end }}',
)
HELPED = Surroundings("", "", HELPERS)

HERE = {
    "/{{ .User.GetUsername }}/x": "/{{ .User.GetUsername }}/x",
    "a/{{ .Key }}": 'a/{{ trimPrefix "/" .Key }}',
    "{{ .Key }}": '{{ trimPrefix "/" .Key }}',
    "a/{{ $.Key | lower }}": 'a/{{ (trimPrefix "/" .Key) | lower }}',
    'a/{{ .Key | trimPrefix "b/" }}': 'a/{{ (trimPrefix "/" .Key) | trimPrefix "b/" }}',
    '{{ if eq .Key "a" }}x{{ else if .User }}y{{ end }}': (
        '{{ if eq (trimPrefix "/" .Key) "a" }}x{{ else if .User }}y{{ end }}'
    ),
    '{{ $k := len (print .Key "x").String }}z': '{{ $k := len (print (trimPrefix "/" .Key) "x").String }}z',
    'x{{ if .Request.Header.Get "X" }}{{ .Request.Method }}{{ end }}': (
        'x{{ if .Request.Header.Get "X" }}{{ .Request.Method }}{{ end }}'
    ),
    'a/{{ template "main.userIdentifier" . }}': 'a/{{ template "main.userIdentifier" . }}',
    'a{{- template "dir" $ }}': 'a{{- template "dir" $ }}',
    "{{/* for all */}}\n  /{{ .Target.Name }}\n": "{{/* for all */}}\n  /{{ .Target.Name }}\n",
}


CLEANED = {
    "x{{ .Key | base }}": 'x{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" ((trimPrefix "/" .Key) | base) "/" }}',
    '{{ $u := include "who" . }}\n{{ printf "a/%s/b" $u }}': (
        '{{ $u := include "who" . }}\n{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" (printf "a/%s/b" $u) "/" }}'
    ),
    '{{ if .User }}a{{ end }}{{ include "main.userIdentifier" $ }}': (
        '{{ if .User }}a{{ end }}{{ regexReplaceAll "/(?:\\\\r?\\\\n|/)+" (include "main.userIdentifier" $) "/" }}'
    ),
}


@pytest.mark.parametrize(("target", "here"), CLEANED.items())
def test_what_a_function_makes_has_single_slashes(target, here):
    """s3-proxy's SDK joins slashes on the way to S3."""
    assert go_target_here(target, SOURCE, HELPED) == here


@pytest.mark.parametrize(("target", "here"), HERE.items())
def test_a_template_reads_the_same_key(target, here):
    """The leading slash is removed from each key that the template reads."""
    assert go_target_here(target, SOURCE, HELPED) == here


PREFIXED = {
    "folder1/x": "/x",
    "\n  /folder1/x": "\n  /x",
    "{{ .Key }}.html": "{{ .Key }}.html",
    "{{/* hm */}} {{ $.Key }}": "{{/* hm */}} {{ $.Key }}",
    'folder1/{{ if hasPrefix "folder1/a" .Key }}b{{ end }}': (
        '/{{ if hasPrefix "folder1/a" (print "folder1/" (trimPrefix "/" .Key)) }}b{{ end }}'
    ),
    "folder1/{{ if .Target.Bucket.Prefix }}x{{ end }}": '/{{ if "folder1" }}x{{ end }}',
}


@pytest.mark.parametrize(("target", "here"), PREFIXED.items())
def test_a_template_reads_the_same_prefix(target, here):
    """The prefix is removed from the beginning of the result, and inserted into each key that is read."""
    assert go_target_here(target, SOURCE, BELOW) == here


UNPROVED = {
    ("{{ .Request.Host }}", BARE): "`.Request.Host` is not the same here",
    ("{{ toJson . }}", BARE): "`.` is not the same here",
    ("{{ toJson $ }}", BARE): "`.` is not the same here",
    ("{{ .Groups.rest }}", BARE): "`.Groups.rest` is not the same here",
    ("{{ with .User }}{{ .GetUsername }}{{ end }}", BARE): (
        "it has a `with`, a `range` or a call that is not of a helper with all data"
    ),
    ('{{ define "x" }}{{ end }}x', BARE): "it defines templates of its own",
    ("x{{ .Key | len }}", BARE): ("it prints more than text, the key and the user's name, so two slashes may meet"),
    ("x/{{ .Key | base }}", BARE): "two slashes may meet between `x/` and what a function makes",
    ('{{ include "below" . }}', HELPED): "the helper template `below` reads the key or the prefix",
    ('{{ template "below" . }}', HELPED): "the helper template `below` reads the key or the prefix",
    (
        '{{ template "who" .User }}',
        HELPED,
    ): "it has a `with`, a `range` or a call that is not of a helper with all data",
    ('{{ template "again" . }}', HELPED): "the helper template `again` reads the key or the prefix",
    ('a/{{ template "dir" . }}', HELPED): "it has an empty segment, `//`, which s3-proxy's SDK removes",
    ('{{ include "host" . }}', HELPED): "`.Request.Host` is not the same here",
    ("x//y", BARE): "it has an empty segment, `//`, which s3-proxy's SDK removes",
    ("x/\n/y", BARE): "it has an empty segment, `//`, which s3-proxy's SDK removes",
    ("{{ .Key }}/x", BARE): "two slashes may meet between `.Key` and `/x`",
    ("a/{{ if .User }}{{ end }}/x", BARE): "it has an empty segment, `//`, which s3-proxy's SDK removes",
    ('a/{{ .Key | trimPrefix "b" }}', BARE): "two slashes may meet between `a/` and what a function makes",
    ("{{ if .User }}a{{ end }}" * 7, BARE): "its conditions make more than 64 different results",
    ("other/x", BELOW): "it may lead outside the prefix `folder1/`",
    ("{{ .Key | lower }}", BELOW): "nothing proves that its result begins with the prefix `folder1/`",
    ("{{ if .User }}folder1/a{{ end }}", BELOW): "nothing proves that its result begins with the prefix `folder1/`",
    (" ", BELOW): "nothing proves that its result begins with the prefix `folder1/`",
}


@pytest.mark.parametrize(("given", "reason"), UNPROVED.items())
def test_what_is_not_proved_is_not_written(given, reason):
    """The reason says what prevents the conversion."""
    target, surroundings = given
    with pytest.raises(NotConvertible) as unproved:
        go_target_here(target, SOURCE, surroundings)
    assert str(unproved.value).startswith(reason)


def test_what_is_no_template_here_is_refused():
    """The message names the unknown function."""
    with pytest.raises(TemplateMistake, match="humanSize"):
        go_target_here("{{ humanSize 3 }}", SOURCE, BARE)
