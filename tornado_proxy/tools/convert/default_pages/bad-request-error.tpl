{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
{{ template "main.body.errorJsonBody" . }}
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Bad Request</title></head>
<body><h1>Bad Request</h1>
<p>{{ .Error.Error | html }}</p></body>
</html>
{{- end -}}
