"""Pages in the form of s3-proxy's own: what stands in place of its default files where these are not at hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

HELPERS = "templates/_helpers.tpl"

_JSON = '{{- if contains "application/json" (.Request.Header.Get "Accept") -}}\n'
_ELSE = "{{- else -}}\n<!DOCTYPE html>\n<html>\n"
_END = "</html>\n{{- end -}}\n"


def _error(title: str, text: str) -> str:
    head = f"<head><title>{title}</title></head>\n"
    return f'{_JSON}{{{{ template "main.body.errorJsonBody" . }}}}\n{_ELSE}{head}<body>{text}</body>\n{_END}'


def _told(title: str) -> str:
    return _error(title, f"<h1>{title}</h1>\n<p>{{{{ .Error.Error | html }}}}</p>")


_FOLDER_LIST = (
    _JSON
    + "[{{ range $number, $entry := .Entries }}{{ if $number }},{{ end -}}\n"
    + '{"name": {{ toJson .Name }}, "etag": {{ toJson .ETag }}, "type": {{ toJson .Type }}, "size": {{ .Size }},'
    + ' "path": {{ toJson .Path }}, "lastModified": {{ .LastModified | date "2006-01-02T15:04:05Z07:00" | toJson }}}\n'
    + "{{- end }}]\n"
    + _ELSE
    + "<head><title>Index of {{ .Request.URL.Path | html }}</title></head>\n"
    + "<body>\n<h1>Index of {{ .Request.URL.Path | html }}</h1>\n<table>\n"
    + "<tr><th>Entry</th><th>Size</th><th>Last modified</th></tr>\n"
    + '<tr><td><a href="..">..</a></td><td>-</td><td>-</td></tr>\n'
    + '{{ range .Entries }}<tr><td><a href="{{ .Path | html }}">{{ .Name | html }}</a></td>'
    + '<td>{{ if eq .Type "FOLDER" }}-{{ else }}{{ humanSize .Size }}{{ end }}</td><td>{{ .LastModified }}</td></tr>\n'
    + "{{ end }}</table>\n</body>\n"
    + _END
)
_LINK = '{{ printf "%s://%s%s" (requestScheme $.Request) (default (requestHost $.Request) $target.Mount.Host) . '
_TARGET_LIST = (
    _JSON
    + "[{{ $more := false }}{{ range $name, $target := .Targets }}{{ if $more }},{{ end }}{{ $more = true -}}\n"
    + '{"name": {{ toJson $name }}, "links": [{{ range $number, $path := $target.Mount.Path }}'
    + "{{ if $number }},{{ end }}"
    + _LINK
    + "| toJson }}{{ end }}]}\n{{- end }}]\n"
    + _ELSE
    + "<head><title>Targets</title></head>\n<body>\n<h1>Target buckets list</h1>\n<ul>\n"
    + "{{ range $name, $target := .Targets }}<li>{{ $name | html }}: <ul>"
    + "{{ range $target.Mount.Path }}{{ $link := "
    + _LINK.removeprefix("{{ ")
    + '| html }}<li><a href="{{ $link }}">{{ $link }}</a></li>{{ end }}</ul></li>\n'
    + "{{ end }}</ul>\n</body>\n"
    + _END
)

DEFAULT_PAGES: Mapping[str, str] = MappingProxyType(
    {
        "templates/folder-list.tpl": _FOLDER_LIST,
        "templates/target-list.tpl": _TARGET_LIST,
        "templates/not-found-error.tpl": _error("Not Found", "<h1>Not Found {{ .Request.URL.Path | html }}</h1>"),
        "templates/unauthorized-error.tpl": _told("Unauthorized"),
        "templates/forbidden-error.tpl": _told("Forbidden"),
        "templates/bad-request-error.tpl": _told("Bad Request"),
        "templates/internal-server-error.tpl": _told("Internal Server Error"),
        "templates/put.tpl": "",
        "templates/delete.tpl": "",
    }
)
"""The texts by the paths that s3-proxy's configuration has where nothing else is said."""
