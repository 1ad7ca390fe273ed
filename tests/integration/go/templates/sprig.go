//go:build sprig

package main

import (
	"encoding/json"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

// addFunctions adds sprig's functions, and include, tpl and toJson of Helm.
func addFunctions(main *template.Template) {
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data any) (string, error) {
		var output strings.Builder
		err := main.ExecuteTemplate(&output, name, data)
		return output.String(), err
	}
	functions["tpl"] = func(text string, data any) (string, error) {
		parsed, err := template.New("tpl").Funcs(functions).Parse(text)
		if err != nil {
			return "", err
		}
		var output strings.Builder
		err = parsed.Execute(&output, data)
		return output.String(), err
	}
	functions["toJson"] = func(value any) string {
		encoded, err := json.Marshal(value)
		if err != nil {
			return ""
		}
		return string(encoded)
	}
	main.Funcs(functions)
}
