{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
[{{ $more := false }}{{ range $name, $target := .Targets }}{{ if $more }},{{ end }}{{ $more = true -}}
{"name": {{ toJson $name }}, "links": [{{ range $number, $path := $target.Mount.Path }}{{ if $number }},{{ end }}{{ printf "%s://%s%s%s" (requestScheme $.Request) (default (requestHost $.Request) $target.Mount.Host) $.Request.PublicPath . | toJson }}{{ end }}]}
{{- end }}]
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Targets</title></head>
<body>
<h1>Target buckets list</h1>
<ul>
{{ range $name, $target := .Targets }}<li>{{ $name | html }}: <ul>{{ range $target.Mount.Path }}{{ $link := printf "%s://%s%s%s" (requestScheme $.Request) (default (requestHost $.Request) $target.Mount.Host) $.Request.PublicPath . | html }}<li><a href="{{ $link }}">{{ $link }}</a></li>{{ end }}</ul></li>
{{ end }}</ul>
</body>
</html>
{{- end -}}
