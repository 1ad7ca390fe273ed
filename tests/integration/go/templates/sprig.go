//go:build sprig

package main

import (
	"encoding/json"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// addFunctions adds sprig's functions, and include, tpl and toJson as Helm has them.
func addFunctions(asked *template.Template) {
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data any) (string, error) {
		var written strings.Builder
		err := asked.ExecuteTemplate(&written, name, data)
		return written.String(), err
	}
	functions["tpl"] = func(text string, data any) (string, error) {
		parsed, err := template.New("tpl").Funcs(functions).Parse(text)
		if err != nil {
			return "", err
		}
		var written strings.Builder
		err = parsed.Execute(&written, data)
		return written.String(), err
	}
	functions["toJson"] = func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(encoded)
	}
	asked.Funcs(functions)
}
