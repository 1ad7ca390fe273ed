{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
{{ template "main.body.errorJsonBody" . }}
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Unauthorized</title></head>
<body><h1>Unauthorized</h1>
<p>{{ .Error.Error | html }}</p></body>
</html>
{{- end -}}
