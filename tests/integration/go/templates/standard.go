//go:build !sprig

package main

import "text/template"

// addFunctions adds none to those that text/template has by itself.
func addFunctions(*template.Template) {}
