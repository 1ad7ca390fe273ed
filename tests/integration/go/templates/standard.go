//go:build !sprig

package main

import "text/template"

// addFunctions adds no function to those of text/template.
func addFunctions(*template.Template) {}
