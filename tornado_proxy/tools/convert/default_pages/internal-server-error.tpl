{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
{{ template "main.body.errorJsonBody" . }}
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Internal Server Error</title></head>
<body><h1>Internal Server Error</h1>
<p>{{ .Error.Error | html }}</p></body>
</html>
{{- end -}}
