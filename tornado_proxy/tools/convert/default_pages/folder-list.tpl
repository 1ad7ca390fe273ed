{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
[{{ range $number, $entry := .Entries }}{{ if $number }},{{ end -}}
{"name": {{ toJson .Name }}, "etag": {{ toJson .ETag }}, "type": {{ toJson .Type }}, "size": {{ .Size }}, "path": {{ toJson .Path }}, "lastModified": {{ .LastModified | date "2006-01-02T15:04:05Z07:00" | toJson }}}
{{- end }}]
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Index of {{ .Request.URL.Path }}</title></head>
<body>
<h1>Index of {{ .Request.URL.Path }}</h1>
<table>
<tr><th>Entry</th><th>Size</th><th>Last modified</th></tr>
<tr><td><a href="..">..</a></td><td>-</td><td>-</td></tr>
{{ range .Entries }}<tr><td><a href="{{ .Path | html }}">{{ .Name | html }}</a></td><td>{{ if eq .Type "FOLDER" }}-{{ else }}{{ humanSize .Size }}{{ end }}</td><td>{{ .LastModified }}</td></tr>
{{ end }}</table>
</body>
</html>
{{- end -}}
