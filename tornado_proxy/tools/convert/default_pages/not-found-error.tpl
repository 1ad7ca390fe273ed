{{- if contains "application/json" (.Request.Header.Get "Accept") -}}
{{ template "main.body.errorJsonBody" . }}
{{- else -}}
<!DOCTYPE html>
<html>
<head><title>Not Found</title></head>
<body><h1>Not Found {{ .Request.URL.Path }}</h1></body>
</html>
{{- end -}}
